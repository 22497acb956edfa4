"""Find the open work that can be started, and the order in which to start it.

Work means records of the types that can be resolved: issues and states. A record can be blocked by other open work, by
a proposal that awaits a decision, and by the blockers that its own text names. Records that name another record as
their parent are parts of it. Whatever blocks a record also blocks its parts. A record with open parts is not started
itself, only its parts are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from memctl.record.record import Record

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot

_MOST_UNBLOCKED = 3  # waiting records that count for the weight; more make no difference
_BLOCKERS = "blockers"  # the field with stated blockers, and its heading in lower case
_DEPTH = 20  # levels of parents to follow, because links may form a circle


class OpenWork:
    """The work among some open records, and what blocks it.

    `all` are the records that are work: issues and states. The other open records, such as proposals, can only block
    work. `stated` maps the `memory_id` of a record to the blockers that its text names.
    """

    def __init__(
        self, open_records: Iterable[Record], stated: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> None:
        self._open = list(open_records)
        self._stated = stated
        self.all = [record for record in self._open if is_work(record)]

    def blockers(self, record: Record) -> tuple[Record, ...]:
        """Return the open records that block a record, also those that block its parent or a parent above that."""
        records_by_id: dict[str, Record] = {}
        for item in (record, *self._above(record)):
            records_by_id.update((other.memory_id, other) for other in self._direct.get(item.memory_id, ()))
        records_by_id.pop(record.memory_id, None)
        return tuple(records_by_id.values())

    def stated(self, record: Record) -> tuple[str, ...]:
        """Return the blockers that the text of a record names, also those that the texts of its parents name."""
        return tuple(text for item in (record, *self._above(record)) for text in self._stated.get(item.memory_id, ()))

    def is_blocked(self, record: Record) -> bool:
        """Return whether a record is blocked, by another record or by what a text names."""
        return bool(self.blockers(record) or self.stated(record))

    def parts(self, record: Record) -> Sequence[Record]:
        """Return the open work that names this record as its parent."""
        return self._parts.get(record.memory_id, ())

    def unblocks(self, record: Record) -> Sequence[Record]:
        """Return the open work that this record blocks directly."""
        return self._waiting.get(record.memory_id, ())

    @cached_property
    def ready(self) -> list[Record]:
        """The open work that can be started, because it has neither blockers nor open parts.

        It is in the order in which the open records were given.
        """
        return [record for record in self.all if not self.parts(record) and not self.is_blocked(record)]

    @cached_property
    def blocked(self) -> list[Record]:
        """The open work that has at least one blocker."""
        return [record for record in self.all if self.is_blocked(record)]

    def weight(self, record: Record) -> int:
        """Return a record's importance, and 1 more for each record that it blocks directly, up to 3."""
        return record.importance + min(len(self.unblocks(record)), _MOST_UNBLOCKED)

    @cached_property
    def _by_name(self) -> Mapping[str, Record]:
        """The open records by id, and by their former ids unless another record has that id now."""
        once = {alias: record for record in self._open for alias in record.aliases}
        return once | {record.id: record for record in self._open}

    @cached_property
    def _direct(self) -> dict[str, list[Record]]:
        """The direct blockers of each record, by memory id; a link in either of the two records counts."""
        records_by_id: dict[str, list[Record]] = {}
        for record in self._open:
            blockers = (self._by_name.get(name) for name in record.blocked_by)
            pairs = [(record, other) for other in blockers if other is not None]
            pairs += [(other, record) for name in record.blocks if (other := self._by_name.get(name)) is not None]
            for blocked, blocker in pairs:
                known = records_by_id.setdefault(blocked.memory_id, [])
                if _blocks(blocker) and blocker not in known and blocker != blocked:
                    known.append(blocker)
        return records_by_id

    @cached_property
    def _waiting(self) -> dict[str, list[Record]]:
        records_by_id: dict[str, list[Record]] = {}
        for record in self.all:
            for blocker in self._direct.get(record.memory_id, ()):
                records_by_id.setdefault(blocker.memory_id, []).append(record)
        return records_by_id

    @cached_property
    def _parts(self) -> dict[str, list[Record]]:
        records_by_id: dict[str, list[Record]] = {}
        for record in self.all:
            if record.parent_memory_id is not None and record.parent_memory_id != record.memory_id:
                records_by_id.setdefault(record.parent_memory_id, []).append(record)
        return records_by_id

    @cached_property
    def _by_memory_id(self) -> Mapping[str, Record]:
        return {record.memory_id: record for record in self._open}

    def _above(self, record: Record) -> Iterable[Record]:
        """Yield the open parents of a record, the nearest first."""
        parent = self._by_memory_id.get(record.parent_memory_id or "")
        for _ in range(_DEPTH):
            if parent is None or parent.memory_id == record.memory_id:
                return
            yield parent
            parent = self._by_memory_id.get(parent.parent_memory_id or "")


def open_work(snapshot: Snapshot) -> OpenWork:
    """Return the open work of a snapshot, with the blockers that the records' texts name."""
    able = (record for record in snapshot.open_records if any(field.name == _BLOCKERS for field in record.kind.fields))
    return OpenWork(snapshot.open_records, {record.memory_id: stated_blockers(snapshot, record) for record in able})


def stated_blockers(snapshot: Snapshot, record: Record) -> Sequence[str]:
    """Return the blockers that a record's text names, the lines under its heading for blockers.

    Returns () if the record's file can't be read any more.
    """
    from memctl.record.content_fields import content  # most tasks have no blockers
    from memctl.record.errors import InvalidRecord

    with suppress(InvalidRecord, OSError):
        body = snapshot.body(record)
        if _BLOCKERS in body.casefold():  # most tasks lack the heading
            lines = content(record.kind, body).get(_BLOCKERS) or ()
            return [lines] if isinstance(lines, str) else list(lines)
    return ()


def is_work(record: Record) -> bool:
    """Return whether a record is work, which can be resolved: an issue or a state, but not a decision or a learning."""
    return bool(record.kind.resolved)


def is_started(record: Record) -> bool:
    """Return whether work on a record has started.

    This is so if the record's status is not the first of its type, or if the record states how much is completed.
    """
    step = record.kind.step(record.status)
    return bool(step and step.rank) or record.completion_percentage is not None


def _blocks(record: Record) -> bool:
    """Return whether an open record blocks others: open work does, and so does a proposal that awaits a decision."""
    return is_work(record) or bool(_further(record))


def _further(record: Record) -> list[str]:
    """Return the later statuses that a record can change to without being closed."""
    steps = {step.name: step for step in record.kind.steps}
    now = steps[record.status]
    return [name for name in now.following if steps[name].rank > now.rank and not steps[name].is_closed]


def next_status(record: Record) -> str:
    """Return the status that a record gets when work on it starts, "" if there is none.

    It is the next status of the record's type that does not close the record. There is none if the work has started, or
    if the type has only one open status.
    """
    return next(iter(_further(record)), "")
