"""Filter records by their fields, and sort them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record.kinds import SEVERITIES
from memctl.record.record import Record

if TYPE_CHECKING:
    from memctl.record.source import Condition


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on records, all of which must hold; an empty field sets no condition (rules.md#search-ranking).

    - `since` and `until` are UTC times such as "2025-11-04T14:32:00Z"; records of exactly these times match.
    - `tags` are tags that a record must have, all of them.
    - `paths` are the paths of the records that match, such as those of a section; None sets no condition.
    - `archived` is False for records that are not archived, True for archived records, and None for both.
    - `is_open` leaves out archived records and those with a status that closes them, such as resolved.
    """

    types: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # a record needs all of them
    importance_gte: int = 0
    paths: frozenset[str] | None = None
    agent: str = ""
    assignee: str = ""  # with or without an @
    since: str = ""
    until: str = ""
    archived: bool | None = False  # None: archived or not
    is_open: bool = False  # neither archived nor with a closed status

    def keep(self, records: Iterable[Record]) -> list[Record]:
        """Return the records that meet all conditions, in the order given."""
        tests = [(attrgetter(field), _TESTS[test], value) for field, test, value in self.conditions()]
        return [record for record in records if all(passes(read(record), value) for read, passes, value in tests)]

    def conditions(self) -> Iterator[Condition]:
        """Yield the conditions as (field, operator, value), such as ("importance", ">=", 7).

        The condition that most records fail comes first, which saves the most comparisons.
        """
        if self.archived is not None:
            yield "is_archived", "is", self.archived
        yield from [("path", "in", self.paths)] if self.paths is not None else ()
        yield from (condition for condition in self._conditions() if condition[2])

    def _conditions(self) -> Iterator[Condition]:
        yield "is_open", "is", self.is_open
        yield "memory_type", "in", self.types
        yield "status", "in", self.statuses
        yield "severity", "in", self.severities
        yield "importance", ">=", self.importance_gte
        yield "timestamp", ">=", self.since
        yield "timestamp", "<=", self.until
        yield "agent_id", "is", self.agent
        yield "assignees", "has", self.assignee.strip().lstrip("@").casefold()
        yield from (("tags", "has", tag) for tag in self.tags)


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "is": operator.eq,
    "in": lambda value, wanted: value in wanted,
    ">": operator.gt,
    ">=": operator.ge,
    "<=": operator.le,
    "has": lambda value, wanted: wanted in value,
}


def severity_rank(record: Record) -> int:
    """Return a record's severity as a number for sorting: 0 for critical to 3 for low, and 4 for no severity."""
    return SEVERITIES.index(record.severity) if record.severity else len(SEVERITIES)


# By name: the sort key, and whether the largest comes first. Each key ends in the id, so that no two records tie.
ORDERS: dict[str, tuple[Callable[[Record], Any], bool]] = {
    "date": (attrgetter("timestamp", "id"), True),
    "importance": (attrgetter("importance", "timestamp", "id"), True),
    "severity": (lambda record: (severity_rank(record), record.timestamp, record.id), False),
    "access": (attrgetter("access_count", "timestamp", "id"), True),
    "title": (lambda record: (record.title.casefold(), record.id), False),
    "id": (attrgetter("id"), False),
}


def select(records: Iterable[Record], filters: Filters, order: str = "date", *, reverse: bool = False) -> list[Record]:
    """Return the records that meet all conditions of a filter, sorted by `order`.

    If `order` is "date", "importance", "severity" or "access" (retrievals), the newest, most important, most severe or
    most often retrieved record comes first. If it is "title" or "id", the order is alphabetical. `reverse` turns the
    order around.
    """
    key, large_first = ORDERS[order]
    return sorted(filters.keep(records), key=key, reverse=large_first != reverse)
