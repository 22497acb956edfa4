"""Find the places in a text where credentials may be.

They may be at long words that are not identifiers, paths or times, and near words such as `token` that announce a
secret. Only these places are searched with the rules for credentials. So ordinary text takes little time, and no
regular expression is applied to more than a few thousand characters at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from memctl.text.credentials.values import is_mixed

_BEFORE, _STEP, _AFTER = 400, 4_000, 1_200  # characters of a window; the longest shape, blocks apart, has 1,100
_BLOCK_LINES = 4  # lines after the first line of a block, in which a variable's default may be
_NEAR = 160  # characters at most from a name of a secret to its value
_LINE_END = 24  # characters at most from the start of a secret's name to the end of its line
_LONG = b"w" * 20
# The characters of tokens become `w`, all others a space: `find` then finds long words ten times as fast as `re`.
_SIGNS = b"_+/=.:@~|$!-"
_WORDS = bytes(ord("w") if byte < 128 and (chr(byte).isalnum() or byte in _SIGNS) else 32 for byte in range(256))
_NAME = rb"(?:[A-Z]{2,19}|[a-z]{0,19}(?:[A-Z][a-z]{1,19}){0,6})\d{0,4}"
_SECRETS = ("pass", "pw", "secret", "token", "key", "auth", "cred")
_PASSWORDS = ("pass", "pw")  # names whose values need no digit
_KEY_LINES = ("key-----", "key -----", "key block", "key-file-")  # the ends of lines with which private keys begin
_PHRASES = (  # separated by bars
    "identified|mnemonic|phrase|kennwort|contrase|senha|wachtwoord|has?|?ifre|senord|jelsz|heslo|salasana|adgangskode|"
    "/user:|sqlplus|rediscli_auth|net user|"
    "vault |cargo |rabbitmqctl|freerdp|psk|rar |--encrypt|http-basic|jwt.|secretsmanager|securestring|"
    "keyvault|--body|--stdin|--data-file=-|secret set|secret put|secret create|jdbc:oracle|ssh-keygen|"
    "<<<|encrypt_string|pulumi|chamber|alias set|authorize|masterauth|key-string|snmp-server|cryptsetup|"
    "steamcmd|nickserv|{plain|sensitive(|recovery code|backup code|]:|auth(|auth=(|credential(|"
    "credentials("
)
_PIECE, _LONGEST_PHRASE = 65_536, 20  # characters
_LOGINS = ("cred", "login", "log in", "account")  # with a sign between a name and its password
_PARTED = re.compile(r"[/:,][^/]")


@cache
def _harmless() -> re.Pattern[bytes]:
    """Return the pattern of long words that are no credentials: names of several words, paths, times, UUIDs."""
    return re.compile(
        rb"(?:%b[/._:=@-])*%b|\d{4}-\d\d-\d\dT[\d:]+Z?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}" % (_NAME, _NAME)
    )


@cache
def _hints() -> dict[str, re.Pattern[str]]:
    """Return the patterns that hint at a secret: a name and a value near it, or a value without a name."""
    shapes = {
        # Behind a name: a word with a digit, or a sign and up to two words.
        "value": r"[a-z_]{0,20}[ \t]{1,2}[\"'`]?((?=[^\s]{0,39}\d)[^\s\"'`\\]{5,40})"
        r"|[\w .-]{0,30}[\"'`)\]\\]{0,6}[ \t]{0,12}(?:[=:>,|?][=:>|?\n -]{0,24}|is |was |will be |[ \t])"
        r"[\w \t\[\]|&]{0,24}?=?[ \t]?[\"'`\\]{0,4}([^\s\"'`\\]{5,40}(?:[ \t][^\s\"'`\\]{5,40})?)",
        "variable": r"[A-Z]{3,6}(?:_KEY)?(?:_BASE)?\d{0,2}=[^\s]",
        # A name at the end of its line: the value may be on the next one; with a brace, on one of the next few lines.
        "line end": r"(?:pass(?:word|wort|phrase|code|wd)|secret|token|key)"
        r"(?:[*:]{0,5}[ \t]{0,4}\n\n?|[\"']?[ \t]{0,3}(?:,|(\{))?[ \t]{0,3}\n)",
        "option": r" -(?:[puwas]|-(?:[a-z-]{0,20}pass|pw|from-l|user))",
        "host": r":[^\s:/\"'`<>]{6,100}@[a-z\d]",  # between a user and a host
    }
    return {name: re.compile(shape) for name, shape in shapes.items()}


def windows(flat: str, lower: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of those parts of a text that may have a credential.

    A part consists of whole lines, or is a piece of a long line; such pieces overlap. `flat` is the text with `?` in
    place of every character outside of ASCII, and `lower` is `flat` in lower case.
    """
    done = first = last = 0
    for place in sorted(_places(flat, lower)):
        if place < done:
            continue
        line_end = flat.find("\n", place) + 1 or len(flat)
        done = min(line_end, place + _STEP)
        start = max(flat.rfind("\n", max(0, place - _BEFORE), place) + 1, place - _BEFORE)
        end = min(line_end, done + _AFTER)
        if start > last or end - first > _STEP:
            yield first, last
            first = start
        last = end
    if last > first:
        yield first, last


