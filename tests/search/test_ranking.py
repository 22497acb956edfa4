"""The ranking of search results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from memctl.record.config import Config, SearchWeights
from memctl.record.filters import Filters
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.record.source import Hit
from memctl.search import ranking
from memctl.search.ranking import Result
from tests import snapshots
from tests.conftest import Memctl

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


def hit(record: Record, text: float) -> Hit:
    return Hit(record.path, text, kind=record.memory_type, key=record.id, number=int(record.id[-3:]))


def search(records: list[Record], hits: list[Hit], filters: Filters | None = None) -> list[Result]:
    return ranking.search(snapshot(records, hits), "x", NOW, filters or Filters())


def found(records: list[Record], hits: list[Hit], filters: Filters | None = None) -> list[str]:
    return [result.id for result in search(records, hits, filters)]


def one(**changes: Any) -> Result:
    """The result for a record that matches best."""
    record = made(1, **changes)
    return search([record], [hit(record, 3)])[0]


SEED = ranking.limits(SearchWeights())


def test_weights_are_those_of_the_rules() -> None:
    shares = ranking.shares(SearchWeights())
    assert pytest.approx(0.40) == shares.title + shares.content
    assert (shares.importance, shares.recency, shares.access) == pytest.approx((0.25, 0.20, 0.15))


def test_importance_recency_and_access_count_a_fraction_of_their_weight() -> None:
    assert sum(SEED.values()) == pytest.approx(1)
    assert (SEED["importance"] + SEED["recency"] + SEED["access"]) / SEED["text"] == pytest.approx(0.04 * 60 / 40)
    only = ranking.limits(SearchWeights(title=0, content=0, importance=3, recency=1, access=0))
    assert only == pytest.approx({"text": 0, "importance": 0.75, "recency": 0.25, "access": 0})


def test_the_best_possible_record_scores_one() -> None:
    assert one(importance=10, access_count=10).score == pytest.approx(1)


def test_the_score_is_the_sum_of_its_parts() -> None:
    result = one(importance=4, access_count=3, timestamp="2025-10-05T12:00:00Z")
    parts = (result.own, result.around, result.meaning, result.importance, result.recency, result.access)
    assert result.score == pytest.approx(sum(parts))
    assert (result.own, result.around, result.meaning) == pytest.approx((SEED["text"] * 0.7, SEED["text"] * 0.3, 0))
    assert result.importance == pytest.approx(0.4 * SEED["importance"])
    assert result.recency == pytest.approx(0.5 * SEED["recency"])
    assert result.access == pytest.approx(0.3 * SEED["access"])


def test_retrievals_count_up_to_a_cap() -> None:
    assert one(access_count=500).access == pytest.approx(SEED["access"])


def test_record_from_the_future_has_full_recency() -> None:
    assert one(timestamp="2026-01-01T00:00:00Z").recency == pytest.approx(SEED["recency"])


def test_better_match_comes_first() -> None:
    first, second = made(1), made(2)
    assert found([first, second], [hit(first, 1), hit(second, 4)]) == [second.id, first.id]


def test_weight_orders_similar_matches_and_lifts_no_worse_match() -> None:
    light = made(1, importance=1, timestamp="2020-01-01T00:00:00Z")
    heavy = made(2, importance=10, access_count=10)
    assert found([light, heavy], [hit(light, 1), hit(heavy, 0.96)]) == [heavy.id, light.id]
    assert found([light, heavy], [hit(light, 1), hit(heavy, 0.9)]) == [light.id, heavy.id]


def test_records_of_equal_weight_are_ranked_by_text() -> None:
    records = [made(number) for number in range(1, 30)]
    hits = [hit(record, 1 + number / 1000) for number, record in enumerate(records)]
    assert found(records, hits) == [record.id for record in reversed(records)]


def test_weakest_match_is_still_a_result() -> None:
    records = [made(1), made(2)]
    assert found(records, [hit(records[0], 100), hit(records[1], 0.1)]) == [records[0].id, records[1].id]


def test_best_match_in_the_thread_or_links_adds_to_the_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    best, beside, linked, alone = (made(number) for number in range(1, 5))
    monkeypatch.setattr(snapshots.GivenTexts, "links", lambda *_: [(3, alone.id), (3, "§9")])
    hits = [
        msgspec.structs.replace(hit(best, 4), thread="claude"),
        msgspec.structs.replace(hit(beside, 1), thread="claude"),
        hit(linked, 1),
        hit(alone, 2),
    ]
    results = {result.id: result for result in search([best, beside, linked, alone], hits)}
    assert results[best.id].match == pytest.approx(1)
    assert results[beside.id].match == pytest.approx(0.7 * 0.25 + 0.3)
    assert results[linked.id].match == pytest.approx(0.7 * 0.25 + 0.3 * 0.5)
    assert results[alone.id].match == pytest.approx(0.5)  # the one that is linked with it matches worse
    assert results[beside.id].around == pytest.approx(0.3 * SEED["text"])


def test_a_result_that_the_query_names_scores_most() -> None:
    named = made(1, importance=1)
    hits = [hit(named, 1), Hit("details/3.1-a.md", 4, kind="page", key="§3.1.2", number=7)]
    first, second = ranking.search(snapshot([named], hits), named.id, NOW)
    assert (first.id, second.id) == (named.id, "§3.1.2")
    assert (first.match, second.match) == pytest.approx((1, SEED["text"]))
    assert first.score > second.score


def test_result_with_the_searched_title_comes_before_titles_with_more_words() -> None:
    exact, more = made(1, title="The status field"), made(2, title="Add a status field to states", importance=9)
    view = snapshot([exact, more], [hit(exact, 1), hit(more, 2)])
    for query, first in (("Status field", exact), ("field of status", exact), ("status", more), ("the", more)):
        assert ranking.search(view, query, NOW)[0].id == first.id


def test_successor_comes_before_a_record_that_the_query_names() -> None:
    old, new = made(1, status="superseded", superseded_by=[made(2).id], title="Status field"), made(2)
    for query in (old.title, old.id):
        found_records = ranking.search(snapshot([old, new], [hit(old, 1)]), query, NOW)
        assert [result.id for result in found_records] == [new.id, old.id]


def test_a_page_counts_as_a_record_of_middling_importance() -> None:
    page = Hit("details/3.1-a.md", 1, kind="page", key="§3.1.2", number=7)
    [result] = search([], [page])
    assert (result.kind, result.id, result.record, result.opener) == ("page", "§3.1.2", None, "memctl show §3.1.2")
    assert result.importance == pytest.approx(0.5 * SEED["importance"])
    assert (result.recency, result.access) == (0, 0)


def test_best_matching_section_of_a_session_is_the_result() -> None:
    parts = [Hit("sessions/a.md", text, kind="session", key="a", number=text) for text in (1, 3, 2)]
    assert [result.number for result in search([], parts)] == [3]


def test_a_filter_of_records_leaves_out_the_rest() -> None:
    record = made(1, importance=9)
    hits = [hit(record, 1), Hit("sessions/a.md", 2, kind="session", key="a", number=9)]
    view = snapshots.snapshot([record], match=lambda _: hits)
    assert [r.id for r in ranking.search(view, "x", NOW, Filters(importance_gte=5))] == [record.id]
    assert [r.id for r in ranking.search(view, "x", NOW, Filters())] == ["a", record.id]


def test_the_weights_of_the_project_order_the_results() -> None:
    first, second = made(1, importance=10), made(2, importance=1)
    hits = [hit(first, 1), hit(second, 2)]
    only_importance = SearchWeights(content=0, title=0, recency=0, access=0)
    for weights, best in ((only_importance, first), (SearchWeights(importance=0), second)):
        config = Config(format=1, project="shop", search_weights=weights)
        view = snapshots.snapshot([first, second], match=lambda _: hits, config=config)
        assert ranking.search(view, "x", NOW)[0].record == best


def test_matches_worth_nothing_do_not_divide_by_zero() -> None:
    assert found([made(1)], [hit(made(1), 0)]) == [made(1).id]


def test_equal_scores_are_ordered_by_id() -> None:
    records = [made(3), made(1), made(2)]
    assert found(records, [hit(record, 1) for record in records]) == [made(1).id, made(2).id, made(3).id]


def test_only_records_that_match_and_pass_the_filter_are_found() -> None:
    records = [made(1), made(2, is_archived=True), made(3), made(4, importance=1)]
    hits = [hit(record, 1) for record in records if record.id != made(3).id]
    assert found(records, hits, Filters(importance_gte=2)) == [made(1).id]


def test_a_filter_does_not_change_scores() -> None:
    records = [made(1), made(2, is_archived=True)]
    hits = [hit(records[0], 1), hit(records[1], 10)]
    [only] = search(records, hits)
    assert only in search(records, hits, Filters(archived=None))


def test_a_query_without_a_match_finds_nothing() -> None:
    assert found([made(1)], []) == []


def test_successor_comes_directly_before_the_record_it_supersedes_even_without_a_match() -> None:
    old = made(1, status="superseded", superseded_by=[made(2).id])
    between = made(2, status="superseded", superseded_by=[made(3).id], supersedes=[old.id])
    successor, other = made(3, supersedes=[between.id]), made(4)
    records = [old, between, successor, other]
    hits = [hit(old, 5), hit(other, 6)]
    assert found(records, hits) == [other.id, successor.id, old.id]
    assert found(records, [*hits, hit(successor, 1)]) == [other.id, successor.id, old.id]
    assert found(records, [*hits, hit(successor, 9)]) == [successor.id, other.id, old.id]
    lifted, before = search(records, hits)[1:]
    assert lifted.score == before.score


@pytest.mark.parametrize("count", [2, 2_202])  # of the second all records are read at once
def test_successors_are_found_among_few_and_among_many_records(count: int) -> None:
    records = [
        made(n, status="superseded", superseded_by=[made(n + 1).id]) if n % 2 else made(n)
        for n in range(1_001, 1_001 + count)
    ]
    hits = [hit(record, 5) for record in records if record.superseded_by]
    assert found(records, hits) == [name for r in records if r.superseded_by for name in (*r.superseded_by, r.id)]


def test_successor_that_the_filter_refuses_is_left_out() -> None:
    old = made(1, status="superseded", superseded_by=[made(2).id])
    assert found([old, made(2)], [hit(old, 1)], Filters(statuses=("superseded",))) == [old.id]
    assert found([old, made(2, superseded_by=[old.id], status="superseded")], [hit(old, 1)]) == [old.id]


@pytest.fixture
def lamps(memctl: Memctl) -> Callable[[dict[str, str]], list[str]]:
    def recalled(extra: dict[str, str]) -> list[str]:
        """What a search for a broken lamp finds first, where `extra` is the front matter that all records have."""
        lessons = [
            "We spoke of the lamp",
            "A moth sat there",
            *["The lamp is on"] * 9,
            "A broken broken lamp",
            "By a cat",
        ]
        values = [{"memory_type": "learning", "title": f"Turn {n}", "lesson": text} for n, text in enumerate(lessons)]
        lines = (json.dumps({**one, "timestamp": NOW, "agent_id": "ada", **extra}) for one in values)
        memctl("import", "-", stdin="\n".join(lines))
        return [found["title"] for found in memctl("search", "broken lamp", "--limit", "3", "--json").data["results"]]

    return recalled


def test_what_was_recorded_beside_a_match_in_one_session_is_found(lamps: Callable[[dict[str, str]], list[str]]) -> None:
    assert "Turn 12" in lamps({})


def test_what_was_imported_beside_a_match_is_not_found(lamps: Callable[[dict[str, str]], list[str]]) -> None:
    assert "Turn 12" not in lamps({"source_id": "tracker"})
