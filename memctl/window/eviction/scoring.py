"""How much a block is worth keeping, by each policy: 0 goes first, 1 stays.

Where the numbers come from: rules.md#window-eviction. A half-life is one: after so many turns half is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Annotated, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.similar import cosine, terms
from memctl.window.eviction.policies import EvictionPolicy
from memctl.window.eviction.similarity import THRESHOLD, Similar
from memctl.window.eviction.weights import HybridWeights, PriorityWeights, Share
from memctl.window.messages.content import ContentBlock, ContentType

Turns = Annotated[float, msgspec.Meta(gt=0)]


# What a source is worth; rules.md#window-eviction. That of thinking is ours: it lives shortest of all.
SOURCE = {
    ContentType.USER_MESSAGE: 1.0,
    ContentType.SYSTEM_PROMPT: 1.0,
    ContentType.TOOL_DEFINITION: 0.9,
    ContentType.MEMORY_INJECTION: 0.7,
    ContentType.ASSISTANT_RESPONSE: 0.5,
    ContentType.TOOL_RESULT: 0.3,
    ContentType.THINKING: 0.1,
}
# Turns that a block of a type lives; rules.md#window-eviction.
TYPE_TTL = {"tool_result": 8, "thinking": 2, "memory_injection": 20, "assistant_response": 30}


class Scoring(msgspec.Struct, frozen=True):
    """The numbers behind the scores. Half-lives and lives are in turns; `type_ttl` is laid over TYPE_TTL, and what has
    none there lives `default_ttl`. `full_reuse` is how many turns have to refer to a block for it to count as used all
    the time.
    """

    hybrid_weights: HybridWeights = HybridWeights()
    priority_weights: PriorityWeights = PriorityWeights()
    type_ttl: Mapping[str, Turns] = {}
    default_ttl: Turns = 50
    fifo_half_life: Turns = 10
    lru_half_life: Turns = 5
    lru_cold_start: Share = 0.3
    recency_half_life: Turns = 15
    full_reuse: Annotated[int, msgspec.Meta(ge=1)] = 5
    similarity_threshold: Share = THRESHOLD

    def __post_init__(self) -> None:
        if wrong := sorted(set(self.type_ttl) - {type_.value for type_ in ContentType}):
            raise MemctlError(f"type_ttl: there is no type of content {', '.join(wrong)}")

    def life(self, type_: ContentType) -> float:
        """The turns that a block of a type lives."""
        return self.type_ttl.get(type_.value, TYPE_TTL.get(type_.value, self.default_ttl))


class ScoringInput(msgspec.Struct, frozen=True):
    """What a score depends on beside its block: the turn, what the task is, which newer block is like which, and
    how the words of a text are found.
    """

    current_turn: int
    numbers: Scoring = Scoring()
    task: frozenset[str] = frozenset()
    task_embedding: list[float] | None = None
    similar: Mapping[str, Similar] = {}
    terms: Callable[[str], Set[str]] = terms

    @classmethod
    def of_task(cls, current_turn: int, task: str) -> ScoringInput:
        """A situation that knows the task by its words."""
        return cls(current_turn, task=frozenset(terms(task)))


class EvictionScorer(Protocol):
    """What says how much a block is worth: the place where another policy is plugged in."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        """From 0 (evict first) to 1 (keep)."""


class FIFOScorer:
    """The oldest go first."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        return _left(situation.current_turn - block.turn_created, situation.numbers.fifo_half_life)


class LRUScorer:
    """What nothing has referred to for longest goes first; what was never referred to is under moderate suspicion, and
    of that the oldest goes first.

    A block's score falls with every turn in which nothing refers to it.
    """

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        numbers = situation.numbers
        if block.last_referenced_turn == 0:
            return numbers.lru_cold_start * _left(situation.current_turn - block.turn_created, numbers.lru_half_life)
        return _left(situation.current_turn - block.last_referenced_turn, numbers.lru_half_life)


class PriorityScorer:
    """Five signals weighed: recency, nearness to the task, the type, how often it is referred to, and marks.

    Nearness is the cosine of the embeddings where the host gave both; else the share of the task's words in the block;
    without a task it is 0.5. A mark is `do_not_evict`; without one the host's `priority_score` stands.
    """

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        weights = situation.numbers.priority_weights
        return (
            weights.recency * _recency(block, situation)
            + weights.semantic * _nearness(block, situation)
            + weights.source * SOURCE[block.content_type]
            + weights.reuse * _reuse(block, situation)
            + weights.explicit * (1.0 if block.do_not_evict else block.priority_score)
        )


class TypeBasedScorer:
    """What has outlived the life of its type has no worth; the rest loses it evenly."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        age = max(0, situation.current_turn - block.turn_created)
        return max(0.0, 1.0 - age / situation.numbers.life(block.content_type))


class SemanticMergeScorer:
    """What a newer block nearly repeats goes first, the most alike before the rest; then by priority.

    Likeness alone leaves most blocks without a score, hence the second step.
    """

    def __init__(self) -> None:
        self._priority = PriorityScorer()

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        threshold = situation.numbers.similarity_threshold
        share = _duplication(block, situation)
        if share > threshold:
            return 1.0 - share
        return (1.0 - threshold) + threshold * self._priority.score(block, situation)


class HybridScorer:
    """Five signals, weighed (rules.md#window-eviction)."""

    def __init__(self) -> None:
        self._priority, self._type = PriorityScorer(), TypeBasedScorer()

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        weights = situation.numbers.hybrid_weights
        return (
            weights.recency * _recency(block, situation)
            + weights.priority * self._priority.score(block, situation)
            + weights.type_ttl * self._type.score(block, situation)
            + weights.reference_freq * _reuse(block, situation)
            + weights.semantic_duplication * (1.0 - _duplication(block, situation))
        )


SCORERS: Mapping[EvictionPolicy, type[EvictionScorer]] = {
    EvictionPolicy.FIFO: FIFOScorer,
    EvictionPolicy.LRU: LRUScorer,
    EvictionPolicy.PRIORITY: PriorityScorer,
    EvictionPolicy.SEMANTIC_MERGE: SemanticMergeScorer,
    EvictionPolicy.TYPE_BASED: TypeBasedScorer,
    EvictionPolicy.HYBRID: HybridScorer,
}


def _left(turns: int, half_life: float) -> float:
    return math.pow(0.5, max(0, turns) / half_life)


def _recency(block: ContentBlock, situation: ScoringInput) -> float:
    return _left(situation.current_turn - block.turn_created, situation.numbers.recency_half_life)


def _reuse(block: ContentBlock, situation: ScoringInput) -> float:
    return min(float(block.metadata.get("reference_count", 0)) / situation.numbers.full_reuse, 1.0)


def _nearness(block: ContentBlock, situation: ScoringInput) -> float:
    if block.embedding and situation.task_embedding:
        return max(0.0, cosine(block.embedding, situation.task_embedding))
    if not situation.task:
        return 0.5
    return len(situation.terms(block.content) & situation.task) / len(situation.task)


def _duplication(block: ContentBlock, situation: ScoringInput) -> float:
    found = situation.similar.get(block.block_id)
    return found.share if found else 0.0
