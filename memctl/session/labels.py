"""Labelled lines: `DECISION: …`, `**Next steps:**` with a list below, `### Rationale` with text below.

The labels are those of rules.md#extraction, and those that people and models write for the same things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from memctl.statements import cues
from memctl.text import headings

DECISION, ISSUE, BLOCKER, TODO, LEARNING, NEXT, STATE, SCOPE = (
    "decision", "issue", "blocker", "todo", "learning", "next", "state", "scope",
)  # fmt: skip
REASON, ALTERNATIVE, RESOLVED = "reason", "alternative", "resolved"
_WORDS = {
    DECISION: r"(?:final |design |key |architect\w+ )?decisions?(?: made| taken)?|decided|we decided",
    ISSUE: r"(?:open |known |remaining |unresolved )?(?:bugs?|issues?|problems?)|open questions?|(?:bug|issue)-[\w-]+",
    BLOCKER: r"blockers?|blocked(?: by| on)?|dependenc(?:y|ies)",
    TODO: r"todos?|fixme",
    LEARNING: r"lessons?(?: learned| learnt)?|learnings?|learned|learnt|notes?|gotchas?|insights?|takeaways?|til"
    r"|findings?",
    NEXT: r"next(?: (?:actions?|steps?|up))?|up next|remaining(?: work| steps| tasks)?|what(?:'s| is) next",
    STATE: r"(?:current )?(?:state|status)|progress|where (?:we|things) (?:are|stand)",
    SCOPE: r"scope change|new scope|new goal|changed goal",
    REASON: r"rationale|reasons?|reasoning|why|because",
    ALTERNATIVE: r"alternatives?(?: considered)?|rejected|options? considered|instead of",
    RESOLVED: r"(?:root cause|resolution|resolved|fixed|fix)",
}
_LABEL = "|".join(f"(?P<{name}>{words})" for name, words in _WORDS.items())
_LEAD = (
    rf"^[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?:#{{1,6}}[ \t]+)?(?:{cues.NUMBER})?"
    r"[*_`]{0,3}(?:[^\w\s#*`_]{1,3}[ \t]*)?"
)
_TAIL = r"(?:[ \t]*\(?#?\d{1,3}\)?)?(?:[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*|[*_`]{1,3}[ \t]*$)(?P<rest>.*)$"
# For a line in small letters: one that ignores case takes more than twice as long to compile.
_LABELLED = rf"{_LEAD}(?P<label>{_LABEL})(?:{_TAIL}|[*_]{{0,2}}[ \t]*#*[ \t]*$)"
_MARKS = ":*_#"  # a line without one of them has no label
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+[*_]{0,2}")
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX~-]\][ \t]+)?(.*)$")
_FIELD = re.compile(r"^[ \t]*(?:\*\*|__)[^*_]{1,40}(?:\*\*|__)[ \t]*:|^[ \t]*\*\*[^*]{1,40}:\*\*")
# A label in the middle of a line stands where a sentence begins, in capitals or with one, and has a colon.
_INLINE = re.compile(
    r"(?:(?<=[.!?;)])[ \t]+|(?<=[\u2014\u2013(])[ \t]*)(?=(?:\*\*|__)?(?:TODO|FIXME|NEXT"
    r"|Next(?: (?:actions?|steps?|up))?|Up next|DECISION|Decision|BLOCKER|Blocker|Blocked by"
    r"|LESSON|Lessons?(?: learn(?:ed|t))?|Open (?:issues?|questions?))(?:\*\*|__)?:(?:\*\*|__)?[ \t])"
)
_SEPARATING = " \t(;\u2014\u2013"
_LONGEST = 10_000  # characters of a line in the middle of which labels are looked for
_ENDS = re.compile(r"(?<=[.!?])(?<!\b\d\.)[ \t]+(?=[A-Z\"'`*(])|(?<=\w)\)(?=[.;,]?(?:[ \t]|$))")


class Labelled(msgspec.Struct, frozen=True):
    """What stands behind a label, or `is_below` it; of a list there, an item."""

    label: str
    text: str
    is_below: bool = False
    is_item: bool = False


def read(text: str) -> Iterator[Labelled]:
    """Everything with a label in a text, in its order; code is no prose, and is passed over."""
    reader = _LabelReader()
    for line, outside in headings.outside_fences(text):
        for part in _parts(line) if outside else ("#",):
            yield from reader.take(part)
    yield from reader.take("#")


def _parts(line: str) -> Iterator[str]:
    """A line, cut where labels stand in it: such a label has the rest of its sentence, and an empty line behind it.

    In a line that begins with a label it has all up to the next one.
    """
    is_of_labels = line.count(":") > 1 and is_labelled(line)
    inline = _further() if is_of_labels else _INLINE
    starts = [match.end() for match in inline.finditer(line[:_LONGEST]) if _is_prose(line[: match.end()])]
    if not starts:
        yield line
        return
    yield line[: starts[0]].rstrip(_SEPARATING)
    for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
        said = line[start:end].rstrip(_SEPARATING)
        stop = None if is_of_labels else _ENDS.search(said)
        yield said[: stop.start()] if stop else said
        yield ""


@cache  # few lines have several labels
def _further() -> re.Pattern[str]:
    """In a line that begins with a label further ones need no capitals, and may be any that is not passed over."""
    names = "|".join(words for name, words in _WORDS.items() if name != RESOLVED)
    return re.compile(rf"(?<=[.!?;)])[ \t]+(?=[*_]{{0,3}}(?:{names})[*_]{{0,3}}[ \t]*:[*_]{{0,3}}[ \t])", re.IGNORECASE)


def _is_prose(before: str) -> bool:
    """Whether what begins behind a text stands in no code span and no quotation."""
    return before.count("`") % 2 == 0 and before.count('"') % 2 == 0


class _LabelReader:
    """Takes line after line; what stands behind a label ends with an empty line, a list or a heading."""

    def __init__(self) -> None:
        self._label = ""
        self._lines: list[str] = []
        self._is_below = self._is_item = False

    def take(self, line: str) -> Iterator[Labelled]:
        found = _label(line)
        item = _ITEM.match(line) if found is None else None
        if found is not None:
            yield from self._finished()
            self._label, rest = found
            self._lines, self._is_below, self._is_item = [rest] if rest else [], not rest, False
        elif item is not None:
            yield from self._finished()
            if self._is_below:
                self._lines, self._is_item = [item[1]], True
            else:
                self._label = ""
        elif not line.strip():
            was_text = bool(self._lines) and not self._is_item
            yield from self._finished()
            self._label = "" if was_text else self._label
        elif line.lstrip().startswith("#") or _FIELD.match(line) or (self._is_item and not self._lines):
            yield from self._finished()
            self._label = ""
        elif self._label:
            self._lines.append(line)

    def _finished(self) -> Iterator[Labelled]:
        text = " ".join(" ".join(self._lines).split())
        self._lines = []
        if self._label and text:
            yield Labelled(self._label, text, self._is_below, self._is_item)


def _label(line: str) -> tuple[str, str] | None:
    """The label that a line begins with, and the rest of it."""
    match = re.match(_LABELLED, _small(line)) if any(mark in line for mark in _MARKS) else None
    if match is None:
        return None
    start, end = match.span("label")
    if match["rest"] is None and not _HEADING.fullmatch(line[:start]):
        return None
    rest = re.sub(r"^[*_]{2}[ \t]*", "", "" if match["rest"] is None else line[match.start("rest") :].strip())
    if match["label"].startswith(("bug-", "issue-")):
        rest = f"{line[start:end]}: {rest}"
    return next(name for name in _WORDS if match[name]), rest


def _small(line: str) -> str:
    """A line in small letters, as long as it was: of all letters only this one becomes two."""
    return line.replace("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}", "i").lower()


def is_labelled(line: str) -> bool:
    """Whether a line begins with a label."""
    return _label(line) is not None
