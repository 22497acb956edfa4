"""The policies of eviction by their names: plain, so that the help of a command can afford to import it."""

from __future__ import annotations

from enum import Enum


class EvictionPolicy(Enum):
    """The six policies (rules.md#window-eviction)."""

    FIFO = "fifo"
    LRU = "lru"
    PRIORITY = "priority"
    SEMANTIC_MERGE = "semantic_merge"
    TYPE_BASED = "type_based"
    HYBRID = "hybrid"


POLICIES = tuple(policy.value for policy in EvictionPolicy)
