"""The names of the cascade's steps and of the eviction policies, as settings and options have them.

Commands import this module for their help texts, so for speed it imports no other module of `window/`. The numbers are
from rules.md#window-compression.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

# The steps that free tokens, in the order of what they cost.
RESULTS, EVICTION, PROGRESSIVE, COMPACTION, SUB_AGENT = (
    "tool_result_summarization", "eviction", "progressive", "conversation_compaction", "sub_agent",
)  # fmt: skip
ALL = (RESULTS, EVICTION, PROGRESSIVE, COMPACTION)
# What a conversation can be made smaller by: one step alone, or all.
CASCADE = "cascade"
STRATEGIES = {"results": (RESULTS,), "progressive": (PROGRESSIVE,), "compaction": (COMPACTION,), CASCADE: ALL}
COMPACTION_FROM = 0.85  # of the window
KEPT_TURNS = 5  # what is younger is still at work
LARGE = 500  # tokens: above them a result is worth summing up
LEAST_GAIN = 0.10  # of the tokens: a compression that saves less loses more than it gains
StepName = Literal["tool_result_summarization", "progressive", "conversation_compaction", "sub_agent"]
# From which utilisation on a step of the cascade is made.
STEPS: dict[float, StepName] = {
    0.75: "tool_result_summarization",
    0.85: "progressive",
    0.92: "conversation_compaction",
    0.95: "sub_agent",
}


class EvictionPolicy(Enum):
    """The six policies by which blocks are chosen for eviction (rules.md#window-eviction)."""

    FIFO = "fifo"
    LRU = "lru"
    PRIORITY = "priority"
    SEMANTIC_MERGE = "semantic_merge"
    TYPE_BASED = "type_based"
    HYBRID = "hybrid"


POLICIES = tuple(policy.value for policy in EvictionPolicy)


def steps_at(utilization: float, steps: Mapping[float, str], compaction_from: float = COMPACTION_FROM) -> list[str]:
    """Return the names of the steps that may run at a utilisation of the window (0 to 1), the cheapest first.

    `steps` has the names of steps by the utilisation from which each may run. A compaction also needs a utilisation of
    at least `compaction_from`. For example, with the default steps, 0.86 allows `tool_result_summarization` and
    `progressive`.
    """
    names = [steps[least] for least in sorted(steps) if least <= utilization]
    return [step for step in names if step != COMPACTION or utilization >= compaction_from]
