"""In a small budget the most important records come before others, and one long record takes no room of several."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Memctl, record_all

SENTENCE = "The pool of connections is exhausted when the nightly import runs beside the checkout. "


def pack(memctl: Memctl, budget: int) -> tuple[set[str], str]:
    """The ids of the whole records of a pack, and its text."""
    data: dict[str, Any] = memctl("rehydrate", "--budget", str(budget), "--json").data
    assert data["tokens"] <= budget
    return {one for part in data["parts"].values() for one in part}, data["text"]


@pytest.mark.parametrize("budget", [400, 450, 500, 550])
def test_small_pack_has_decision_and_high_issue_before_all_others(memctl: Memctl, budget: int) -> None:
    decision = memctl("decide", "Adopt PostgreSQL", "--rationale", SENTENCE, "-i", "8").id
    memctl("state", "Profile API", "--done", "GET", "--next", "Cascade of DELETE", "-i", "5", "--task", SENTENCE)
    memctl("issue", "Typo in the footer", "--severity", "low", "--description", SENTENCE)
    issue = memctl("issue", "Checkout times out", "--severity", "high", "--description", SENTENCE).id
    memctl("learn", "Look at the pool first", "--lesson", SENTENCE, "-i", "5", "--timestamp", "2025-06-01")
    assert {decision, issue} <= pack(memctl, budget)[0]


def test_long_decision_takes_no_room_of_high_issues(memctl: Memctl) -> None:
    long = memctl("decide", "Event sourcing", "--rationale", SENTENCE * 200, "-i", "7").id
    record_all(
        memctl, "issue", [f"Bug {number}" for number in range(11)], severity="high", description="{}. " + SENTENCE * 3
    )
    high = {record["id"] for record in memctl("list", "--type", "issue", "--json").data["records"]}
    before = 0
    for budget in (700, 1_000, 2_000, 3_000, 3_500, 4_000, 5_000, 6_000):
        whole, text = pack(memctl, budget)
        assert len(whole & high) >= before
        before = len(whole & high)
        assert budget < 2_000 or long in text
    assert before == 11
    assert long in pack(memctl, 8_000)[0]


@pytest.mark.parametrize("budget", [200, 250, 300, 400, 500, 700, 1_000])
def test_long_critical_issue_is_titled_before_short_records(memctl: Memctl, budget: int) -> None:
    record_all(memctl, "issue", [f"Slow page {number}" for number in range(4)], severity="high", description="Slow.")
    record_all(memctl, "decision", ["Use PostgreSQL", "Use Redis", "Use Kafka"], importance=10, rationale="Reliable.")
    critical = memctl("issue", "Money is lost", "--severity", "critical", "--description", SENTENCE * 90).id
    text = pack(memctl, budget)[1]
    assert f"{critical} Money is lost" in text.partition("\n### ")[0]


def test_titles_of_the_most_important_records_come_before_whole_lesser_ones(memctl: Memctl) -> None:
    record_all(
        memctl, "issue", [f"Bug {number}" for number in range(9)], severity="high", description="{}. " + SENTENCE * 5
    )
    record_all(memctl, "issue", ["Typo", "Colour"], severity="low", description="{}. " + SENTENCE * 5)
    low = {one["id"] for one in memctl("list", "--type", "issue", "--severity", "low", "--json").data["records"]}
    whole, text = pack(memctl, 800)
    assert whole
    assert not whole & low
    assert "## Only by title\n\n- ISS-" in text


def test_count_of_left_out_records_says_what_they_are(memctl: Memctl) -> None:
    record_all(memctl, "learning", [f"Lesson {number}" for number in range(10)], lesson="{}. " + SENTENCE * 9)
    text = pack(memctl, 140)[1]
    assert "- 9 records: `memctl list --open`" in text
    assert "a budget of 140 tokens has no room for any of 10 records" in memctl("rehydrate", "--budget", "140").err


def test_titles_with_different_numbers_are_different_decisions(memctl: Memctl) -> None:
    for version in ("3.9", "3.10", "3.11"):
        memctl("decide", f"Upgrade to Python {version}", "--rationale", "The old one is out of support")
    text = memctl("rehydrate").out
    assert all(f"Upgrade to Python {version}\n" in text for version in ("3.9", "3.10", "3.11"))
