"""Scores of how worth keeping a block is, one function for each eviction policy: 0 goes first, 1 stays.

The numbers are from rules.md#window-eviction. After a half-life, in turns, one half of a score is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Annotated, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.similar import cosine, terms
from memctl.window.eviction.similarity import THRESHOLD, Similar
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.steps import EvictionPolicy

Turns = Annotated[float, msgspec.Meta(gt=0)]
Lifetime = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_EXACT = 1e-6  # to which a sum of fractions is 1
# What a source is worth. That of thinking is ours: it lives shortest of all.
SOURCE = {
    ContentType.USER_MESSAGE: 1.0,
    ContentType.SYSTEM_PROMPT: 1.0,
    ContentType.TOOL_DEFINITION: 0.9,
    ContentType.MEMORY_INJECTION: 0.7,
    ContentType.ASSISTANT_RESPONSE: 0.5,
    ContentType.TOOL_RESULT: 0.3,
    ContentType.THINKING: 0.1,
}


def check_sum(shares: msgspec.Struct) -> None:
    """Raise ValueError unless the fields of `shares` sum to 1."""
    values = msgspec.structs.asdict(shares)
    total = sum(values.values())
    if not math.isclose(total, 1.0, abs_tol=_EXACT):
        listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
        raise ValueError(f"these sum to {total:g} and must sum to 1: {listed}")


class HybridWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weight of each signal in the hybrid policy; they sum to 1."""

    recency: Share = 0.30
    priority: Share = 0.25
    type_ttl: Share = 0.20
    reference_freq: Share = 0.15
    semantic_duplication: Share = 0.10

    def __post_init__(self) -> None:
        check_sum(self)


class PriorityWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weight of each signal in the priority policy; they sum to 1."""

    recency: Share = 0.30
    semantic: Share = 0.25
    source: Share = 0.20
    reuse: Share = 0.15
    explicit: Share = 0.10

    def __post_init__(self) -> None:
        check_sum(self)


class TypeTtl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The turns after which a block of each type may go."""

    system_prompt: Lifetime = 50
    tool_definition: Lifetime = 50
    user_message: Lifetime = 50
    assistant_response: Lifetime = 30
    thinking: Lifetime = 2
    tool_result: Lifetime = 8
    memory_injection: Lifetime = 20


_TTL = msgspec.structs.asdict(TypeTtl())


class Scoring(msgspec.Struct, frozen=True):
    """The numbers behind the scores; half-lives and lives are in turns.

    `type_ttl` replaces lives in TypeTtl, by the type's name. `full_reuse` is the number of referring turns from which
    on a block has the full score for reuse.
    """

    hybrid_weights: HybridWeights = HybridWeights()
    priority_weights: PriorityWeights = PriorityWeights()
    type_ttl: Mapping[str, Turns] = {}
    fifo_half_life: Turns = 10
    lru_half_life: Turns = 5
    lru_cold_start: Share = 0.3
    recency_half_life: Turns = 15
    full_reuse: Annotated[int, msgspec.Meta(ge=1)] = 5
    similarity_threshold: Share = THRESHOLD

    def __post_init__(self) -> None:
        if wrong := sorted(set(self.type_ttl) - set(_TTL)):
            raise MemctlError(f"type_ttl: there is no type of content {', '.join(wrong)}")

    def life(self, type_: ContentType) -> float:
        """Return the turns that a block of a type lives."""
        return self.type_ttl.get(type_.value, _TTL[type_.value])


class ScoringInput(msgspec.Struct, frozen=True):
    """What a score depends on beside the block.

    `task` are the words of the task, and `terms` returns those of a text. `similar` has the newer block that each block
    is like, by the id of the older.
    """

    current_turn: int
    numbers: Scoring = Scoring()
    task: frozenset[str] = frozenset()
    task_embedding: list[float] | None = None
    similar: Mapping[str, Similar] = {}
    terms: Callable[[str], Set[str]] = terms

    def left(self, since: int, half_life: float) -> float:
        """Return the share of 1 that is left since a turn, by a half-life in turns."""
        return math.pow(0.5, max(0, self.current_turn - since) / half_life)

    def duplication(self, block: ContentBlock) -> float:
        """Return how similar a newer block is to this one (0 to 1)."""
        found = self.similar.get(block.block_id)
        return found.share if found else 0.0


