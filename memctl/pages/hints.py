"""Find what makes a record of little use to later readers: a missing reason, a doubt, or the output of a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
MAX_TOKENS = 3_000  # of a record, as of a page of details; rules.md#levels-of-pages
MIN_WEIGHT = 4_000  # of a text with 3,000 tokens; measured: .6 tokens per ASCII character (JSON), 1.4 per Japanese one
# A decision gives no reason in a field or in a sentence; the text of an accepted one says that it is undecided; a
# learning is only a log, trace, diff or measurement without a lesson.
NO_REASON, DOUBT, RAW_OUTPUT = "no reason", "doubt", "raw output"


def of_record(record: Record, body: str) -> Iterator[tuple[str, str]]:
    """Yield what makes a record of little use to later readers, as pairs of a kind and a message.

    An example of a pair is ("no reason", "no reason is given"). The kinds are NO_REASON, DOUBT (it is accepted, but its
    text says that it is undecided) and RAW_OUTPUT (a learning that is only the output of a program). `body` is the
    record's text.
    """
    kind = record.kind
    if kind.reason:
        content = content_fields.content(kind, body)
        is_given = any(content.get(name) for name in (kind.reason, *kind.reasoning))
        if not is_given and not _REASON.search(f"{record.title}\n{body}"):
            yield NO_REASON, "the decision gives no reason"
        if record.status == kind.statuses[0]:
            texts = (record.title, content.get(kind.fields[0].name), content.get(kind.reason))
            if doubt := next(filter(None, map(_doubt, texts)), ""):
                yield DOUBT, f"the decision is accepted, but its text says {doubt!r}"
    elif kind is LEARNING and _is_raw_output(content_fields.content(LEARNING, body).get("lesson") or body):
        yield RAW_OUTPUT, "the lesson is only a program's output"


def _doubt(text: object) -> str:
    if not isinstance(text, str):
        return ""
    first = text[:_LOOKED_AT].strip().split("\n\n")[0].partition(". ")[0]
    match = _UNDECIDED.search(first.lower())
    return match[0] if match else ""


def _is_raw_output(lesson: object) -> bool:
    lesson = lesson[:_LOOKED_AT] if isinstance(lesson, str) else ""
    if not any(character.isdigit() for character in lesson):  # output of programs has digits
        return False
    left = without_output(lesson)
    return len(_WORD.findall(left)) < _FEW and (left != lesson or _MEASURE.search(lesson.lower()) is not None)
