"""Choosing records by their fields, and putting them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from memctl.record.kinds import SEVERITIES
from memctl.record.record import Record


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """What a record must have; an empty field asks for nothing. Times are canonical, `until` is included.

    Where they come from: rules.md#search-ranking.
    """

    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    importance_gte: int = 0
    section: str = ""  # with what lies below it
    agent: str = ""
    since: str = ""
    until: str = ""
    archived: bool | None = False  # None: both

    def keep(self, records: Iterable[Record]) -> list[Record]:
        """The records that have it, in their order."""
        kept = list(records)
        for check in self._checks():
            kept = [record for record in kept if check(record)]
        return kept

    def _checks(self) -> Iterator[Callable[[Record], bool]]:
        """A test for each field that asks for something, the one that most often fails first."""
        if self.archived is not None:
            yield lambda record: record.is_archived == self.archived
        if self.types:
            yield lambda record: record.memory_type in self.types
        if self.statuses:
            yield lambda record: record.status in self.statuses
        if self.severities:
            yield lambda record: record.severity in self.severities
        if self.importance_gte:
            yield lambda record: record.importance >= self.importance_gte
        if self.since:
            yield lambda record: record.timestamp >= self.since
        if self.until:
            yield lambda record: record.timestamp <= self.until
        if self.agent:
            yield lambda record: record.agent_id == self.agent
        if self.section:
            yield lambda record: _lies_in(record.section or "", self.section)
        for tag in self.tags:
            yield lambda record, tag=tag: tag in record.tags  # type: ignore[misc]


def _lies_in(section: str, wanted: str) -> bool:
    return section == wanted or section.startswith(wanted + ".")


def severity_rank(record: Record) -> int:
    """0 for critical to 3 for low; 4 for a record without a severity."""
    return SEVERITIES.index(record.severity) if record.severity else len(SEVERITIES)


# Every order ends in the id, so that it is the same on every machine; the flag says whether large comes first.
ORDERS: dict[str, tuple[Callable[[Record], Any], bool]] = {
    "date": (attrgetter("timestamp", "id"), True),
    "importance": (attrgetter("importance", "timestamp", "id"), True),
    "severity": (lambda record: (severity_rank(record), record.timestamp, record.id), False),
    "access": (attrgetter("access_count", "timestamp", "id"), True),
    "title": (lambda record: (record.title.casefold(), record.id), False),
    "id": (attrgetter("id"), False),
}


def select(records: Iterable[Record], filters: Filters, order: str = "date", *, reverse: bool = False) -> list[Record]:
    """The records that a filter accepts, in one of ORDERS."""
    key, large_first = ORDERS[order]
    return sorted(filters.keep(records), key=key, reverse=large_first != reverse)
