"""Merging one file without leaving a choice to anybody: where both sides changed one thing, the remote's stands.

S0, "Coordination State Synchronization", lets the remote win: others rely on what has reached it. A later value would
need clocks that agree. What gives way is named, and stands in the history of this side.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.lifecycle import merge
from memctl.model import frontmatter, pages
from memctl.model.faults import InvalidRecord
from memctl.model.kinds import BY_FOLDER
from memctl.model.malformed import Malformed
from memctl.model.record import parse
from memctl.store import files

_CONFLICT = re.compile(r"^<<<<<<< ours\n(.*?)^=======\n(.*?)^>>>>>>> theirs(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)
_COUNTERS = ("access_count", "last_accessed")
_SHOWN = 300  # characters of a value that gave way; the rest stands in the history


class Loss(msgspec.Struct, frozen=True):
    """A value that gave way to another: the key or heading it stood under ("" for the whole file), and both values."""

    field: str
    lost: str
    kept: str


def decided(path: str, base: str, ours: str, theirs: str) -> tuple[str, tuple[Loss, ...]]:
    """The merge of two versions of a record or page that come from `base` ("" for none), and what of ours gave way."""
    whole = (theirs, (Loss("", shown(ours), shown(theirs)),))
    if not is_valid(path, theirs) and is_valid(path, ours):
        return ours, (Loss("", shown(theirs), shown(ours)),)  # a file that can't be read is no version to go on with
    try:
        merged = merge.merge(base, ours, theirs)
    except MemctlError:  # Git takes it for binary
        return whole
    if not merged.conflicts:
        text, losses = merged.text, list(_status(base, ours, theirs, merged.text))
    elif "the text" in merged.conflicts or any(_MARKER.search(text) for text in (base, ours, theirs)):
        return whole
    else:
        text = _CONFLICT.sub(lambda match: match[2], merged.text)
        by_order = [] if "status" in merged.conflicts else _status(base, ours, theirs, text)
        losses = [*by_order, *_losses(merged, ours, theirs)]
    return (text, tuple(losses)) if is_valid(path, text) or not is_valid(path, theirs) else whole


def is_valid(path: str, text: str) -> bool:
    """Whether a file is what its place asks for; anything is where no record or page belongs."""
    try:
        if files.is_record_path(path, BY_FOLDER):
            parse(text, path)
        elif pages.kind_at(path) is not None:
            pages.parse(text, path)
    except (InvalidRecord, UnicodeEncodeError):
        return False
    return True


def only_counted(base: str, now: str) -> bool:
    """Whether a version differs from the one before in nothing but how often somebody has read the record."""
    try:
        (before, body), (after, body_now) = frontmatter.read(base), frontmatter.read(now)
    except Malformed:
        return False
    counted = dict.fromkeys(_COUNTERS)
    return body == body_now and {**before, **counted} == {**after, **counted}


def shown(value: Any) -> str:
    """A value on one line, cut if it is long."""
    text = " ".join(str(value).encode(errors="surrogateescape").decode(errors="backslashreplace").split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _values(text: str) -> dict[str, Any]:
    try:
        return dict(frontmatter.read(text)[0])
    except Malformed:
        return {}


def _status(base: str, ours: str, theirs: str, text: str) -> list[Loss]:
    """A status of ours or theirs that gave way because the other is further on its way."""
    before, one, other, now = (_values(version).get("status") for version in (base, ours, theirs, text))
    return [Loss("status", str(lost), str(now)) for lost in (one, other) if lost not in (before, now) and before]


def _losses(merged: merge.Merged, ours: str, theirs: str) -> list[Loss]:
    one, other = _values(ours), _values(theirs)
    found = [Loss(key, _said(one.get(key)), _said(other.get(key))) for key in merged.conflicts if key in (*one, *other)]
    parts = [match.groups() for match in _CONFLICT.finditer(merged.text.partition("\n---\n")[2])]
    headed = [name for name in merged.conflicts if name not in one and name not in other]
    names = headed if len(headed) == len(parts) else [", ".join(headed)] * len(parts)
    return found + [
        Loss(f"## {name}", shown(mine), shown(yours)) for name, (mine, yours) in zip(names, parts, strict=True)
    ]


def _said(value: Any) -> str:
    return "nothing" if value is None or value == [] else shown(value)
