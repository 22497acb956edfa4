"""How full a window is, and what to do about it (rules.md#capacity).

Each level goes from its own number to that of the next, which is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from memctl.policy.allocation import BUFFER_LEAST, Portion


class CapacityLevel(msgspec.Struct, frozen=True):
    """A level of fullness: from how many percent on it holds, what it asks for, and how."""

    name: str
    least: int
    action: str
    responses: tuple[str, ...] = ()


GREEN = CapacityLevel("green", 0, "normal operation")
YELLOW = CapacityLevel(
    "yellow",
    80,
    "plan a compaction within 10 operations",
    ("write down what to compact", "name candidates for removal", "load files just in time only"),
)
ORANGE = CapacityLevel(
    "orange",
    90,
    "compact now, before the next major operation",
    ("carry the compaction out", "put off loading files that are not critical"),
)
RED = CapacityLevel(
    "red",
    95,
    "emergency compaction",
    ("compact hard", "drop every file with a score below 30", "summarise verbose outputs"),
)
LEVELS = (RED, ORANGE, YELLOW, GREEN)


def level(used: int, window: int) -> CapacityLevel:
    """The level at which a window of some tokens is when so many are used."""
    return next(found for found in LEVELS if used * 100 >= found.least * window)


class TypeUsage(msgspec.Struct, frozen=True):
    """One type of context as measured: tokens used of its portion; `over` is beyond the soft limit."""

    portion: Portion
    used: int

    @property
    def over(self) -> int:
        return max(self.used - self.portion.tokens, 0)

    @property
    def over_hard(self) -> int:
        return max(self.used - self.portion.hard, 0)


class Occupancy(msgspec.Struct, frozen=True):
    """A whole window as measured: tokens used, of which `unattributed` were reported and not counted in any file."""

    window: int
    used: int
    counted: int
    unattributed: int
    usages: list[TypeUsage]
    level: CapacityLevel

    @property
    def free(self) -> int:
        return self.window - self.used

    @property
    def lacks(self) -> int:
        """Tokens that the window's smallest safety margin is short of."""
        return max(-(-self.window * BUFFER_LEAST // 1000) - self.free, 0)

    @property
    def is_alarming(self) -> bool:
        """Whether something is to be done now: orange, red, or a type of context beyond its hard limit."""
        return self.level.least >= ORANGE.least or any(usage.over_hard for usage in self.usages)


def occupancy(window: int, portions: Sequence[Portion], used: Mapping[str, int], reported: int | None) -> Occupancy:
    """Judge what was counted per type of context. What the host reported as used is trusted more than the sum."""
    usages = [TypeUsage(portion, used.get(portion.share.name, 0)) for portion in portions]
    counted = sum(usage.used for usage in usages)
    total = counted if reported is None else reported
    return Occupancy(window, total, counted, max(total - counted, 0), usages, level(total, window))