class EvictionScorer(Protocol):
    """A scorer of the host's own, in the place of a policy."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        """Return how worth keeping a block is, from 0 (evict first) to 1 (keep)."""


def fifo(block: ContentBlock, situation: ScoringInput) -> float:
    """Score by age: the oldest go first."""
    return situation.left(block.turn_created, situation.numbers.fifo_half_life)


def lru(block: ContentBlock, situation: ScoringInput) -> float:
    """Score by the turn that last referred to the block; of blocks without references the oldest go first."""
    numbers = situation.numbers
    if block.last_referenced_turn == 0:
        return numbers.lru_cold_start * situation.left(block.turn_created, numbers.lru_half_life)
    return situation.left(block.last_referenced_turn, numbers.lru_half_life)


def priority(block: ContentBlock, situation: ScoringInput) -> float:
    """Score by five weighted signals: recency, nearness to the task, the type, references, and the host's mark.

    The mark is 1 for `do_not_evict`, and else the block's `priority_score`.
    """
    weights = situation.numbers.priority_weights
    return (
        weights.recency * _recency(block, situation)
        + weights.semantic * _nearness(block, situation)
        + weights.source * SOURCE[block.content_type]
        + weights.reuse * _reuse(block, situation)
        + weights.explicit * (1.0 if block.do_not_evict else block.priority_score)
    )


def type_based(block: ContentBlock, situation: ScoringInput) -> float:
    """Score by the share of its life that is left; 0 for a block that has outlived its type."""
    age = max(0, situation.current_turn - block.turn_created)
    return max(0.0, 1.0 - age / situation.numbers.life(block.content_type))


def semantic_merge(block: ContentBlock, situation: ScoringInput) -> float:
    """Score blocks that a newer one nearly repeats lowest, the most similar first, and all others by priority."""
    threshold = situation.numbers.similarity_threshold
    share = situation.duplication(block)
    return 1.0 - share if share > threshold else (1.0 - threshold) + threshold * priority(block, situation)


def hybrid(block: ContentBlock, situation: ScoringInput) -> float:
    """Score by five weighted signals, priority among them."""
    weights = situation.numbers.hybrid_weights
    return (
        weights.recency * _recency(block, situation)
        + weights.priority * priority(block, situation)
        + weights.type_ttl * type_based(block, situation)
        + weights.reference_freq * _reuse(block, situation)
        + weights.semantic_duplication * (1.0 - situation.duplication(block))
    )


SCORES: Mapping[EvictionPolicy, Callable[[ContentBlock, ScoringInput], float]] = {
    EvictionPolicy.FIFO: fifo,
    EvictionPolicy.LRU: lru,
    EvictionPolicy.PRIORITY: priority,
    EvictionPolicy.SEMANTIC_MERGE: semantic_merge,
    EvictionPolicy.TYPE_BASED: type_based,
    EvictionPolicy.HYBRID: hybrid,
}


def _recency(block: ContentBlock, situation: ScoringInput) -> float:
    return situation.left(block.turn_created, situation.numbers.recency_half_life)


def _reuse(block: ContentBlock, situation: ScoringInput) -> float:
    return min(float(block.metadata.get("reference_count", 0)) / situation.numbers.full_reuse, 1.0)


def _nearness(block: ContentBlock, situation: ScoringInput) -> float:
    """Return the cosine of embeddings where the host gave both, else the share of the task's words; 0.5
    without a task."""
    if block.embedding and situation.task_embedding:
        return max(0.0, cosine(block.embedding, situation.task_embedding))
    if not situation.task:
        return 0.5
    return len(situation.terms(block.content) & situation.task) / len(situation.task)
