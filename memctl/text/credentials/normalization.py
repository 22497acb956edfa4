"""Normalize a text to ASCII before it is searched for credentials, with the place of each character in the text.

A credential is the same with characters in it that nobody sees, and with the colon and letters of East Asian keyboards,
which a reader takes for ASCII. Letters lose their accents, and those of other scripts become an `o`, so that the rules
judge a password in any language as one of ASCII. Names of passwords in other scripts become English ones.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import memctl.text.credentials.values as values
from memctl.text import model_text
from memctl.text.lazy_regex import lazy_regex

_PASSWORDS = (
    r"парол[^\W\d_]{0,6}\b(?:[ ]фраз\w{1,2})?|кодов\w{2,3}[ ](?:слов\w{1,2}|фраз\w{1,2})|лозинк\w"
    r"|секретн\w{2,3}[ ]ключ\w{0,2}"
    "|パスワード|パスフレーズ|合言葉|秘密鍵|密[码碼钥鑰]|口令|비밀[ ]?번호|패스워드|암호|비번"
    r"|סיסמ[הא]|كلم[ةه][ ](?:المرور|السر)|رمز[ ]عبور|گذرواژه|पासवर्ड|รหัสผ่าน|κωδικ\w{1,2}(?:[ ]πρόσβασης)?|συνθηματικ\w"
)
_CODES = (
    r"\bпин(?:-?код\w{0,2})?\b|код\w{0,2}[ ](?:подтвержд|доступ|восстановл|безопасн)\w{1,6}"
    "|暗証番号|(?:認証|確認|リカバリー)コード|(?:验证|恢复|激活|安全)码|(?:驗證|恢復|啟動|安全)碼"
    "|인증[ ]?(?:번호|코드)|복구[ ]?코드|핀[ ]?번호"
)
# The beginnings of these names: a text without any of them is not searched for names.
_STEMS = lazy_regex(
    "парол|кодов|лозинк|секретн|пин|код|パス|合言|秘密|暗証|認証|確認|リカバリー|密|口令|验证|恢复|激活|安全|驗證|恢復|啟動"
    "|비밀|패스|암호|비번|인증|복구|핀|סיסמ|كلم|رمز|گذر|पासव|รหัส|κωδικ|συνθημ",
    re.IGNORECASE,
)
_SIGNS = ":=\u2014\u2013"  # colon, sign of equality, and dashes
_BETWEEN = rf"[^\x21-\x7e\n。、{_SIGNS}]"  # a blank, or a character of another script
_DIGITS = r"\d{2,}(?![\d位文字桁자天日个個回次年分秒月%])"  # of a password, and of no amount such as `180天`
# Between a name and the value that it is given: words of its language and a sign, or the verb of a language without
# blanks before quotes, digits or its own end.
_SIGN = (
    rf"(?:{_BETWEEN}{{0,40}}?(?:[A-Za-z.@/_-]{{1,30}}{_BETWEEN}{{0,20}}?){{0,2}}[{_SIGNS}]"
    rf"|[^\S\n]?(?:[是为為はが는은이가]|คือ)?(?=[ ]?[\"']|[ ]?[^\x00-\x7f\s。、]{{2,20}}(?:{_DIGITS}|입니다|です)))"
)
_MIXED = r"(?=\S{0,40}\d)(?=\S{0,40}[^\W\d_])\S{6,}"
_NAME = lazy_regex(
    rf"(?:(?P<password>{_PASSWORDS})|{_CODES})(?:(?P<sign>{_SIGN})[ \t\u3000]{{0,2}}(?=\S)"
    rf"|(?:[ ][^\W\d_]{{1,20}}){{0,3}}[ ](?=(?P<mixed>{_MIXED}))|{_BETWEEN}{{0,40}}(?=(?P<value>[\x21-\x7e]+)))",
    re.IGNORECASE,
)
# What follows the name of a password, to the end of the clause.
_VALUE = lazy_regex(
    rf"((?:pass(?:word|wd|phrase|code|wort)?|pwd)[\"']?[ \t]?[:=][ \t]{{0,2}}[\"']?)"
    rf"([^\s\"'<>,;。、]{{0,60}}?{_DIGITS}[^\s\"'<>,;。、]*)",
    re.IGNORECASE,
)
_NUL = lazy_regex("\0")
_OTHER, _OTHERS = lazy_regex(r"[^\x00-\x7f]"), lazy_regex(r"[^\x00-\x7f]+")
_REMOVED = lazy_regex(f"{model_text.INVISIBLE.pattern}|[\u0300-\u036f]")  # accents that are characters of their own
_QUOTES = dict.fromkeys("“”„«»「」『』", '"')
_LATIN = lazy_regex(r"LATIN (SMALL|CAPITAL) LETTER (?:SHARP )?([A-Z])(?: |$)")
_UNSPACED = (
    "CJK ",
    "HIRAGANA ",
    "KATAKANA",
    "HANGUL ",
    "THAI ",
    "IDEOGRAPHIC ",
)  # scripts whose words end without a blank


class Normalized(NamedTuple):
    """A text in ASCII, for the rules, and in its own scripts, for sentences; and where its characters are.

    - `flat`: a letter of another script is an `o` or `O`, one of a script without blanks is a blank except in the value
      of a password, and any other character is a question mark.
    - `plain`: of the same length, with Latin letters without accents, and with signs and digits of ASCII.
    - `places`: the offset in the original text for each of the characters.
    """

    flat: str
    plain: str
    places: Sequence[int]


def normalize(text: str) -> Normalized:
    """Return a text as the rules for credentials search it."""
    places: Sequence[int] = range(len(text))
    if "\0" in text:  # as in UTF-16 without a byte order mark, which is read as ASCII
        text, places = _replace(text, places, _NUL, lambda match: "")
    if text.isascii():
        return Normalized(text, text, places)
    text, places = _replace(text, places, _REMOVED, lambda match: "")
    text = _OTHERS.sub(lambda match: "".join(map(_plain, match[0])), text)
    if _STEMS.search("".join(_OTHER.findall(text))):  # ten times as fast as _NAME
        text, places = _replace(text, places, _NAME, _translate)
    flat = _VALUE.sub(lambda match: match[1] + _OTHERS.sub(lambda other: "o" * len(other[0]), match[2]), text)
    return Normalized(_OTHERS.sub(lambda match: "".join(map(_in_ascii, match[0])), flat), text, places)


def _translate(name: re.Match[str]) -> str:
    if name["password"] is None:
        return "pin: "
    is_given = name["sign"] is not None or name["mixed"] or values.is_mixed(name["value"])
    return "password: " if is_given else "password "  # as in "the password manager"


def _replace(
    text: str, places: Sequence[int], pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]
) -> tuple[str, Sequence[int]]:
    """Replace the matches of a pattern; the characters of what is new are at the place where the match begins."""
    parts, kept, end = [], array("q"), 0
    for match in pattern.finditer(text):
        put = new(match)
        parts += [text[end : match.start()], put]
        kept.extend(places[end : match.start()])
        kept.extend([places[match.start()]] * len(put))
        end = match.end()
    if not parts:
        return text, places
    kept.extend(places[end:])
    return "".join(parts) + text[end:], kept


@cache
def _plain(sign: str) -> str:
    """Return a character of ASCII that a reader takes a character for, or the character."""
    plain = unicodedata.normalize("NFKC", sign)
    if len(plain) == 1 and plain.isascii():
        return plain
    if letter := _LATIN.match(unicodedata.name(sign, "")):
        return letter[2] if letter[1] == "CAPITAL" else letter[2].lower()
    digit = unicodedata.digit(sign, None)
    return _QUOTES.get(sign, sign) if digit is None else str(digit)


@cache
def _in_ascii(sign: str) -> str:
    if unicodedata.name(sign, "").startswith(_UNSPACED):
        return " "
    is_letter = unicodedata.category(sign)[0] in "LM"
    return ("O" if sign.isupper() else "o") if is_letter else "?"
