"""How a context grew from one request to the next, out of a transcript of Claude Code.

It grows by the answer and by what was given to the model after it. Both are in the transcript, and the growth is what
the model reported.
"""

from __future__ import annotations

import msgspec

from memctl.tokens.messages import PER_TOOL_CALL, Part, PartReader
from memctl.transcript.line import Line


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


class GrowthReader:
    """Takes the lines of one transcript in their order."""

    def __init__(self) -> None:
        self._answer = self._model = ""
        self._context = 0
        self._parts = PartReader()

    def take(self, line: Line) -> Growth | None:
        """Return the growth that ends with a line, if one does. Sub-agents' lines are passed over."""
        if line.is_sidechain:
            return None
        if line.is_boundary or line.is_summary:
            self._answer = ""  # what the context was no longer counts
            return None
        growth = None
        if line.role == "assistant" and (line.answer != self._answer or not line.answer):
            if self._answer and line.context:
                growth = self._growth(line)
            self._answer, self._model, self._context = line.answer if line.context else "", line.model, line.context
            self._parts = PartReader()
        if line.role:
            self._parts.read(0, line.role, line.message.get("content"))
        return growth

    def _growth(self, line: Line) -> Growth:
        parts, fault = self._parts, ""
        if parts.uncounted:
            fault = f"has {', '.join(parts.uncounted)}, which no text stands for"
        elif line.model != self._model:
            fault = "the model was changed"
        return Growth(line.model, parts.parts, parts.tool_calls, line.context - self._context, fault)
