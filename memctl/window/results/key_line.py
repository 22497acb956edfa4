"""The one line of a text that tells most, and which lines name an error: of results of tools, and of what was said.

A placeholder keeps it: numbers of things, paths, and of an error its first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memctl.text.characters import printable_line

FOUND = "Finding"  # before what was found, in a placeholder and in a summary of a result
_LOOKED_AT = 200  # lines at the beginning, and a quarter as many at the end, where commands sum up
_LONGEST = 300  # characters of a line
_WARNS = re.compile(
    r"\b(?:\w*Error|\w*Exception|errors?|fatal|panic(?:ked)?|critical|fail(?:ed|ure|ures|s|ing)?|denied|refused"
    r"|timed out|no such file|not found|cannot|can't|unable to|warn(?:ing)?s?|Traceback|conflict|deprecated)\b",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(r"\b(?:0|no|without) (?:errors?|failures?|warnings?|failed)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b\d[\d,.]*\s+(?:\w+\s+){0,2}?(?:files?|matches|match|results?|passed|failed|failures?|errors?|warnings?|tests?"
    r"|lines?|rows?|items?|refs?|references?|commits?|changed|insertions?|deletions?|occurrences?|records?|seconds?)\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w/])[\w.~-]*/[\w./-]+\w|\b\w+\.(?:py|ts|tsx|js|go|rs|java|md|json|ya?ml|toml|c|h|sql)\b")
_NUMBER = re.compile(r"\d")
_MARKUP = re.compile(r"[^\w]*$|^[-=#*_|+~\s]+$")


def key_line(text: str, *, is_error: bool = False) -> str:
    """The line of a text that tells most, without what could end a placeholder; "" if there is none."""
    lines = [line for line in map(plain, _looked_at(text)) if line and not _MARKUP.match(line)]
    if not lines:
        return ""
    if is_error:
        return next(filter(names_error, lines), lines[0])
    return max(enumerate(lines), key=lambda item: (_weight(item[1]), -item[0]))[1]


def summing_up(lines: Iterable[str]) -> str:
    """The last of some lines that counts something, "" if none does."""
    return next((line for line in reversed([*lines]) if _COUNTED.search(line[:_LONGEST])), "")


def names_error(line: str) -> bool:
    """Whether a line names an error or a warning, and not that there is none."""
    return _WARNS.search(line) is not None and _NO_ERROR.search(line) is None


def _looked_at(text: str) -> list[str]:
    lines = text[: _LOOKED_AT * _LONGEST].split("\n")[:_LOOKED_AT]
    tail = text[-_LOOKED_AT * _LONGEST // 4 :].split("\n")[-_LOOKED_AT // 4 :]
    return lines + tail


def _weight(line: str) -> int:
    """How much a line tells. Words that count something tell most; an error comes next."""
    weight = 4 * bool(_COUNTED.search(line)) + 3 * names_error(line)
    return weight + bool(_PATH.search(line)) + bool(_NUMBER.search(line))


def plain(line: str) -> str:
    """A text as a placeholder can have it: no control characters, no brackets that would close it."""
    return printable_line(line[:_LONGEST].replace("[", "(").replace("]", ")"))
