"""Divide a context window among the types of context, and judge how full it is (rules.md#allocation).

Each type has a range of shares. Without a profile it gets the middle of its range: 35, 45, 12.5 and 7.5 %, which is
exactly the whole.

A level of fullness goes from its own number to that of the next, which is not in it (rules.md#capacity). The
profiles of tasks are in tokens of a window of 200,000 (rules.md#task-profiles).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

DEFAULT_WINDOW = 200_000  # tokens; rules.md#allocation


class BudgetShare(msgspec.Struct, frozen=True):
    """A type of context: its name, what it is for, and its least and most share of the window in per mille."""

    name: str
    title: str
    purpose: str
    least: int
    most: int


SHARES = {
    share.name: share
    for share in (
        BudgetShare("system", "Knowledge and system", "instructions, skills, core procedures", 300, 400),
        BudgetShare("active", "Active task", "current files, recent outputs, working state", 400, 500),
        BudgetShare("session", "Session memory", "decisions, issues, persistent state", 100, 150),
        BudgetShare("buffer", "Buffer", "tool outputs, safety margin", 50, 100),
    )
}
# What the agents of one project all have, beside their own; rules.md#task-profiles.
SHARED = BudgetShare("shared", "Shared context", "the same for all agents", 0, 400)
BUFFER_LEAST = 50  # per mille of the window that must stay free; rules.md#allocation


class Portion(msgspec.Struct, frozen=True):
    """What one type of context gets: its soft limit (the allocation), its hard limit, and what the tokens are for."""

    share: BudgetShare
    tokens: int
    hard: int
    parts: list[tuple[str, int]]


class Plan(msgspec.Struct, frozen=True):
    """One type of context in a profile: tokens of a window of 200,000, and how they are spent."""

    name: str
    tokens: int
    parts: dict[str, int] = {}


class Profile(msgspec.Struct, frozen=True):
    """A kind of task with its division; `advice` holds texts with tokens of a window of 200,000 to be put in."""

    name: str
    title: str
    plans: tuple[Plan, ...]
    advice: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def lines(self, window: int) -> list[str]:
        """The advice for a window of some size."""
        return [text.format(*(f"{scaled(number, window):,}" for number in numbers)) for text, numbers in self.advice]


def scaled(tokens: int, window: int) -> int:
    """Tokens of a window of DEFAULT_WINDOW as tokens of another."""
    return tokens * window // DEFAULT_WINDOW


def allocate(window: int, profile: Profile) -> list[Portion]:
    """Divide a window; the portions sum exactly to it, and the parts of each exactly to the portion.

    The hard limit is the upper end of the type's range, or the profile's own share where that is larger.
    """
    amounts = divide(window, [plan.tokens for plan in profile.plans])
    portions = []
    for plan, tokens in zip(profile.plans, amounts, strict=True):
        share = SHARES.get(plan.name, SHARED)
        parts = divide(tokens, [*plan.parts.values()])
        named = list(zip(plan.parts, parts, strict=True))
        portions.append(Portion(share, tokens, max(tokens, window * share.most // 1000), named))
    return portions


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number by weights and lose nothing: what rounding leaves goes to the largest remainders."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    found = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for index in order[: total - sum(found)]:
        found[index] += 1
    return found


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


BALANCED = Profile(
    "balanced",
    "the middle of every range",
    (Plan("system", 70_000), Plan("active", 90_000), Plan("session", 25_000), Plan("buffer", 15_000)),
)
SMALL_FEATURE = Profile(
    "small-feature",
    "a small feature: one session of 2 to 4 hours",
    (
        Plan("system", 60_000, {
            "agent definition": 5_000, "prompt engineering": 8_000, "context management": 12_000,
            "language skills": 15_000, "other skills": 20_000,
        }),
        Plan("active", 90_000, {
            "level 1": 1_000, "level 2": 5_000, "level 3": 10_000, "level 4: 3 to 5 files": 35_000,
            "tool outputs": 15_000, "working notes": 10_000, "task state": 2_000, "recent modifications": 5_000,
            "margin": 7_000,
        }),
        Plan("session", 30_000, {
            "decisions": 8_000, "open issues": 5_000, "implementation notes": 7_000, "recent changes": 10_000,
        }),
        Plan("buffer", 20_000, {"safety margin": 20_000}),
    ),
    (
        ("compaction is hardly needed", ()),
        ("at the end, a session summary of about {} tokens", (5_000,)),
    ),
)  # fmt: skip
MULTI_SESSION = Profile(
    "multi-session",
    "a project of several sessions over 2 to 3 days",
    (
        Plan("system", 70_000),
        Plan("active", 85_000, {
            "levels 1 and 2": 6_000, "level 3": 15_000, "level 4: 10 to 15 files": 50_000, "tool outputs": 14_000,
        }),
        Plan("session", 25_000, {"decisions": 10_000, "issues": 8_000, "state": 7_000}),
        Plan("buffer", 20_000),
    ),
    (
        ("at 80 % compact to 65 %, which frees {} tokens", (30_000,)),
        ("at the end of a session, a summary of {} tokens", (8_000,)),
        ("a later session begins with {} tokens rehydrated: summary {}, decisions {}, issues {}",
         (20_000, 8_000, 7_000, 5_000)),
    ),
)  # fmt: skip
LARGE_CODEBASE = Profile(
    "large-codebase",
    "the analysis of a large code base, over a week",
    (
        Plan("system", 65_000),
        Plan("active", 95_000, {
            "hierarchy": 15_000, "samples of 20 files and more": 60_000, "search results": 15_000, "notes": 5_000,
        }),
        Plan("session", 25_000),
        Plan("buffer", 15_000),
    ),
    (
        ("at 80 % and more, deduplicate search results (about {}), then keep summaries of files (about {})",
         (12_000, 25_000)),
        ("at the end of the first session, a summary of {} tokens; of each later one, {}", (15_000, 10_000)),
        ("sessions 2 to 5 begin with {} tokens rehydrated and compact every 3 to 4 hours", (25_000,)),
        ("the last session begins with {}: decisions {}, findings {}, architecture {}; {} are for the work",
         (50_000, 15_000, 20_000, 15_000, 120_000)),
    ),
)  # fmt: skip
MULTI_AGENT = Profile(
    "multi-agent",
    "several agents at once; the window is each agent's",
    (
        Plan("shared", 80_000, {
            "level 1": 2_000, "level 2": 10_000, "decisions": 20_000, "constraints": 8_000,
            "coordination state": 5_000, "shared resources": 15_000, "navigation index": 5_000, "protocols": 15_000,
        }),
        Plan("system", 20_000),
        Plan("active", 60_000),
        Plan("session", 25_000),
        Plan("buffer", 15_000),
    ),
    (
        ("a handoff has {} tokens: metadata {}, summary {}, work products {}, next actions {}, notes {}",
         (25_000, 1_000, 8_000, 10_000, 3_000, 3_000)),
    ),
)  # fmt: skip
PROFILES = {profile.name: profile for profile in (BALANCED, SMALL_FEATURE, MULTI_SESSION, LARGE_CODEBASE, MULTI_AGENT)}

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
