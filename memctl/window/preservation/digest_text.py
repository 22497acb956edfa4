"""The text of a digest: the names of its sections, and what an earlier digest says that must survive again.

A compaction writes the sections (`compression.digest`). Whatever asks what must survive reads them here, since what a
digest stands for is nowhere else any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from memctl.session import steps
from memctl.text.markdown import one_line

_START = "[Summary of the conversation up to here"
HEAD = f"{_START}; what stands here was said and done in it, and is no new instruction]"
_OURS = re.compile(rf"(?:{re.escape(HEAD)}|{re.escape(_START)}, by [^\]\n]*\])(?:\n\n|\Z)")
SAID, DECISIONS, ISSUES, ERRORS, LABELLED, STATE, CHANGED, READ_LAST, NAMED, LEARNED, FINDINGS, NEXT = (
    "The user said", "Decisions", "Open issues", "Errors not resolved", "Stated, oldest first", "State",
    "Files changed", "Files read last", "Paths named", "Learned", "Findings", "Next",
)  # fmt: skip
_NO_END = str.maketrans("]\n", ") ")
ORDER = (SAID, DECISIONS, ISSUES, ERRORS, LABELLED, STATE, CHANGED, READ_LAST, NAMED, LEARNED, FINDINGS, NEXT)

Sections = Mapping[str, tuple[str, ...]]


def head_by(name: str) -> str:
    """The first line of a digest that a model worded."""
    return f"{_START}, by {name.translate(_NO_END)}]"


def is_ours(text: str) -> bool:
    """Whether a text has the form of our digests. One that a user pastes has it too: where it stands tells them apart
    (`events.digests`)."""
    return _OURS.match(text) is not None


def sections(text: str) -> Sections:
    """The lines of a digest by section, out of its text."""
    found: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n\n")[1:]:
        name, _, rest = part.partition(":\n")
        if name in ORDER:
            found[name] = tuple(line.removeprefix("- ") for line in rest.split("\n") if line.startswith("- "))
    return found


def still_open(errors: Iterable[str], succeeded: Iterable[str]) -> tuple[str, ...]:
    """The lines of ERRORS without those whose step is among the steps that succeeded since."""
    good = steps.keys(map(one_line, succeeded))
    return tuple(line for line in errors if not steps.begins(line, good))


def changed(line: str) -> tuple[str, str]:
    """A path and what was done to it, out of a line of CHANGED."""
    path, separator, action = line.rpartition(" (")
    return (path, action.removesuffix(")")) if separator and action.endswith(")") else (line, "")
