"""The results of compressions, of one text or of a conversation (rules.md#window-compression)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.window.eviction.engine import ChangedBlock
from memctl.window.steps import EVICTION

if TYPE_CHECKING:
    from memctl.window.messages.conversation import Conversation


class CompressionStrategy(Enum):
    """The five strategies by which content is made smaller.

    They are compaction, notes of the agent, summaries of tools' results, shortening by age, and sub-agents.
    """

    COMPACTION = "compaction"
    NOTE_TAKING = "note_taking"
    TOOL_RESULT = "tool_result_summarization"
    PROGRESSIVE = "progressive"
    SUB_AGENT = "sub_agent"


class CompressionResult(msgspec.Struct, frozen=True):
    """The result of one compression: tokens before and after, their ratio (before / after), and the shorter text.

    Some things must survive a compression, such as decisions, errors and paths; `fidelity_score` is the share of them
    (0 to 1) that the shorter text has, None if it was not measured. `llm_calls_used` is how often a model was asked;
    `llm_answers_used` and `llm_answers_refused` are how many of its answers were used and refused. `refused` is the
    reason if the compression was not made; then both numbers of tokens are equal, and the ratio is 1.

    `metadata` may have `blocks` (ids of the blocks changed), `lost` (things that must survive and would have been lost,
    so that the compression was refused), `provider` (why the model's text was not used) and `note` (a remark).
    """

    strategy: CompressionStrategy
    original_tokens: int
    compressed_tokens: int
    compression_ratio: float
    compressed_content: str
    fidelity_score: float | None = None
    llm_calls_used: int = 0
    llm_answers_used: int = 0
    llm_answers_refused: int = 0
    metadata: Mapping[str, Any] = {}
    refused: str = ""

    @property
    def saved(self) -> int:
        """The number of tokens that the compression freed."""
        return self.original_tokens - self.compressed_tokens


class Step(msgspec.Struct, frozen=True):
    """A step of the cascade that ran, with the conversation's tokens before and after it.

    `wanted` is the number of tokens that the step had to free. `refused` is the reason if the step changed nothing, and
    `note` a remark. `fidelity` is the share (0 to 1) of the things that must survive, such as decisions and paths, that
    did survive; None if it was not measured. `blocks` is the number of blocks changed, None for a compaction.
    `llm_calls` is how often a model was asked; `llm_used` and `llm_refused` are how many of its answers were used and
    refused. `changes` has each changed block. `policy` is the eviction policy that scored these blocks, "" for steps
    other than eviction.
    """

    name: str
    before: int
    after: int
    wanted: int
    refused: str = ""
    note: str = ""
    fidelity: float | None = None
    blocks: int | None = None
    llm_calls: int = 0
    llm_used: int = 0
    llm_refused: int = 0
    policy: str = ""
    changes: tuple[ChangedBlock, ...] = ()


class Cascade(msgspec.Struct, frozen=True):
    """A conversation after the cascade made it smaller, with the size that was aimed at and the steps that ran.

    `target` is that size, in tokens. `answer` is the summary of a sub-agent that was added after the last message, ""
    if there is none.
    """

    conversation: Conversation
    target: int
    steps: tuple[Step, ...] = ()
    answer: str = ""

    @property
    def tokens(self) -> int:
        """The number of tokens that the conversation has now."""
        return self.conversation.tokens

    @property
    def is_reached(self) -> bool:
        """Whether the conversation is small enough: it has at most `target` tokens."""
        return self.tokens <= self.target

    @property
    def is_compacted(self) -> bool:
        """Whether one of the steps was a compaction, which replaces the beginning by a digest."""
        return any(step.name == CompressionStrategy.COMPACTION.value for step in self.steps)

    @property
    def evicted(self) -> int:
        """The number of blocks (pieces of the conversation) that were evicted."""
        return sum(step.blocks or 0 for step in self.steps if step.name == EVICTION)


class CompressionStep(msgspec.Struct, frozen=True):
    """The conversation as one compression left it, and the result of this compression."""

    conversation: Conversation
    result: CompressionResult


def result_of(strategy: CompressionStrategy, before: int, after: int, content: str, **more: Any) -> CompressionResult:
    """Return the result of a compression from `before` tokens to `after` tokens, with their ratio and the shorter text.

    `content` is the shorter text, and `more` are further fields of CompressionResult, by name.
    """
    return CompressionResult(strategy, before, after, round(before / max(after, 1), 2), content, **more)


def refusal(strategy: CompressionStrategy, tokens: int, why: str, content: str = "", **more: Any) -> CompressionResult:
    """Return the result of a compression that was not made: the reason `why`, and the unchanged size and text.

    `tokens` is this size, `content` this text, and `more` are further fields of CompressionResult, by name.
    """
    return CompressionResult(strategy, tokens, tokens, 1.0, content, refused=why, **more)


def step_of(compressed: CompressionStep, wanted: int, before: Conversation, **other: Any) -> Step:
    """Return the step of the cascade that made a compression of the conversation `before`.

    `wanted` is the number of tokens that the compression was to free. The step has the tokens of each changed block
    before and after it; a block that a compaction replaced has 0 tokens afterwards. `other` are fields of Step by name,
    which replace those made from the result.
    """
    made, after = compressed.result, compressed.conversation
    names, is_compaction = set(made.metadata.get("blocks", ())), made.strategy is CompressionStrategy.COMPACTION
    left = {} if is_compaction else {block.block_id: block.token_count for block in after.blocks}
    changed = (block for block in before.blocks if block.block_id in names)
    changes = [ChangedBlock.of(block, left.get(block.block_id, 0)) for block in changed]
    fields: dict[str, Any] = {
        "name": made.strategy.value,
        "note": ", ".join(str(made.metadata[key]) for key in ("provider", "note") if key in made.metadata),
        "blocks": None if is_compaction else len(names),
    }
    return Step(
        before=made.original_tokens, after=made.compressed_tokens, wanted=wanted, refused=made.refused,
        fidelity=made.fidelity_score, llm_calls=made.llm_calls_used, llm_used=made.llm_answers_used,
        llm_refused=made.llm_answers_refused, changes=tuple(changes), **{**fields, **other},
    )  # fmt: skip
