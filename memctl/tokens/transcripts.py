"""Transcripts of Claude Code, in which text and usage stand apart.

From one request to the next the context grows by the answer and by what was given to the model after it. Both are in
the transcript, and the growth is what the model reported. An answer has a line for each of its blocks, all with the
same id and the same usage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.tokens.messages import PER_TOOL_CALL, Part, Reader
from memctl.transcript.line import context_of


class Growth(msgspec.Struct, frozen=True):
    """What was added between two requests: its parts, the tokens it took, and why it is of no use, if so."""

    model: str
    parts: list[Part]
    tool_calls: int
    tokens: int
    fault: str

    @property
    def overhead(self) -> int:
        return PER_TOOL_CALL * self.tool_calls


class Transcript:
    """Reads the lines of one transcript, in their order."""

    def __init__(self) -> None:
        self._answer = ""  # the id of the last answer
        self._model = ""
        self._context = 0
        self._reader = Reader()

    def read(self, line: dict[str, Any]) -> Iterator[Growth]:
        """The growth that ends with this line, if one does. Sub-agents' lines and unknown ones are passed over."""
        if line.get("isSidechain"):
            return
        if line.get("subtype") == "compact_boundary" or line.get("isCompactSummary"):
            self._answer = ""  # what the context was no longer counts
            return
        message = line.get("message")
        if not isinstance(message, dict):
            return
        if line.get("type") == "user":
            self._reader.read(0, "user", message.get("content"))
        elif line.get("type") == "assistant" and message.get("model") != "<synthetic>":
            yield from self._read_answer(message)

    def _read_answer(self, message: dict[str, Any]) -> Iterator[Growth]:
        identifier, model = str(message.get("id") or ""), str(message.get("model") or "")
        if identifier != self._answer or not identifier:
            context = context_of(message.get("usage"))
            if self._answer and context:
                yield self._growth(model, context)
            self._answer, self._model, self._context = identifier if context else "", model, context
            self._reader = Reader()
        self._reader.read(0, "assistant", message.get("content"))

    def _growth(self, model: str, context: int) -> Growth:
        reader, fault = self._reader, ""
        if reader.uncounted:
            fault = f"has {', '.join(reader.uncounted)}, which no text stands for"
        elif model != self._model:
            fault = "the model was changed"
        return Growth(model, reader.parts, reader.tool_calls, context - self._context, fault)
