"""The strategies and steps of compression by their names, with the numbers that their options have for defaults.

Plain, so that the help of a command can afford to import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# The steps that free tokens, by the names that settings have for them, in the order of what they cost.
RESULTS, EVICTION, PROGRESSIVE, COMPACTION, SUB_AGENT = (
    "tool_result_summarization", "eviction", "progressive", "conversation_compaction", "sub_agent",
)  # fmt: skip
ALL = (RESULTS, EVICTION, PROGRESSIVE, COMPACTION)
# What a conversation can be made smaller by: one step alone, or all.
CASCADE = "cascade"
STRATEGIES = {"results": (RESULTS,), "progressive": (PROGRESSIVE,), "compaction": (COMPACTION,), CASCADE: ALL}
COMPACTION_FROM = 0.85  # of the window; rules.md#window-compression
KEPT_TURNS = 5  # what is younger is still at work; rules.md#window-compression

Step = Literal["tool_result_summarization", "progressive", "conversation_compaction", "sub_agent"]

# From which utilisation on a step of the cascade is made; rules.md#window-compression.
STEPS: dict[float, Step] = {
    0.75: "tool_result_summarization",
    0.85: "progressive",
    0.92: "conversation_compaction",
    0.95: "sub_agent",
}


def called_for(utilization: float, steps: Mapping[float, str], compaction_from: float = COMPACTION_FROM) -> list[str]:
    """The steps that a utilisation calls for, the cheapest first; a compaction not below a utilisation of its own."""
    found = [steps[least] for least in sorted(steps) if least <= utilization]
    return [step for step in found if step != COMPACTION or utilization >= compaction_from]
