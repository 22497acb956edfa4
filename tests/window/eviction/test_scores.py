"""What blocks are worth, by the numbers of rules.md#window-eviction."""

from __future__ import annotations

import math

import pytest

from memctl.errors import MemctlError
from memctl.window import ContentBlock, ContentType, EvictionPolicy, Scoring
from memctl.window.eviction.references import Similar
from memctl.window.eviction.scores import (
    SCORES,
    SOURCE,
    HybridWeights,
    PriorityWeights,
    ScoringInput,
    fifo,
    hybrid,
    lru,
    priority,
    semantic_merge,
    type_based,
)


def block(turn: int = 10, type_: ContentType = ContentType.TOOL_RESULT, **fields: object) -> ContentBlock:
    return ContentBlock("b", type_, "text", 100, turn, **fields)  # type: ignore[arg-type]


NOW = ScoringInput(20)


def test_every_policy_has_a_scorer() -> None:
    assert set(SCORES) == set(EvictionPolicy)
    assert set(SOURCE) == set(ContentType)


def test_fifo_halves_in_ten_turns() -> None:
    assert fifo(block(10), NOW) == pytest.approx(0.5)
    assert fifo(block(20), NOW) == 1.0
    assert fifo(block(25), NOW) == 1.0  # a turn to come is no older than now


def test_lru_scores_recently_referenced_blocks_higher() -> None:
    """By 1 - exp(-idle / 5) the longest idle would be kept longest."""
    just, idle = block(1, last_referenced_turn=20), block(1, last_referenced_turn=5)
    assert lru(just, NOW) > lru(idle, NOW)
    assert lru(block(1, last_referenced_turn=15), NOW) == pytest.approx(0.5)
    assert lru(block(20), NOW) == 0.3  # never referred to
    assert lru(block(1), NOW) < lru(block(19), NOW) < 0.3


def test_priority_weighs_five_signals() -> None:
    score = priority
    plain = score(block(20), NOW)
    assert plain == pytest.approx(0.30 * 1 + 0.25 * 0.5 + 0.20 * 0.3 + 0.15 * 0 + 0.10 * 0.5)
    used = score(block(20, metadata={"reference_count": 5}), NOW)
    assert used - plain == pytest.approx(0.15)
    assert score(block(20, metadata={"reference_count": 50}), NOW) == used
    assert score(block(20, do_not_evict=True), NOW) - plain == pytest.approx(0.05)
    assert score(block(20, priority_score=0.0), NOW) - plain == pytest.approx(-0.05)
    assert score(block(5), NOW) - plain == pytest.approx(-0.15)  # half of its recency in 15 turns


def test_source_scores_match_the_rules() -> None:
    found = {type_.value: score for type_, score in SOURCE.items()}
    assert (found["user_message"], found["tool_definition"], found["memory_injection"]) == (1.0, 0.9, 0.7)
    assert (found["assistant_response"], found["tool_result"], found["system_prompt"]) == (0.5, 0.3, 1.0)


def test_nearness_to_the_task_is_by_embeddings_or_by_words() -> None:
    score = priority
    near = ScoringInput(20, task_embedding=[1.0, 0.0])
    base = score(block(20), NOW) - 0.25 * 0.5
    assert score(block(20, embedding=[2.0, 0.0]), near) - base == pytest.approx(0.25)
    assert score(block(20, embedding=[-1.0, 0.0]), near) - base == pytest.approx(0.0)
    assert score(block(20, embedding=[1.0]), near) - base == pytest.approx(0.0)  # of another model
    words = ScoringInput(20, task=frozenset({"text", "axio"}))
    assert score(block(20), words) - base == pytest.approx(0.25 / 2)


def test_types_live_as_long_as_the_rules_say() -> None:
    score = type_based
    lives = {"tool_result": 8, "thinking": 2, "memory_injection": 20, "assistant_response": 30, "user_message": 50}
    for name, life in lives.items():
        type_ = ContentType(name)
        assert score(block(100 - life, type_), ScoringInput(100)) == 0.0
        assert score(block(100 - life // 2, type_), ScoringInput(100)) == pytest.approx(0.5)
        assert score(block(0, type_), ScoringInput(100)) == 0.0
    longer = ScoringInput(100, Scoring(type_ttl={"tool_result": 16}))
    assert score(block(92), longer) == 0.5
    assert score(block(99, ContentType.THINKING), longer) == 0.5  # laid over the defaults


def test_the_hybrid_has_the_five_weights_of_the_configuration() -> None:
    weights = HybridWeights()
    assert (weights.recency, weights.priority, weights.type_ttl) == (0.30, 0.25, 0.20)
    assert (weights.reference_freq, weights.semantic_duplication) == (0.15, 0.10)
    one = block(12, metadata={"reference_count": 2})
    situation = ScoringInput(20, similar={"b": Similar("c", 0.9, "word shingles")})
    expected = (
        0.30 * math.pow(0.5, 8 / 15) + 0.25 * priority(one, situation) + 0.20 * 0.0 + 0.15 * 2 / 5 + 0.10 * (1 - 0.9)
    )
    assert hybrid(one, situation) == pytest.approx(expected)


def test_recency_counts_from_the_last_reference() -> None:
    used, unused = block(5, last_referenced_turn=20), block(5)
    assert priority(used, NOW) == priority(block(20), NOW)
    for score in (priority, hybrid):
        assert score(used, NOW) > score(unused, NOW)


def test_hybrid_scores_a_block_lower_the_more_of_its_names_newer_blocks_have() -> None:
    scores = [hybrid(block(metadata={"newest_share": share}), NOW) for share in (0.0, 0.5, 1.0)]
    assert scores == sorted(set(scores))
    assert scores[2] - scores[0] == pytest.approx(0.10)
    assert hybrid(block(), NOW) == scores[2]  # unknown: nothing is subtracted


def test_nearly_repeated_block_scores_lowest() -> None:
    score = semantic_merge
    same = ScoringInput(20, similar={"b": Similar("c", 0.97, "embeddings")})
    alike = ScoringInput(20, similar={"b": Similar("c", 0.86, "embeddings")})
    at_threshold = ScoringInput(20, similar={"b": Similar("c", 0.85, "embeddings")})
    assert score(block(20), same) < score(block(20), alike) < score(block(0), at_threshold)


@pytest.mark.parametrize("policy", EvictionPolicy)
def test_scores_are_from_0_to_1(policy: EvictionPolicy) -> None:
    for turn in (0, 1, 20, 500):
        for type_ in ContentType:
            for last in (0, 3):
                one = block(turn, type_, last_referenced_turn=last, metadata={"reference_count": 9}, priority_score=1.0)
                assert 0.0 <= SCORES[policy](one, ScoringInput(20)) <= 1.0


def test_weights_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the values must sum to 1, but their sum is 0\.9: recency 0\.2"):
        HybridWeights(recency=0.2)
    with pytest.raises(ValueError, match="must sum to 1"):
        PriorityWeights(explicit=0.5)
    with pytest.raises(MemctlError, match="unknown types of content: tool_results"):
        Scoring(type_ttl={"tool_results": 8})