def _places(flat: str, lower: str) -> Iterator[int]:
    hints = _hints()
    digit = re.compile(r"\d", re.ASCII)
    yield from _odd_words(flat)
    for name in _SECRETS:
        for place in _all(lower, name):
            if (
                name in _PASSWORDS
                or (flat[place].isupper() and hints["variable"].match(flat, place))
                or (
                    digit.search(lower, place, place + _NEAR)  # most have none near
                    and (value := hints["value"].match(lower, place + len(name), place + _NEAR))
                    and is_mixed(value[1] or value[2])
                )
            ):
                yield place
            if name == "key" and lower.startswith(_KEY_LINES, place):
                yield place
            if lower.find("\n", place, place + _LINE_END) >= 0 and (line_end := hints["line end"].match(lower, place)):
                yield from (line_end.end() - 1, line_end.end())
                yield from _lines_of_block(lower, line_end.end()) if line_end[1] else ()
    yield from (place for name in _LOGINS for place in _all(lower, name) if _PARTED.search(lower, place, place + 80))
    yield from (place for place in _all(lower, "://") if "@" in lower[place : place + 320])
    if "@" in lower:
        yield from (match.start() for match in hints["host"].finditer(lower))
    yield from chain.from_iterable(_all(lower, phrase) for phrase in _phrases_in(lower))
    if " -" in lower:  # found 15 times as fast as by the pattern
        yield from (match.start() for match in hints["option"].finditer(lower))


def _phrases_in(lower: str) -> Iterator[str]:
    """Return the phrases whose words all occur in a text.

    The phrases are searched in the text's distinct words, which are much shorter than the text. The words are collected
    from pieces that overlap by the length of the longest phrase.
    """
    words: set[str] = set()
    for start in range(0, len(lower), _PIECE):
        words.update(lower[start : start + _PIECE + _LONGEST_PHRASE].split())
    distinct = " ".join(words)
    return (phrase for phrase in _PHRASES.split("|") if all(word in distinct for word in phrase.split()))


def _lines_of_block(text: str, start: int) -> Iterator[int]:
    """Yield the offsets of the next 4 lines, as many as a variable's declaration in Terraform has."""
    for _ in range(_BLOCK_LINES):
        start = text.find("\n", start) + 1
        if not start:
            break
        yield start


def _odd_words(flat: str) -> Iterator[int]:
    """Yield offsets in words of 20 and more characters that are no names, ids or paths: the start, and every 4,000."""
    is_odd = cache(lambda word: _harmless().fullmatch(word) is None)  # most long words occur many times
    data = flat.encode("ascii")
    marked = data.translate(_WORDS) + b" "
    start = marked.find(_LONG)
    while start >= 0:
        end = marked.index(b" ", start)
        if end - start > _STEP or is_odd(data[start:end]):  # matching a longer word would take 400 MB
            yield from range(start, end, _STEP)
        start = marked.find(_LONG, end)


def _all(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))
