"""What makes a record of little use to whoever reads it later: no reason, a doubt, the output of a program.

A record is to be durable, reusable and shorter than what it comes from. Each function returns what is wrong, "" if
nothing is; what to do about it is the caller's to say.
"""

from __future__ import annotations

import re

from memctl.record import content_fields
from memctl.record.kinds import LEARNING
from memctl.record.record import Record
from memctl.statements import cues
from memctl.text.lazy_regex import lazy_regex
from memctl.text.program_output import without_output

_REASON = lazy_regex(rf"\b{cues.CONTRAST}", re.IGNORECASE)
_UNDECIDED = lazy_regex(cues.UNDECIDED)
_MEASURE = lazy_regex(cues.MEASURE)
_WORD = lazy_regex(r"(?<![\w.])[^\W\d_]{2,}")
_LOOKED_AT = 2_000  # characters of a text: what it is shows by then
_FEW = 3  # words: fewer are no lesson, whatever was measured


def missing_reason(record: Record, body: str) -> str:
    """Return the hint for a decision that gives no reason, neither in a field nor in a sentence; "" if it gives one."""
    kind = record.kind
    content = content_fields.content(kind, body) if kind.reason else {}
    is_told = any(content.get(name) for name in (kind.reason, *kind.reasoning))
    if not kind.reason or is_told or _REASON.search(f"{record.title}\n{body}"):
        return ""
    return "nothing says why"


def doubt(record: Record, body: str) -> str:
    """Return the hint for an accepted decision whose first words leave it open; "" if they do not."""
    kind = record.kind
    if not kind.reason or record.status != kind.statuses[0]:
        return ""
    content = content_fields.content(kind, body)
    for text in (record.title, content.get(kind.fields[0].name), content.get(kind.reason)):
        if isinstance(text, str) and (found := _UNDECIDED.search(_first_sentence(text).lower())):
            return f"it is decided, and says {found[0]!r}"
    return ""


def raw_output(record: Record, body: str) -> str:
    """Return the hint for a learning that is only a log, trace, diff or uncommented measurement; "" for any other."""
    if record.kind is not LEARNING:
        return ""
    lesson = content_fields.content(LEARNING, body).get("lesson") or body
    lesson = lesson[:_LOOKED_AT] if isinstance(lesson, str) else ""
    if not any(character.isdigit() for character in lesson):  # all of these have some
        return ""
    left = without_output(lesson)
    if len(_WORD.findall(left)) >= _FEW or (left == lesson and not _MEASURE.search(lesson.lower())):
        return ""
    return "this is output, and no lesson"


def _first_sentence(text: str) -> str:
    return text[:_LOOKED_AT].strip().split("\n\n")[0].partition(". ")[0]
