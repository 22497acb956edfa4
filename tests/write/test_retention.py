"""The tables of rules.md#lifecycle, row by row and a second to each side of every edge."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.record import frontmatter
from memctl.record.config import Lifecycle
from memctl.record.kinds import KINDS
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.text import timestamps
from memctl.write import maintenance
from memctl.write.retention_dates import RetentionDates
from tests.conftest import NOW
from tests.generated import values_of

SECOND = 1 / 86_400
RULES = Lifecycle()


def aged_record(kind: str, age: float, archived: float | None = None, **changes: Any) -> Record:
    """A record so many days old, and archived so many days ago."""
    values: dict[str, Any] = {"importance": 7, "timestamp": timestamps.days_before(NOW, age), "access_count": 0}
    if archived is not None:
        values |= {"is_archived": True, "archived_at": timestamps.days_before(NOW, archived)}
    return parse(frontmatter.compose(values_of(KINDS[kind], 1, values | changes), ""), "")[0]


def due(record: Record, rules: Lifecycle = RULES) -> str:
    verdict = maintenance.verdict_of(record, rules, RetentionDates(NOW))
    return verdict.action if verdict else ""


@pytest.mark.parametrize(
    ("kind", "days", "changes"),
    [
        ("decision", 90, {"importance": 5}),
        ("issue", 30, {"status": "resolved"}),
        ("issue", 30, {"status": "wontfix"}),
        ("learning", 180, {}),
    ],
)
def test_records_are_archived_after_the_days_of_the_table(kind: str, days: int, changes: dict[str, Any]) -> None:
    assert due(aged_record(kind, days + SECOND, **changes)) == "archive"
    assert due(aged_record(kind, days, **changes)) == ""
    assert due(aged_record(kind, days - SECOND, **changes)) == ""
    assert due(aged_record(kind, 10_000, **changes)) == "archive"
    assert due(aged_record(kind, days + SECOND, archived=0, **changes)) == ""


@pytest.mark.parametrize(
    ("kind", "days", "changes"),
    [
        ("decision", 365, {"importance": 3}),
        ("issue", 180, {"status": "resolved"}),
        ("issue", 180, {"status": "wontfix"}),
        ("state", 90, {"status": "superseded"}),
        ("learning", 185, {}),
    ],
)
def test_archived_records_are_deleted_after_the_days_of_the_table(
    kind: str, days: int, changes: dict[str, Any]
) -> None:
    assert due(aged_record(kind, 1000, days + SECOND, **changes)) == "delete"
    assert due(aged_record(kind, 1000, days, **changes)) == ""
    assert due(aged_record(kind, 1000, **changes)) == "archive"
    assert due(aged_record(kind, 1000, days + SECOND, **changes), Lifecycle(delete=False)) == ""
    assert due(aged_record(kind, 1000, 0, **{**changes, "archived_at": None})) == "date"


def test_learning_is_deleted_after_its_days_and_when_it_was_archived_for_a_month() -> None:
    assert due(aged_record("learning", 365 + SECOND, 200)) == "delete"
    assert due(aged_record("learning", 365, 200)) == ""
    early = Lifecycle(delete_learning_days=10)
    assert due(aged_record("learning", 1000, 30 + SECOND), early) == "delete"
    assert due(aged_record("learning", 1000, 30), early) == ""


@pytest.mark.parametrize(
    "record",
    [
        aged_record("decision", 1000, importance=6),
        aged_record("decision", 1000, 900, importance=4),
        aged_record("decision", 1000, 900, importance=4, archived_at=None),
        aged_record("issue", 1000),
        aged_record("issue", 1000, status="in-progress"),
        aged_record("issue", 1000, 900),
        aged_record("state", 1000),
        aged_record("state", 1000, status="done"),
        aged_record("learning", 1000, access_count=1),
        aged_record("learning", 1000, 900, access_count=1),
        aged_record("learning", 1000, access_count=1, status="superseded"),
    ],
)
def test_records_outside_the_table_are_kept(record: Record) -> None:
    assert due(record) == ""


@pytest.mark.parametrize("kind", ["decision", "state"])
def test_superseded_record_is_archived_at_once(kind: str) -> None:
    verdict = maintenance.verdict_of(
        aged_record(kind, 0, status="superseded", superseded_by=[aged_record(kind, 0).id]), RULES, RetentionDates(NOW)
    )
    assert verdict is not None
    assert (verdict.action, verdict.reason) == ("archive", f"superseded by {aged_record(kind, 0).id}")


def test_expired_record_is_archived_at_its_expiry() -> None:
    assert due(aged_record("decision", 1, expires_at=NOW)) == "archive"
    assert due(aged_record("decision", 1, expires_at=timestamps.days_before(NOW, -SECOND))) == ""
    assert due(aged_record("decision", 1, archived=0, expires_at=NOW)) == ""


def test_latest_states_are_the_latest_and_the_latest_open_one() -> None:
    def state(number: int, **changes: Any) -> Record:
        text = frontmatter.compose(values_of(KINDS["state"], number, changes), "")
        return parse(text, f"states/2025-11/STA-2025-11-04-{number:03d}-x.md")[0]

    early, late = "2025-11-04T01:00:00Z", "2025-11-04T02:00:00Z"
    states = [state(3, timestamp=early), state(2, timestamp=late, status="done"), state(1, timestamp=early)]
    assert maintenance.latest_states(states) == {states[0].path, states[1].path}
    assert maintenance.latest_states([]) == set()
