"""How full a window is: what was counted per type of context, and what that asks for (rules.md#capacity).

A level of capacity goes from its own number to that of the next, which is not in it. Colours are those of the zones
(rules.md#window-pressure), of what can be filled; a level says what to do, and is of the whole window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from memctl.tokens.model_windows import zone_of
from memctl.window.budget.profiles import Portion, divide, scaled

BUFFER_LEAST = 50  # per mille of the window that must stay free; rules.md#allocation


class CapacityLevel(msgspec.Struct, frozen=True):
    """A level of fullness: from how many percent on it holds, what it asks for, and how."""

    name: str
    least: int
    action: str
    responses: tuple[str, ...] = ()


NORMAL = CapacityLevel("normal", 0, "normal operation")
PLAN = CapacityLevel(
    "plan",
    80,
    "plan a compaction within 10 operations",
    ("write down what to compact", "name candidates for removal", "load files just in time only"),
)
COMPACT = CapacityLevel(
    "compact",
    90,
    "compact now, before the next major operation",
    ("carry the compaction out", "put off loading files that are not critical"),
)
EMERGENCY = CapacityLevel(
    "emergency",
    95,
    "emergency compaction",
    ("compact hard", "drop every file with a score below 30", "summarise verbose outputs"),
)
LEVELS = (EMERGENCY, COMPACT, PLAN, NORMAL)


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
    usable: int  # of the window, before the host compacts

    @property
    def zone(self) -> str:
        """Its zone and colour, as `memctl window status` and the hooks have them."""
        return zone_of(self.used / self.usable)

    @property
    def free(self) -> int:
        return self.window - self.used

    @property
    def lacks(self) -> int:
        """Tokens that the window's smallest safety margin is short of."""
        return max(-(-self.window * BUFFER_LEAST // 1000) - self.free, 0)

    @property
    def is_alarming(self) -> bool:
        """Whether something is to be done now: 90 % of the window, or a type of context beyond its hard limit."""
        return self.level.least >= COMPACT.least or any(usage.over_hard for usage in self.usages)


def occupancy(
    window: int,
    portions: Sequence[Portion],
    used: Mapping[str, int],
    reported: int | None,
    usable: int | None = None,
) -> Occupancy:
    """Judge what was counted per type of context. What the host reported as used is trusted more than the sum.

    `usable` is what can be filled before the host compacts, by default all of the window.
    """
    usages = [TypeUsage(portion, used.get(portion.share.name, 0)) for portion in portions]
    counted = sum(usage.used for usage in usages)
    total = counted if reported is None else reported
    return Occupancy(window, total, counted, max(total - counted, 0), usages, level(total, window), usable or window)


AGENTS = 5
_COORDINATION = {"ownership": 10_000, "conflict resolution": 10_000, "blockers": 5_000, "task queue": 15_000}


class Team(msgspec.Struct, frozen=True):
    """What a project of several agents comes to: tokens there are, tokens of use (rules.md#task-profiles)."""

    agents: int
    available: int
    shared: int  # counted once
    own: int  # of all agents together
    coordination: int
    coordination_parts: list[tuple[str, int]]

    @property
    def effective(self) -> int:
        return self.shared + self.own + self.coordination

    @property
    def efficiency(self) -> float:
        return self.effective / self.available


def team(window: int, agents: int = AGENTS) -> Team:
    """The sum for some agents with a window each: 720,000 of 1,000,000 for five of 200,000."""
    shared, own = divide(window, [80_000, 120_000])
    coordination = scaled(sum(_COORDINATION.values()), window)
    parts = divide(coordination, [*_COORDINATION.values()])
    named = list(zip(_COORDINATION, parts, strict=True))
    return Team(agents, agents * window, shared, agents * own, coordination, named)
