"""Two answers to one handoff: of these one stands as a whole, and not the status of one with the words of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memctl.record import content_fields, frontmatter, handoff
from memctl.record.errors import InvalidRecord
from memctl.record.handoff import OFFERED, Handoff
from memctl.record.kinds import HANDOFF
from memctl.record.record import ORDER
from memctl.write.merge_bodies import Lost

_KEYS = ("status", "answered_by", "answered_at", "declined")
_ANSWER = next(field for field in HANDOFF.fields if field.name == "answer")


def without_ours(path: str, base: str, ours: str, theirs: str) -> tuple[str, tuple[Lost, ...]]:
    """Our version of a handoff without its answer, if theirs has another, and what gave way; else as it is."""
    try:
        before, one, other = (handoff.read(text, path) for text in (base, ours, theirs))
    except InvalidRecord:
        return ours, ()
    statuses = [version.record.status for version in (before, one, other)]
    if statuses[0] != OFFERED or OFFERED in statuses[1:]:
        return ours, ()
    mine, yours = _answer(one), _answer(other)
    lost = tuple(Lost(key, _said(mine[key]), _said(yours[key])) for key in mine if mine[key] != yours[key])
    if not lost:
        return ours, ()
    was = _answer(before)
    text = frontmatter.replace(ours, {key: was[key] or None for key in _KEYS}, ORDER)
    head = len(text) - len(frontmatter.split(text)[1])
    return text[:head] + content_fields.replace(HANDOFF, text[head:], _ANSWER, was["answer"]), lost


def _answer(one: Handoff) -> dict[str, Any]:
    who = one.parties
    said = content_fields.content(HANDOFF, one.body).get(_ANSWER.name, "")
    return {
        "status": one.record.status,
        "answered_by": who.answered_by,
        "answered_at": who.answered_at,
        "declined": list(who.declined),
        _ANSWER.name: said,
    }


def _said(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
