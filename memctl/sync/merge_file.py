"""Merge one record or page without a conflict: where both sides changed one field, the remote's value wins.

The remote wins because others rely on what has reached it (rules.md#coordination). A later value would need clocks that
agree. What gives way is named, and stands in the history of this side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import MemctlError
from memctl.record import content_fields, frontmatter, handoff, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.handoff import OFFERED, Handoff
from memctl.record.kinds import BY_FOLDER, HANDOFF
from memctl.record.record import ORDER
from memctl.store import files
from memctl.write import merge as record_merge
from memctl.write.merge import WHOLE
from memctl.write.merge_bodies import Lost
from memctl.write.redact_file import is_readable

if TYPE_CHECKING:
    from memctl.tokens.count import Counter

_KEYS = ("status", "answered_by", "answered_at", "declined")
_ANSWER = next(field for field in HANDOFF.fields if field.name == "answer")
_SHOWN = 300  # characters of a value that gave way; the rest stands in the history


def merge(path: str, base: str, ours: str, theirs: str, counter: Callable[[], Counter]) -> tuple[str, tuple[Lost, ...]]:
    """Return the merge of two versions of a record or page that come from `base` ("" for none), and what gave way.

    `counter` is asked for the budget of a session's page.
    """
    if not is_readable(path, theirs) and is_readable(path, ours):
        return ours, (Lost(WHOLE, theirs, ours),)  # a file that can't be read is no version to go on with
    whole = (theirs, (Lost(WHOLE, ours, theirs),))
    try:
        if session_page.is_page(path) or session_page.is_trail(path):
            from memctl.session import versions

            merged = versions.merge(base, ours, theirs, counter(), prefer="theirs")
        else:
            ours, answer = _without_our_answer(path, base, ours, theirs) if is_handoff(path) else (ours, ())
            merged = record_merge.merge(base, ours, theirs, prefer="theirs")
            merged = msgspec.structs.replace(merged, lost=(*answer, *merged.lost))
    except MemctlError:  # Git takes it for binary
        return whole
    return (merged.text, merged.lost) if is_readable(path, merged.text) or not is_readable(path, theirs) else whole


def is_handoff(path: str) -> bool:
    """Whether a file is the record of a handoff."""
    return path.startswith(f"{HANDOFF.folder}/") and files.is_record_path(path, BY_FOLDER)


def one_line(value: Any) -> str:
    """Return a value on one line, cut after 300 characters."""
    text = " ".join(str(value).encode(errors="surrogateescape").decode(errors="backslashreplace").split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _without_our_answer(path: str, base: str, ours: str, theirs: str) -> tuple[str, tuple[Lost, ...]]:
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
