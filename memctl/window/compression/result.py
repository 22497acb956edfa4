"""What a compression came to, and the names of the strategies (rules.md#window-compression)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from memctl.window.messages.conversation import Conversation
from memctl.window.results.key_line import LEAST_GAIN as LEAST_GAIN


class CompressionStrategy(Enum):
    """The five strategies."""

    COMPACTION = "compaction"
    NOTE_TAKING = "note_taking"
    TOOL_RESULT = "tool_result_summarization"
    PROGRESSIVE = "progressive"
    SUB_AGENT = "sub_agent"


class CompressionResult(msgspec.Struct, frozen=True):
    """One compression: tokens before and after, their ratio (before / after), the text that came of it.

    `fidelity_score` is the share of what must survive that did (0 to 1), None where nothing had to. `llm_calls_used` is
    how often a model was asked, the next two how many of the texts that it gave were used and refused. A compression
    that was `refused` changed nothing: the reason stands there, tokens are equal, and the ratio is 1.
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
        """The tokens that it freed."""
        return self.original_tokens - self.compressed_tokens


class CompressionStep(msgspec.Struct, frozen=True):
    """A conversation after a compression of it, and what the compression came to."""

    conversation: Conversation
    result: CompressionResult


def result_of(strategy: CompressionStrategy, before: int, after: int, content: str, **more: Any) -> CompressionResult:
    """A result with its ratio."""
    return CompressionResult(strategy, before, after, round(before / max(after, 1), 2), content, **more)


def refusal(strategy: CompressionStrategy, tokens: int, why: str, content: str = "", **more: Any) -> CompressionResult:
    """A compression that was not made."""
    return CompressionResult(strategy, tokens, tokens, 1.0, content, refused=why, **more)
