"""The steps of compression by their names: plain text, which whoever only names them can afford to import."""

from __future__ import annotations

from typing import Literal

CascadeStep = Literal["tool_result_summarization", "progressive", "conversation_compaction", "sub_agent"]

# From which utilisation on each step is made (S4, `compression.cascade`).
CASCADE: dict[float, CascadeStep] = {
    0.75: "tool_result_summarization",
    0.85: "progressive",
    0.92: "conversation_compaction",
    0.95: "sub_agent",
}
