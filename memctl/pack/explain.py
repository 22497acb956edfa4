"""Say of each open record where it is in a pack, and why it is there or not."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memctl.pack import rehydrate
from memctl.pack.budget_fill import Pack
from memctl.pack.draft import REST
from memctl.record.kinds import KNOWLEDGE
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.urgency import recorded_today

_NO_ROOM = "no room: records of more weight, or shorter ones, come before it"
_TITLES = {"state": "where work stands", REST.name: "also open", rehydrate.BESIDES.name: "besides the task"}


class Placed(msgspec.Struct, frozen=True):
    """A record, where it is in a pack ("whole", "title", "counted" or "left out"), and why."""

    id: str
    title: str
    place: str
    why: str


def explain(snapshot: Snapshot, pack: Pack, request: rehydrate.RehydrationRequest, now: str) -> Iterator[Placed]:
    """Yield the place of each open record: first those that are whole, in the order of the pack, then the others.

    `now` is the current time, such as "2025-11-04T14:32:00Z".
    """
    records = [record for record in snapshot.open_records if record.memory_type in KNOWLEDGE]
    parts = {name: part for part, names in pack.parts.items() for name in names}
    left = {each.id: each for each in pack.left_out}
    today = recorded_today(records, now)
    order = {name: place for place, name in enumerate((*parts, *left))}
    for record in sorted(records, key=lambda record: (order.get(record.id, len(order)), record.id)):
        if (part := parts.get(record.id)) is not None:
            place, why = "whole", _reason(record, part, request.task, is_recent=record.path in today)
        elif record.id in left:
            is_named = f"{record.id} " in pack.text or f'"{record.id}"' in pack.text
            place, why = "title" if is_named else "counted", left[record.id].why or _NO_ROOM
        else:
            place = "left out"
            why = f"expired at {record.expires_at}" if record.is_expired(now) else f"by {request.narrowed_by}"
        yield Placed(record.id, record.title, place, why)


def _reason(record: Record, part: str, task: str, *, is_recent: bool) -> str:
    """Return why a record is whole: the part that it is in, and what gives it its weight."""
    is_apart = part in (REST.name, rehydrate.BESIDES.name)
    reasons = [_TITLES.get(part) or ("matches the task" if task and not is_apart else "among the most important")]
    reasons += [f"severity {record.severity}"] if record.severity else []
    reasons += [f"importance {record.importance}", f"of {record.timestamp[:10]}"]
    return ", ".join([*reasons, *(["recorded today"] if is_recent else [])])
