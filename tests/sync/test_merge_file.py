"""Merging one record without a choice for anybody: no markers, nothing lost that is not named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.record import frontmatter
from memctl.record.parser import parse
from memctl.record.record import ORDER
from memctl.record.record_form import differs_only_in_retrievals
from memctl.sync import merge_tree
from memctl.tokens.count import Counter
from memctl.write.merge import WHOLE, LostValue
from tests.conftest import examples

PATH = "issues/2025-11/ISS-2025-11-04-001-pool.md"
BASE: dict[str, Any] = {
    "id": "ISS-2025-11-04-001",
    "memory_id": "019a4f3e-0000-7000-8000-000000000001",
    "memory_type": "issue",
    "title": "Pool runs dry",
    "status": "open",
    "severity": "high",
    "importance": 5,
    "tags": ["a", "b"],
    "timestamp": "2025-11-04T14:32:00Z",
    "project_id": "shop",
    "agent_id": "claude",
    "access_count": 3,
    "last_accessed": "2025-11-05T00:00:00Z",
}
BODY = {"Description": "It runs dry.", "Impact": "Slow.", "Resolution": "None yet."}
words = st.sampled_from(["One.", "Two.", "Three.\n\nFour.", "=======", "- item", "<b>x</b>"])
edits = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["Pool", "Pool is empty", "No connections"]),
        "status": st.sampled_from(["in-progress", "resolved", "wontfix"]),
        "severity": st.sampled_from(["low", "critical"]),
        "importance": st.integers(1, 10),
        "tags": st.lists(st.sampled_from("abcdef"), unique=True, max_size=4),
        "access_count": st.integers(3, 9),
        "last_accessed": st.sampled_from(["2025-11-06T00:00:00Z", "2025-11-07T00:00:00Z"]),
        "is_archived": st.just(True),
        "expires_at": st.sampled_from(["2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        "section": st.sampled_from(["§2.1", "§2.2"]),
        "team": st.sampled_from(["red", "blue"]),  # a key that memctl does not know
    },
)
bodies = st.fixed_dictionaries({}, optional={"Description": words, "Impact": words, "Environment": words})


def decided(base: str, ours: str, theirs: str) -> tuple[str, tuple[LostValue, ...]]:
    return merge_tree.merge_text(PATH, base, ours, theirs, lambda: Counter("claude"))


def text(values: dict[str, Any], body: dict[str, str]) -> str:
    parts = "\n\n".join(f"## {heading}\n\n{content}" for heading, content in {**BODY, **body}.items())
    merged = {**BASE, **values}
    return frontmatter.compose({name: merged[name] for name in (*ORDER, "team") if name in merged}, parts + "\n")


@examples(30)
@given(edits, bodies, edits, bodies)
def test_merge_gives_a_valid_record_and_names_its_losses(
    mine: dict[str, Any], my_body: dict[str, str], yours: dict[str, Any], your_body: dict[str, str]
) -> None:
    base, ours, theirs = text({}, {}), text(mine, my_body), text(yours, your_body)
    merged, losses = decided(base, ours, theirs)
    parse(merged, PATH)
    assert "<<<<<<<" not in merged
    assert ">>>>>>>" not in merged
    now = frontmatter.read(merged)[0]
    if any(loss.key == WHOLE for loss in losses):
        assert merged == theirs
        return
    named = {loss.key for loss in losses}
    for name in ("title", "severity", "importance", "expires_at", "section", "team", "status"):
        for side in (mine, yours):
            if name in side and side[name] != BASE.get(name):
                assert now[name] == side[name] or name in named
    one, other, before = (set(v.get("tags", BASE["tags"])) for v in (mine, yours, {}))
    assert set(now.get("tags", [])) == (one & other) | (one - before) | (other - before)
    counts = [side.get("access_count", 3) for side in (mine, yours)]
    assert now["access_count"] == (counts[0] if ours == theirs else sum(counts) - 3)
    for side in (my_body, your_body):
        for heading, content in side.items():
            if content not in BODY.get(heading, "") and content not in merged:
                assert heading.casefold() in named or content.strip("\n") in merged


@examples(20)
@given(edits, bodies)
def test_change_of_one_side_wins_over_an_unchanged_side(values: dict[str, Any], body: dict[str, str]) -> None:
    base, changed = text({}, {}), text(values, body)
    assert decided(base, base, changed) == (changed, ())
    assert decided(base, changed, base) == (changed, ())
    assert decided(base, changed, changed) == (changed, ())


def test_a_version_that_can_not_be_read_gives_way_whole() -> None:
    base, good, broken = text({}, {}), text({"importance": 9}, {}), "no front matter\n"
    for ours, theirs in ((good, broken), (broken, good)):
        merged, losses = decided(base, ours, theirs)
        assert merged == good
        assert [loss.key for loss in losses] == [WHOLE]


def test_text_that_looks_like_a_marker_is_not_taken_for_one() -> None:
    base = text({}, {})
    ours = text({}, {"Impact": "Title\n=======\n\nMine."})
    theirs = text({}, {"Impact": "Yours."})
    merged, losses = decided(base, ours, theirs)
    assert merged == theirs
    assert losses


@pytest.mark.parametrize(("changed", "only"), [({"access_count": 9}, True), ({"importance": 9}, False), ({}, True)])
def test_difference_of_retrieval_counts_is_recognized(changed: dict[str, Any], only: bool) -> None:
    assert differs_only_in_retrievals(text({}, {}), text(changed, {})) is only


def test_a_long_value_is_cut_and_stays_on_one_line() -> None:
    assert merge_tree.one_line("a\nb" * 400).count("\n") == 0
    assert len(merge_tree.one_line("x" * 400)) == 300
