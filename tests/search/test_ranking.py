"""The ranking of search results."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.record.config import Config, SearchWeights
from memctl.record.record import Record
from memctl.record.snapshot import Hit, Snapshot
from memctl.search import ranking
from memctl.search.filters import Filters
from memctl.search.ranking import Similarity
from tests import snapshots

NOW = "2025-11-04T12:00:00Z"


def made(number: int, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "id": f"LRN-2025-11-04-{number:03d}",
        "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
        "memory_type": "learning",
        "title": f"Title {number}",
        "status": "active",
        "importance": 5,
        "timestamp": NOW,
        "project_id": "shop",
        "agent_id": "claude",
        "path": f"learnings/2025-11/LRN-2025-11-04-{number:03d}.md",
    }
    return Record(**{**values, **changes})


def snapshot(records: list[Record], hits: list[Hit]) -> Snapshot:
    return snapshots.snapshot(records, match=lambda _: hits)


def found(records: list[Record], hits: list[Hit], filters: Filters | None = None) -> list[str]:
    return [result.record.id for result in ranking.search(snapshot(records, hits), "x", filters or Filters(), NOW)]


SEED = ranking.shares(SearchWeights())


def test_the_weights_are_those_of_the_rules_and_make_one() -> None:
    assert pytest.approx(0.40) == SEED.title + SEED.content
    assert (SEED.title, SEED.importance, SEED.recency, SEED.access) == pytest.approx((0.15, 0.25, 0.20, 0.15))


def test_only_the_proportions_of_weights_matter() -> None:
    shares = ranking.shares(SearchWeights(title=0, content=0, importance=3, recency=1, access=0))
    assert (shares.importance, shares.recency, shares.title) == (0.75, 0.25, 0)


def test_the_best_possible_record_scores_one() -> None:
    best = made(1, importance=10, access_count=10)
    assert ranking.rank(best, Similarity(1, 1), NOW, SEED).score == pytest.approx(1)


def test_the_score_is_the_sum_of_its_parts() -> None:
    record = made(1, importance=4, access_count=3, timestamp="2025-10-05T12:00:00Z")
    result = ranking.rank(record, Similarity(0.5, 0.2), NOW, SEED)
    assert [result.title, result.content] == pytest.approx([0.075, 0.05])
    assert [result.importance, result.recency, result.access] == pytest.approx([0.10, 0.10, 0.045])
    assert result.score == pytest.approx(0.37)


def test_retrievals_count_up_to_a_cap() -> None:
    assert ranking.rank(made(1, access_count=500), Similarity(0, 0), NOW, SEED).access == SEED.access


def test_a_record_from_the_future_is_as_recent_as_can_be() -> None:
    record = made(1, timestamp="2026-01-01T00:00:00Z")
    assert ranking.rank(record, Similarity(0, 0), NOW, SEED).recency == SEED.recency


def test_the_better_match_comes_first() -> None:
    one, two = made(1), made(2)
    assert found([one, two], [Hit(one.path, 0, 1), Hit(two.path, 0, 4)]) == [two.id, one.id]


def test_similarities_are_shares_of_the_best_match_and_fall_faster_than_it() -> None:
    one, two = made(1), made(2)
    hits = [Hit(one.path, 8, 3), Hit(two.path, 2, 1.5)]
    results = ranking.search(snapshot([one, two], hits), "x", Filters(), NOW)
    assert [result.title for result in results] == pytest.approx([0.15, 0.15 * 0.25 * 0.25])
    assert [result.content for result in results] == pytest.approx([0.25, 0.25 * 0.125])


def test_a_weak_match_is_a_result_only_if_it_has_all_words() -> None:
    one, two, three = made(1), made(2, importance=10), made(3)
    hits = [Hit(one.path, 0, 10), Hit(two.path, 0, 1, has_all=False), Hit(three.path, 0, 1)]
    assert found([one, two, three], hits) == [one.id, three.id]


def test_the_weights_of_the_project_order_the_results() -> None:
    one, two = made(1, importance=10), made(2, importance=1)
    hits = [Hit(one.path, 0, 1), Hit(two.path, 0, 2)]
    for weights, first in ((SearchWeights(content=0, title=0), one), (SearchWeights(importance=0), two)):
        config = Config(format=1, project="shop", search_weights=weights)
        view = snapshots.snapshot([one, two], match=lambda _: hits, config=config)
        assert ranking.search(view, "x", Filters(), NOW)[0].record == first


def test_matches_worth_nothing_do_not_divide_by_zero() -> None:
    assert found([made(1)], [Hit(made(1).path, 0, 0)]) == [made(1).id]


def test_equal_scores_are_ordered_by_id() -> None:
    records = [made(3), made(1), made(2)]
    hits = [Hit(record.path, 1, 1) for record in records]
    assert found(records, hits) == [made(1).id, made(2).id, made(3).id]


def test_only_records_that_match_and_pass_the_filter_are_found() -> None:
    records = [made(1), made(2, is_archived=True), made(3), made(4, importance=1)]
    hits = [Hit(record.path, 1, 1) for record in records if record.id != made(3).id]
    assert found(records, hits, Filters(importance_gte=2)) == [made(1).id]


def test_a_filter_does_not_change_scores() -> None:
    records = [made(1), made(2, is_archived=True)]
    hits = [Hit(records[0].path, 1, 1), Hit(records[1].path, 10, 10)]
    view = snapshot(records, hits)
    [only] = ranking.search(view, "x", Filters(), NOW)
    both = ranking.search(view, "x", Filters(archived=None), NOW)
    assert only in both


def test_where_nothing_matches_nothing_is_found() -> None:
    assert found([made(1)], []) == []
