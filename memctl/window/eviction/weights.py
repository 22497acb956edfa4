"""Weights of the policies that weigh several signals; those of one policy sum to 1."""

from __future__ import annotations

import math
from typing import Annotated

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_EXACT = 1e-6  # to which a sum of fractions is 1


class HybridWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each signal counts in the hybrid policy (rules.md#window-eviction)."""

    recency: Share = 0.30
    priority: Share = 0.25
    type_ttl: Share = 0.20
    reference_freq: Share = 0.15
    semantic_duplication: Share = 0.10

    def __post_init__(self) -> None:
        check_sum(self)


class PriorityWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each signal counts in the priority policy (rules.md#window-eviction)."""

    recency: Share = 0.30
    semantic: Share = 0.25
    source: Share = 0.20
    reuse: Share = 0.15
    explicit: Share = 0.10

    def __post_init__(self) -> None:
        check_sum(self)


def check_sum(shares: msgspec.Struct) -> None:
    """Raise ValueError unless the fields of `shares` sum to 1."""
    values = msgspec.structs.asdict(shares)
    total = sum(values.values())
    if not math.isclose(total, 1.0, abs_tol=_EXACT):
        listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
        raise ValueError(f"these sum to {total:g} and must sum to 1: {listed}")
