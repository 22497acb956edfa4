"""Scores that say how worth keeping a block is: 0 is evicted first, 1 stays. Each eviction policy has a function.

The numbers are from rules.md#window-eviction. Scores that fall with age have a half-life, a number of turns after which
half of the score remains.
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
    """A base class for structures whose fields are fractions of a whole; raises ValueError unless they sum to 1."""

    def __post_init__(self) -> None:
        values = msgspec.structs.asdict(self)
        total = sum(values.values())
        if not math.isclose(total, 1.0, abs_tol=_EXACT):
            listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
            raise ValueError(f"the values must sum to 1, but their sum is {total:g}: {listed}")


class HybridWeights(Fractions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much each of five signals counts in the score of the policy `hybrid`; the weights sum to 1.

    - `recency`: how recent the block is, or the last reference to it.
    - `priority`: the score of the policy `priority`.
    - `type_ttl`: how much of the block's life remains.
    - `reference_freq`: how many turns refer to the block.
    - `semantic_duplication`: how little newer blocks repeat of the block.
    """

    recency: Share = 0.30
    priority: Share = 0.25
    type_ttl: Share = 0.20
    reference_freq: Share = 0.15
    semantic_duplication: Share = 0.10


class PriorityWeights(Fractions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much each of five signals counts in the score of the policy `priority`; the weights sum to 1.

    - `recency`: how recent the block is, or the last reference to it.
    - `semantic`: how near the block's content is to the task.
    - `source`: the type of content.
    - `reuse`: how many turns refer to the block.
    - `explicit`: how much the host wants to keep the block, by its `do_not_evict` and `priority_score`.
    """

    recency: Share = 0.30
    semantic: Share = 0.25
    source: Share = 0.20
    reuse: Share = 0.15
    explicit: Share = 0.10


class TypeTtl(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The life of a block of each type of content: the number of turns after which the block may be evicted."""

    system_prompt: Lifetime = 50
    tool_definition: Lifetime = 50
    user_message: Lifetime = 50
    assistant_response: Lifetime = 30
    thinking: Lifetime = 2
    tool_result: Lifetime = 8
    memory_injection: Lifetime = 20


_TTL = msgspec.structs.asdict(TypeTtl())


class Scoring(msgspec.Struct, frozen=True):
    """The settings of the scores of all policies; lives and half-lives are in turns.

    `type_ttl` maps the name of a type of content, such as "tool_result", to the life of its blocks, if it differs from
    the default in TypeTtl. After a half-life half of a score remains: `fifo_half_life` and `lru_half_life` are for the
    policies of these names, and `recency_half_life` is for the recency in other policies. In the policy `lru` a block
    without references scores at most `lru_cold_start`. In `priority` and `hybrid` a block scores more the more turns
    refer to it, but no more from `full_reuse` turns on. A block counts as repeated if a newer block is more similar to
    it than `similarity_threshold` (0 to 1).
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
            raise MemctlError(
                f"type_ttl names unknown types of content: {', '.join(wrong)}", f"the types are {', '.join(_TTL)}"
            )

    def life(self, type_: ContentType) -> float:
        """Return the life of a block of the type `type_`: the number of turns after which it may be evicted."""
        return self.type_ttl.get(type_.value, _TTL[type_.value])


class ScoringInput(msgspec.Struct, frozen=True):
    """What a block's score depends on, apart from the block itself.

    `current_turn` is the number of the next request, and `numbers` are the settings. `task` has the words of the task,
    and `task_embedding` is its vector, None if there is none. `terms` is a function that returns the words of a text.
    `similar` maps the id of a block to the most similar newer block.
    """

    current_turn: int
    numbers: Scoring = Scoring()
    task: frozenset[str] = frozenset()
    task_embedding: list[float] | None = None
    similar: Mapping[str, Similar] = {}
    terms: Callable[[str], Set[str]] = terms

    def left(self, since: int, half_life: float) -> float:
        """Return the fraction of a score that remains after it halved every `half_life` turns since turn `since`."""
        return math.pow(0.5, max(0, self.current_turn - since) / half_life)

    def duplication(self, block: ContentBlock) -> float:
        """Return how similar the most similar newer block is to `block` (0 to 1); 0 if no newer block is similar."""
        match = self.similar.get(block.block_id)
        return match.share if match else 0.0


class EvictionScorer(Protocol):
    """A host's own way to score blocks (pieces of a conversation), used instead of an eviction policy."""

    def score(self, block: ContentBlock, situation: ScoringInput) -> float:
        """Return how worth keeping a block is, from 0 (evict first) to 1 (keep).

        `situation` has what the score may depend on apart from the block, such as the present turn and the task.
        """


def fifo(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block of the window by its age alone: the oldest block has the lowest score."""
    return situation.left(block.turn_created, situation.numbers.fifo_half_life)


def lru(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block of the window by how long ago it was last referred to: the longer ago, the lower.

    If no turn referred to the block, its own turn counts instead, and it scores at most `lru_cold_start`, by default
    0.3.
    """
    numbers = situation.numbers
    if block.last_referenced_turn == 0:
        return numbers.lru_cold_start * situation.left(block.turn_created, numbers.lru_half_life)
    return situation.left(block.last_referenced_turn, numbers.lru_half_life)


def priority(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block of the window by five weighted signals.

    The signals are recency, nearness to the task, the type of content, how many turns refer to the block, and the
    host's wish. The wish is 1 for a block with `do_not_evict`, else the block's `priority_score`.
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
    """Score a block of the window by the fraction of its life that remains; 0 if it is older than its life.

    The life of a block depends on its type of content, such as 8 turns for a tool's result.
    """
    age = max(0, situation.current_turn - block.turn_created)
    return max(0.0, 1.0 - age / situation.numbers.life(block.content_type))


def semantic_merge(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block of the window low if a newer block nearly repeats it, and by the policy `priority` otherwise.

    The score of a repeated block is 1 minus its similarity to the newer block. It is lower than the score of any block
    that is not repeated.
    """
    threshold = situation.numbers.similarity_threshold
    share = situation.duplication(block)
    return 1.0 - share if share > threshold else (1.0 - threshold) + threshold * priority(block, situation)


def hybrid(block: ContentBlock, situation: ScoringInput) -> float:
    """Score a block of the window by five weighted signals.

    The signals are recency, the score of the policy `priority`, the remaining life of the block, how many turns refer
    to it, and its novelty. The novelty is lower the more similar a newer block is, or the more of the names in the
    block are in newer blocks, too.
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
