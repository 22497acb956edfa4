"""Choosing records by their fields, and their order."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.record.filters import ORDERS, Filters, select, severity_rank
from memctl.record.record import Record


def made(number: int, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "id": f"ISS-2025-11-04-{number:03d}",
        "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
        "memory_type": "issue",
        "title": f"Title {number}",
        "status": "open",
        "importance": 5,
        "timestamp": "2025-11-04T12:00:00Z",
        "project_id": "shop",
        "agent_id": "claude",
        "severity": "medium",
    }
    return Record(**{**values, **changes})


RECORD = made(1, tags=["db", "api"], section="§2.1.3", importance=6)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(types=("decision", "issue")),
        Filters(statuses=("open",)),
        Filters(severities=("high", "medium")),
        Filters(tags=("db",)),
        Filters(tags=("api", "db")),
        Filters(importance_gte=6),
        Filters(paths=frozenset([RECORD.path])),
        Filters(agent="claude"),
        Filters(since="2025-11-04T12:00:00Z"),
        Filters(until="2025-11-04T12:00:00Z"),
        Filters(archived=None),
    ],
)
def test_filter_keeps_a_matching_record(filters: Filters) -> None:
    assert filters.keep([RECORD])


@pytest.mark.parametrize(
    "filters",
    [
        Filters(types=("decision",)),
        Filters(statuses=("resolved",)),
        Filters(severities=("high",)),
        Filters(tags=("db", "ui")),
        Filters(tags=("d",)),
        Filters(importance_gte=7),
        Filters(paths=frozenset()),
        Filters(paths=frozenset(["decisions/2025-11/other.md"])),
        Filters(agent="codex"),
        Filters(since="2025-11-04T12:00:01Z"),
        Filters(until="2025-11-04T11:59:59Z"),
        Filters(archived=True),
    ],
)
def test_filter_drops_a_record_that_does_not_match(filters: Filters) -> None:
    assert not filters.keep([RECORD])


def test_filter_drops_records_without_a_value_of_the_field() -> None:
    plain = made(1, severity=None)
    assert not Filters(severities=("low",)).keep([plain])


@pytest.mark.parametrize(("wanted", "found"), [(False, [1]), (True, [2]), (None, [1, 2])])
def test_filter_keeps_archived_records_on_request(wanted: bool | None, found: list[int]) -> None:
    records = [made(1), made(2, is_archived=True)]
    assert select(records, Filters(archived=wanted), "id") == [records[number - 1] for number in found]


def test_all_conditions_must_hold() -> None:
    assert not Filters(tags=("db",), importance_gte=7).keep([RECORD])


def test_severities_rank_worst_first_and_none_last() -> None:
    ranks = [severity_rank(made(1, severity=name)) for name in ("critical", "high", "medium", "low", None)]
    assert ranks == [0, 1, 2, 3, 4]


LIST = [
    made(1, title="beta", importance=3, severity="low", timestamp="2025-11-03T12:00:00Z", access_count=2),
    made(2, title="Alpha", importance=9, severity="critical", timestamp="2025-11-01T12:00:00Z"),
    made(3, title="gamma", importance=3, severity="critical", timestamp="2025-11-04T12:00:00Z", access_count=9),
]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("date", [3, 1, 2]),
        ("importance", [2, 3, 1]),
        ("severity", [2, 3, 1]),
        ("access", [3, 1, 2]),
        ("title", [2, 1, 3]),
        ("id", [1, 2, 3]),
    ],
)
def test_records_are_sorted_by_each_order(order: str, found: list[int]) -> None:
    assert [int(record.id[-3:]) for record in select(LIST, Filters(), order)] == found


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_can_be_reversed(order: str) -> None:
    assert select(LIST, Filters(), order, reverse=True) == select(LIST, Filters(), order)[::-1]


@pytest.mark.parametrize("order", ORDERS)
def test_sorting_does_not_depend_on_the_order_of_files(order: str) -> None:
    alike = [made(number, title="Same") for number in (1, 2, 3)]
    assert select(alike[::-1], Filters(), order) == select(alike, Filters(), order)
