"""The lines that a pack begins with."""

from __future__ import annotations

import pytest

from memctl.pack import rehydrate
from memctl.record import ids
from memctl.record.config import Config
from memctl.text import phrases, timestamps
from tests import snapshots
from tests.generated import NOW, memory


def test_overview_counts_current_records() -> None:
    issue, state = {"memory_type": "issue"}, {"memory_type": "state"}
    made = memory((issue, ""), (issue, ""), (state, ""))
    assert rehydrate.count_by_type(made.records) == "2 open issues, 1 state."
    assert rehydrate.count_by_type([]) == "none open."


def test_project_is_described_by_its_page() -> None:
    page = (
        "---\nid: §1.0\ntitle: Shop\ncompletion_percentage: 40\n---\n\n## Goal\n\nSell lanterns online. Then more.\n\n"
        "## Priorities\n\n- Payment by card. At once.\n- Search\n- Mail\n- Never\n"
    )
    made = snapshots.snapshot([], {"project.md": page}, config=Config(format=1, project="x", description="Other"))
    assert list(rehydrate.project(made)) == [
        "Sell lanterns online.",
        "40 % complete.",
        "Priorities: Payment by card; Search; Mail.",
    ]


def test_without_a_page_the_settings_describe_the_project() -> None:
    made = snapshots.snapshot([], config=Config(format=1, project="x", description="Sells\nthings. More."))
    assert list(rehydrate.project(made)) == ["Sells things."]


def recorded(time: str, **more: str) -> dict[str, str]:
    """The front matter of a record that was made when it is dated."""
    return {"timestamp": time, "memory_id": ids.uuid7(timestamps.to_epoch(time) * 1000, bytes(10)), **more}


def test_imported_records_count_as_no_session() -> None:
    years = [({"timestamp": f"{year}-03-01T08:00:00Z"}, "") for year in range(2018, 2022)]
    assert rehydrate.continuity(memory(*years).snapshot, NOW) == (
        "Latest, by its own date: DEC-2025-11-04-004 by claude, 2021-03-01T08:00:00Z (1,709 days ago)."
    )


def test_the_last_record_and_its_age_are_shown() -> None:
    times = ("2025-11-01T08:00:00Z", "2025-11-01T09:59:00Z", "2025-11-02T14:32:00Z")
    made = memory(*((recorded(time, agent_id="a\u00a0b"), "") for time in times))
    assert rehydrate.continuity(made.snapshot, NOW) == (
        "Last recorded: DEC-2025-11-04-003 by a b, 2025-11-02T14:32:00Z (2 days ago)."
    )
    assert rehydrate.continuity(memory().snapshot, NOW) == ""


@pytest.mark.parametrize(
    ("earlier", "said"),
    [
        ("2025-11-04T14:31:01Z", ""),
        ("2025-11-04T14:31:00Z", "1 minute"),
        ("2025-11-04T12:32:00Z", "2 hours"),
        ("2025-11-03T14:32:00Z", "1 day"),
        ("2020-11-04T14:32:00Z", "1,826 days"),
        ("2026-11-04T14:32:00Z", ""),
    ],
)
def test_a_duration_is_shown_in_its_largest_unit(earlier: str, said: str) -> None:
    assert phrases.gap(earlier, NOW) == said
