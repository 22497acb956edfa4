"""Find what makes a record of little use to later readers: a missing reason, a doubt, or the output of a program.

Each function returns what is wrong with a record, "" if nothing is.
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
_LOOKED_AT = 2_000  # first characters of a text, which are judged
_FEW = 3  # words that a lesson has at least


def missing_reason(record: Record, body: str) -> str:
    """Return a hint if a decision gives no reason, in a field or in a sentence; otherwise ""."""
    kind = record.kind
    content = content_fields.content(kind, body) if kind.reason else {}
    is_given = any(content.get(name) for name in (kind.reason, *kind.reasoning))
    if not kind.reason or is_given or _REASON.search(f"{record.title}\n{body}"):
        return ""
    return "no reason is given"


def doubt(record: Record, body: str) -> str:
    """Return a hint if the text of an accepted decision says that it is undecided; otherwise ""."""
    kind = record.kind
    if not kind.reason or record.status != kind.statuses[0]:
        return ""
    content = content_fields.content(kind, body)
    for text in (record.title, content.get(kind.fields[0].name), content.get(kind.reason)):
        if isinstance(text, str) and (found := _UNDECIDED.search(_first_sentence(text).lower())):
            return f"it is accepted, but its text says {found[0]!r}"
    return ""


def raw_output(record: Record, body: str) -> str:
    """Return a hint if a learning is only a log, trace, diff or measurement without a lesson; otherwise ""."""
    if record.kind is not LEARNING:
        return ""
    lesson = content_fields.content(LEARNING, body).get("lesson") or body
    lesson = lesson[:_LOOKED_AT] if isinstance(lesson, str) else ""
    if not any(character.isdigit() for character in lesson):  # output of programs has digits
        return ""
    left = without_output(lesson)
    if len(_WORD.findall(left)) >= _FEW or (left == lesson and not _MEASURE.search(lesson.lower())):
        return ""
    return "this is a program's output; a lesson is missing"


def _first_sentence(text: str) -> str:
    return text[:_LOOKED_AT].strip().split("\n\n")[0].partition(". ")[0]
