"""Fold a text to ASCII before it is searched for credentials, with the place of each character in the text.

A credential is the same with characters in it that nobody sees, and with the colon and letters of East Asian keyboards,
which a reader takes for ASCII. Names of passwords in other scripts become English ones, so that the rules need only
those.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Sequence
from functools import cache

import memctl.text.credentials.values as values
from memctl.text import model_text
from memctl.text.lazy_regex import lazy_regex

_PASSWORDS = (
    r"парол\w{0,6}(?:[ ]фраз\w{1,2})?|кодов\w{2,3}[ ](?:слов\w{1,2}|фраз\w{1,2})|лозинк\w|секретн\w{2,3}[ ]ключ\w{0,2}"
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
_SIGNS = ":=\uff1a\uff1d\u2014\u2013"  # colons, signs of equality, and dashes
_BETWEEN = rf"[^\x21-\x7e\n{_SIGNS}]"  # a blank, or a character of another script
# A name, words of its language (also of ASCII if a sign follows), the sign, and what follows them.
_NAME = lazy_regex(
    rf"(?:(?P<password>{_PASSWORDS})|{_CODES}){_BETWEEN}{{0,40}}"
    rf"(?:(?:[A-Za-z.@/_-]{{1,30}}{_BETWEEN}{{0,20}}){{0,2}}(?P<sign>[{_SIGNS}]){_BETWEEN}{{0,12}})?"
    r"(?=(?P<value>[\x21-\x7e\uff01-\uff5e]+))",
    re.IGNORECASE,
)
_NUL = lazy_regex("\0")
_OTHER, _OTHERS = lazy_regex(r"[^\x00-\x7f]"), lazy_regex(r"[^\x00-\x7f]+")
_QUOTES = dict.fromkeys("“”„«»「」『』", '"')
_UNSPACED = (
    "CJK ",
    "HIRAGANA ",
    "KATAKANA",
    "HANGUL ",
    "THAI ",
    "IDEOGRAPHIC ",
)  # scripts whose words end without a blank


def fold(text: str) -> tuple[str, Sequence[int]]:
    """Return a text in ASCII, and for each of its characters the offset in `text`.

    Full-width characters and the like are those of ASCII, a character of a script without blanks is a blank, and any
    other is a question mark.
    """
    places: Sequence[int] = range(len(text))
    if "\0" in text:  # as in UTF-16 without a byte order mark, which is read as ASCII
        text, places = _replace(text, places, _NUL, lambda match: "")
    if text.isascii():
        return text, places
    text, places = _replace(text, places, model_text.INVISIBLE, lambda match: "")
    if _STEMS.search("".join(_OTHER.findall(text))):  # ten times as fast as _NAME
        text, places = _replace(text, places, _NAME, _translate)
    return _OTHERS.sub(lambda match: "".join(map(_in_ascii, match[0])), text), places


def _translate(name: re.Match[str]) -> str:
    if name["password"] is None:
        return "pin: "
    is_given = name["sign"] or values.is_mixed(name["value"])
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
def _in_ascii(sign: str) -> str:
    plain = unicodedata.normalize("NFKC", sign)
    if len(plain) == 1 and plain.isascii():
        return plain
    return _QUOTES.get(sign) or (" " if unicodedata.name(sign, "").startswith(_UNSPACED) else "?")
