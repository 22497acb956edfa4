"""Scores of how worth keeping a block is, one function for each eviction policy: 0 goes first, 1 stays.

The numbers are from rules.md#window-eviction. After a half-life, in turns, one half of a score is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from typing import Annotated, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.similarity import cosine, terms
from memctl.window.eviction.references import THRESHOLD, Similar
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


class Fractions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fractions of a whole, one in each field; raises ValueError unless they sum to 1."""

    def __post_init__(self) -> None:
        values = msgspec.structs.asdict(self)
        total = sum(values.values())
        if not math.isclose(total, 1.0, abs_tol=_EXACT):
            listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
            raise ValueError(f"the values must sum to 1, but their sum is {total:g}: {listed}")


class HybridWeights(Fractions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weight of each signal in the hybrid policy."""

    recency: Share = 0.30
    priority: Share = 0.25
    type_ttl: Share = 0.20
    reference_freq: Share = 0.15
    semantic_duplication: Share = 0.10


class PriorityWeights(Fractions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The weight of each signal in the priority policy."""

    recency: Share = 0.30
    semantic: Share = 0.25
    source: Share = 0.20
    reuse: Share = 0.15
    explicit: Share = 0.10


class TypeTtl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The number of turns after which a block may be evicted, for each type of content."""

    system_prompt: Lifetime = 50
    tool_definition: Lifetime = 50
    user_message: Lifetime = 50
    assistant_response: Lifetime = 30
    thinking: Lifetime = 2
    tool_result: Lifetime = 8
    memory_injection: Lifetime = 20


_TTL = msgspec.structs.asdict(TypeTtl())


class Scoring(msgspec.Struct, frozen=True):
    """The settings of the scores; half-lives and lives are in turns.

    `type_ttl` has the life of a type of content, by its name, if it differs from the life in TypeTtl. Scores of the
    policies `fifo` and `lru` have the half-lives `fifo_half_life` and `lru_half_life`, and the signal recency of other
    policies has `recency_half_life`. In `lru` a block without references scores at most `lru_cold_start`. A block to
    which at least `full_reuse` turns refer has the full score for reuse. A block that is more similar than
    `similarity_threshold` to a newer block counts as repeated.
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
            raise MemctlError(f"type_ttl: these are no types of content: {', '.join(wrong)}")

    def life(self, type_: ContentType) -> float:
        """Return the life of a block of some type in turns, after which it may be evicted."""
        return self.type_ttl.get(type_.value, _TTL[type_.value])


class ScoringInput(msgspec.Struct, frozen=True):
    """What the score of a block depends on beside the block.

    `current_turn` is the number of the next request, and `numbers` are the settings. `task` are the words of the task,
    `task_embedding` is its vector, and `terms` returns the words of a text. `similar` maps the id of a block to the
    newer block that it is like.
    """

    current_turn: int
    numbers: Scoring = Scoring()
    task: frozenset[str] = frozenset()
    task_embedding: list[float] | None = None
    similar: Mapping[str, Similar] = {}
    terms: Callable[[str], Set[str]] = terms

    def left(self, since: int, half_life: float) -> float:
        """Return the fraction of a score that is left since turn `since`: 1.0 at first, 0.5 after `half_life` turns."""
        return math.pow(0.5, max(0, self.current_turn - since) / half_life)

    def duplication(self, block: ContentBlock) -> float:
        """Return how similar the most similar newer block is to `block` (0 to 1); 0 without one."""
        found = self.similar.get(block.block_id)
        return found.share if found else 0.0


class EvictionScorer(Protocol):
    """A host's own way to score blocks, used instead of an eviction policy."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        """Return how worth keeping a block is, from 0 (evict first) to 1 (keep)."""


def fifo(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block by its age: the oldest block has the lowest score."""
    return situation.left(block.turn_created, situation.numbers.fifo_half_life)


def lru(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block by the turn that last referred to it, or by its own turn if none did.

    A block without references scores at most 0.3 by default (`lru_cold_start`).
    """
    numbers = situation.numbers
    if block.last_referenced_turn == 0:
        return numbers.lru_cold_start * situation.left(block.turn_created, numbers.lru_half_life)
    return situation.left(block.last_referenced_turn, numbers.lru_half_life)


def priority(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block by five weighted signals: recency, nearness to the task, its type, references, and the host's mark.

    The mark is 1 for a block with `do_not_evict`, else the block's `priority_score`.
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
    """Score a block by the fraction of its type's life that is left; 0 for a block that is older than this life."""
    age = max(0, situation.current_turn - block.turn_created)
    return max(0.0, 1.0 - age / situation.numbers.life(block.content_type))


def semantic_merge(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block that a newer block nearly repeats by 1 minus their similarity, and other blocks by priority.

    A repeated block always has a lower score than any other.
    """
    threshold = situation.numbers.similarity_threshold
    share = situation.duplication(block)
    return 1.0 - share if share > threshold else (1.0 - threshold) + threshold * priority(block, situation)


def hybrid(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block by five weighted signals: recency, priority, the life of its type, references, and duplication.

    Duplication lowers the score of a block as far as a newer block is similar to it, or newer blocks have its names.
    """
    weights = situation.numbers.hybrid_weights
    return (
        weights.recency * _recency(block, situation)
        + weights.priority * priority(block, situation)
        + weights.type_ttl * type_based(block, situation)
        + weights.reference_freq * _reuse(block, situation)
        + weights.semantic_duplication * _novelty(block, situation)
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
    """Return the recency of the last use of a block, which is a reference to it, or else its own turn."""
    last = max(block.turn_created, block.last_referenced_turn)
    return situation.left(last, situation.numbers.recency_half_life)


def _novelty(block: ContentBlock, situation: ScoringInput) -> float:
    """Return how little newer blocks repeat of a block (0 to 1), by their likeness and by the names that they have."""
    likeness = 1.0 - situation.duplication(block)
    return min(likeness, float(block.metadata.get("newest_share", likeness)))


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
