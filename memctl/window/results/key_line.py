"""The one line of a text that tells most: what a placeholder keeps of it.

S4's example keeps "23 files reference axios in user-service/src/.": numbers of things, paths, and of an error its
first line.
"""

from __future__ import annotations

import re

FOUND = "Finding"  # before what was found, in a placeholder and in a summary of a result
SUMMED_UP = "[Summary of a result of "  # how a result that was summed up begins
_LOOKED_AT = 200  # lines at the beginning, and a quarter as many at the end, where commands sum up
_LONGEST = 300  # characters of a line
_ERROR = re.compile(
    r"\b\w*(?:Error|Exception)\b:? |\berror(?:\[\w+\])?:|\bfatal:|\bpanic:|\bFAILED\b|\bdenied\b|\bno such file\b"
    r"|\bnot found\b|\bcannot \b|\bcan't \b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b\d[\d,.]*\s+(?:\w+\s+){0,2}?(?:files?|matches|match|results?|passed|failed|failures?|errors?|warnings?|tests?"
    r"|lines?|rows?|items?|refs?|references?|commits?|changed|insertions?|deletions?|occurrences?|records?|seconds?)\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w/])[\w.~-]*/[\w./-]+\w|\b\w+\.(?:py|ts|tsx|js|go|rs|java|md|json|ya?ml|toml|c|h|sql)\b")
_NUMBER = re.compile(r"\d")
_MARKUP = re.compile(r"[^\w]*$|^[-=#*_|+~\s]+$")


def finding(text: str, *, is_error: bool = False) -> str:
    """The line of a text that tells most, on one line and without what could end a placeholder; "" if there is none."""
    lines = [line for line in map(plain, _looked_at(text)) if line and not _MARKUP.match(line)]
    if not lines:
        return ""
    if is_error:
        return next((line for line in lines if _ERROR.search(line)), lines[0])
    return max(enumerate(lines), key=lambda item: (_weight(item[1]), -item[0]))[1]


def _looked_at(text: str) -> list[str]:
    lines = text[: _LOOKED_AT * _LONGEST].split("\n")[:_LOOKED_AT]
    tail = text[-_LOOKED_AT * _LONGEST // 4 :].split("\n")[-_LOOKED_AT // 4 :]
    return lines + tail


def _weight(line: str) -> int:
    """How much a line tells. Words that count something tell most; an error comes next."""
    weight = 4 * bool(_COUNTED.search(line)) + 3 * bool(_ERROR.search(line))
    return weight + bool(_PATH.search(line)) + bool(_NUMBER.search(line))


def plain(line: str) -> str:
    """A text as a placeholder can have it: no control characters, no brackets that would close it."""
    line = line[:_LONGEST].replace("[", "(").replace("]", ")")
    return " ".join("".join(c if c.isprintable() else " " for c in line).split())
