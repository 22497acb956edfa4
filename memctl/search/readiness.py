"""What can be begun: the open work that nothing open blocks, and its order.

Work are records of the types that can be resolved: issues and states. What blocks it is open work, or a proposal that
nobody has decided on. Work whose parent is blocked is blocked by the same, and a parent is begun by its open parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from memctl.record.filters import severity_rank
from memctl.record.kinds import SEVERITIES
from memctl.record.record import Record

_MOST_UNBLOCKED = 3  # pieces of waiting work that count; more make no difference
_DEPTH = 20  # parents above one another, which may form a circle


class OpenWork:
    """The open work of a memory, and how it hangs together."""

    def __init__(self, open_records: Iterable[Record]) -> None:
        self._open = list(open_records)
        self.all = [record for record in self._open if is_work(record)]

    def blockers(self, record: Record) -> tuple[Record, ...]:
        """Return the open records that block a piece of work, or work that it is part of."""
        found: dict[str, Record] = {}
        for one in (record, *self._above(record)):
            found.update((other.memory_id, other) for other in self._direct.get(one.memory_id, ()))
        found.pop(record.memory_id, None)
        return tuple(found.values())

    def parts(self, record: Record) -> Sequence[Record]:
        """Return the open work that is part of a record."""
        return self._parts.get(record.memory_id, ())

    def unblocks(self, record: Record) -> Sequence[Record]:
        """Return the open work that waits for a record."""
        return self._waiting.get(record.memory_id, ())

    @cached_property
    def ready(self) -> list[Record]:
        """The work that can be begun, in the order of all records."""
        return [record for record in self.all if not self.parts(record) and not self.blockers(record)]

    @cached_property
    def blocked(self) -> list[Record]:
        """The work that something open blocks."""
        return [record for record in self.all if self.blockers(record)]

    def weight(self, record: Record) -> float:
        """Return how much a piece of work counts, by what the record says and what waits for it: 1 to 17.

        Importance from 1 to 10, severity up to 4 (an issue's importance mostly follows from it) and one for each piece
        of work that waits, up to 3: so that what others wait for comes before its equals and not before what is worse.
        """
        return (
            record.importance
            + len(SEVERITIES)
            - severity_rank(record)
            + min(len(self.unblocks(record)), _MOST_UNBLOCKED)
        )

    @cached_property
    def _by_name(self) -> Mapping[str, Record]:
        """The open records by their ids, and by those that they once had if nobody has them now."""
        once = {alias: record for record in self._open for alias in record.aliases}
        return once | {record.id: record for record in self._open}

    @cached_property
    def _direct(self) -> dict[str, list[Record]]:
        """What blocks each record by itself, whichever of the two says so."""
        found: dict[str, list[Record]] = {}
        for record in self._open:
            blockers = (self._by_name.get(name) for name in record.blocked_by)
            pairs = [(record, other) for other in blockers if other is not None]
            pairs += [(other, record) for name in record.blocks if (other := self._by_name.get(name)) is not None]
            for blocked, blocker in pairs:
                known = found.setdefault(blocked.memory_id, [])
                if _blocks(blocker) and blocker not in known and blocker != blocked:
                    known.append(blocker)
        return found

    @cached_property
    def _waiting(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for record in self.all:
            for blocker in self._direct.get(record.memory_id, ()):
                found.setdefault(blocker.memory_id, []).append(record)
        return found

    @cached_property
    def _parts(self) -> dict[str, list[Record]]:
        found: dict[str, list[Record]] = {}
        for record in self.all:
            if record.parent_memory_id is not None and record.parent_memory_id != record.memory_id:
                found.setdefault(record.parent_memory_id, []).append(record)
        return found

    @cached_property
    def _by_memory_id(self) -> Mapping[str, Record]:
        return {record.memory_id: record for record in self._open}

    def _above(self, record: Record) -> Iterable[Record]:
        """Return what a record is part of, from the nearest on, as far as it is open."""
        parent = self._by_memory_id.get(record.parent_memory_id or "")
        for _ in range(_DEPTH):
            if parent is None or parent.memory_id == record.memory_id:
                return
            yield parent
            parent = self._by_memory_id.get(parent.parent_memory_id or "")


def is_work(record: Record) -> bool:
    """Return whether a record is something to do: of a type that can be resolved."""
    return bool(record.kind.resolved)


def is_started(record: Record) -> bool:
    """Return whether somebody is at a piece of work, by its status or by how much of it is done."""
    step = record.kind.step(record.status)
    return bool(step and step.rank) or record.completion_percentage is not None


def _blocks(record: Record) -> bool:
    """Return whether an open record blocks others: work that is not done does, and so does a proposal, on which nobody
    has decided."""
    return is_work(record) or bool(_further(record))


def _further(record: Record) -> list[str]:
    """Return the statuses further on in which a record would still take part."""
    steps = {step.name: step for step in record.kind.steps}
    now = steps[record.status]
    return [name for name in now.following if steps[name].rank > now.rank and not steps[name].is_closed]


def next_status(record: Record) -> str:
    """Return the status of work that is begun; "" if a record has it already, or if its type has none."""
    return next(iter(_further(record)), "")
