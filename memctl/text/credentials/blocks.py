"""Credentials of many lines, or longer than a line is looked at: private keys and signed tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from memctl.text.credentials.rules import CredentialRule

_KEYS = ("PRIVATE KEY", "PuTTY-User-Key-File")  # of these the end is looked for; the others have it in their shape
_LONGEST = 16_000  # characters of a key; one of 16,384 bits takes 12,800
_AROUND = 60  # characters in which the first line of a private key stands before and behind these words
_FEWEST = 16  # characters of a line of a key


def find(flat: str, rule: CredentialRule) -> Iterator[tuple[int, int]]:
    """Where the blocks of a rule begin and end; a private key that is cut off ends with its last line."""
    if rule.words[0] in _KEYS:
        yield from _keys(flat, rule)
    else:
        yield from _shapes(flat, rule)


def _shapes(flat: str, rule: CredentialRule) -> Iterator[tuple[int, int]]:
    """Where the shape of a rule is: around its word, which is found ten times as fast as the shape."""
    word = rule.words[0]
    place, done = flat.find(word), 0
    while place >= 0:
        if word == _KEYS[0]:  # its line begins before it
            match = rule.pattern.search(flat, max(done, place - _AROUND), place + _AROUND)
        else:
            match = rule.pattern.match(flat, place)
        if match:
            yield match.span()
            done = match.end()
        place = flat.find(word, max(done, place + 1))


@cache
def _parts() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Where a key ends; a line of a key, with what a quotation, a diff or JSON puts around it; what every key has."""
    end = r"-{4,5} ?END [A-Z0-9 ]{0,40}KEY(?: BLOCK)? ?-{4,5}|Private-MAC: ?[0-9a-f]{20,64}"
    line = (
        r"(?:\\[nrt\\]|[\s\"'`>|,;+*#\\]){0,40}"
        r"((?:Proc-Type|DEK-Info|Comment|Version|Encryption|Public-Lines|Private-Lines|Key-Derivation|Argon2-[A-Za-z]+)"
        r":[^\n\\]{0,200}|[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]{1,15}={0,2}(?=[^\w+/=]|$))"
    )
    return re.compile(end), re.compile(line), re.compile(rf"[A-Za-z0-9+/=]{{{_FEWEST}}}")


def _keys(flat: str, rule: CredentialRule) -> Iterator[tuple[int, int]]:
    """Private keys: from the first line to the last, or as far as lines of a key follow each other."""
    end_of_key, line, body_line = _parts()
    begins = list(_shapes(flat, rule))
    for number, (start, body) in enumerate(begins, 1):
        limit = min(begins[number][0] if number < len(begins) else len(flat), body + _LONGEST)
        last = end_of_key.search(flat, body, limit)
        end = last.end() if last else _end_of_lines(flat, body, limit, line)
        if rule.words[0] == _KEYS[0] and body_line.search(flat, body, last.start() if last else end) is None:
            continue  # its first line is only spoken of
        mark = flat.find("\0", start, end)
        yield start, end if mark < 0 else mark


def _end_of_lines(flat: str, start: int, limit: int, line: re.Pattern[str]) -> int:
    """Where the last of the lines of a key ends that follow a place; a short line is the last one."""
    end = start
    while match := line.match(flat, end, limit):
        if len(match[1]) < _FEWEST and (end == start or match[1].islower()):
            break  # a word, where a key is only named or has been cut off
        end = match.end()
        if len(match[1]) < _FEWEST:
            break
    return end
