"""Where in a text credentials may be: around long words that no one would write, and around names of secrets.

Only there the rules are tried, so that ordinary text costs little, and no expression ever sees more than a few thousand
characters at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from memctl.text.credentials.values import is_mixed

_BEFORE, _STEP, _AFTER = 400, 4_000, 1_200  # characters of a window; the longest shape that is no block takes 1,100
_NEAR = 160  # characters behind a name of a secret in which its value begins
_LONG = b"w" * 20
# What tokens are made of becomes `w`, anything else a space: `find` comes upon long words ten times as fast as `re`.
_SIGNS = b"_+/=.:@~|$!-"
_WORDS = bytes(ord("w") if byte < 128 and (chr(byte).isalnum() or byte in _SIGNS) else 32 for byte in range(256))
_NAME = rb"(?:[A-Z]{2,19}|[a-z]{0,19}(?:[A-Z][a-z]{1,19}){0,6})\d{0,4}"
_SECRETS = ("pass", "pw", "secret", "token", "key", "auth", "cred")
_PASSWORDS = ("pass", "pw")  # which may be without a digit
_KEY_LINES = ("key-----", "key -----", "key block", "key-file-")  # the ends of lines with which private keys begin
_PHRASES = (
    "identified",
    "mnemonic",
    "phrase",
    "kennwort",
    "contrase",
    "senha",
    "wachtwoord",
    "/user:",
    "sqlplus",
    "rediscli_auth",
)
_LOGINS = ("cred", "login", "account")  # with ` / ` between a name and its password


@cache
def _hints() -> tuple[re.Pattern[bytes], re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Long words that are harmless; what follows a secret's name; options that take a password; a name at the end of
    its line; what stands between a user and a host."""
    return (
        re.compile(  # names of words, numbered or not, and paths of such; times and UUIDs
            rb"(?:%b[/._:=@-])*%b|\d{4}-\d\d-\d\dT[\d:]+Z?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}" % (_NAME, _NAME)
        ),
        re.compile(
            r"[\w .-]{0,30}[\"'`)\]\\]{0,6}[ \t]{0,12}(?:[=:>,|][=:>|\n -]{0,24}|is |was |will be |[ \t])"
            r"[\w \t\[\]|]{0,24}?=?[ \t]?[\"'`\\]{0,4}([^\s\"'`\\]{5,40})"
        ),
        re.compile(r" -(?:[puwas]|-(?:[a-z-]{0,20}pass|pw|from-l|user))"),
        re.compile(r"pass(?:word|wort|phrase|code|wd)[*:]{0,5}[ \t]{0,4}\n\n?"),
        re.compile(r":[^\s:/\"'`<>]{6,100}@[a-z\d]"),
    )


def windows(flat: str, lower: str) -> Iterator[tuple[int, int]]:
    """The parts of a text in which a credential may be: some whole lines, or pieces of long ones that overlap."""
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
    after_name, options, below_name, at_host = _hints()[1:]
    digit = re.compile(r"\d", re.ASCII)
    yield from _odd_words(flat)
    for name in _SECRETS:
        for place in _all(lower, name):
            if name in _PASSWORDS or (
                digit.search(lower, place, place + _NEAR)  # most have none near
                and (given := after_name.match(lower, place, place + _NEAR))
                and is_mixed(given[1])
            ):
                yield place
            if name == "key" and lower.startswith(_KEY_LINES, place):
                yield place
            if name == _PASSWORDS[0] and (below := below_name.match(lower, place)):
                yield from (below.end() - 1, below.end())  # what it names may stand on the next line
    yield from (place for name in _LOGINS for place in _all(lower, name) if "/" in lower[place : place + 80])
    yield from (place for place in _all(lower, "://") if "@" in lower[place : place + 320])
    if "@" in lower:
        yield from (match.start() for match in at_host.finditer(lower))
    yield from chain.from_iterable(_all(lower, phrase) for phrase in _PHRASES)
    if " -" in lower:  # found 15 times as fast as by the pattern
        yield from (match.start() for match in options.finditer(lower))


def _odd_words(flat: str) -> Iterator[int]:
    """Where words of 20 and more characters stand that are no names, ids or paths."""
    harmless = _hints()[0]
    data = flat.encode("ascii")
    marked = data.translate(_WORDS) + b" "
    start = marked.find(_LONG)
    while start >= 0:
        end = marked.index(b" ", start)
        if end - start > _STEP or harmless.fullmatch(data, start, end) is None:  # of a longer one it would keep 400 MB
            yield from range(start, end, _STEP)
        start = marked.find(_LONG, end)


def _all(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))
