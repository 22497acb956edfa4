"""The files that a patch names: in the form of `apply_patch`, and as a unified diff."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OURS = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.*\S)[ \t\r]*$|^\*\*\* Move to: (.*\S)[ \t\r]*$", re.M)
_UNIFIED = re.compile(r"^--- ([^\t\n]+)(?:\t.*)?\n\+\+\+ ([^\t\n]+)", re.M)
_VERBS = {"Add": "created", "Update": "modified", "Delete": "deleted"}
_NOTHING = "/dev/null"


def files(text: str) -> Iterator[tuple[str, str, str]]:
    """For each file of a patch: what became of it (created, modified, deleted), its path, and a word on it."""
    last = ""
    for match in _OURS.finditer(text):
        if match[3]:
            yield "deleted", last, f"moved to {match[3]}"
            yield "created", match[3], f"moved from {last}"
        else:
            last = match[2]
            yield _VERBS[match[1]], last, ""
    if not last:
        yield from _unified(text)


def _unified(text: str) -> Iterator[tuple[str, str, str]]:
    for match in _UNIFIED.finditer(text):
        before, after = (re.sub(r"^[ab]/", "", path.strip()) for path in match.groups())
        if before == _NOTHING:
            yield "created", after, ""
        elif after == _NOTHING:
            yield "deleted", before, ""
        elif before == after:
            yield "modified", after, ""
        else:
            yield "deleted", before, f"moved to {after}"
            yield "created", after, f"moved from {before}"
