"""The table of budgets: the parts of a window, and the share that each part gets for a kind of task.

A profile divides a window in one of two ways. Some profiles divide it among types of context, such as the active task
and the session's memory (rules.md#allocation, rules.md#task-profiles). The others divide it among the components of a
request, such as tool results (rules.md#window-budget). The profile `balanced` gives each type of context the middle of
its allowed range: 35, 45, 12.5 and 7.5 %, which sum to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text.phrases import quantity
from memctl.text.words import nearest
from memctl.tokens.model_windows import SMALL, zone_of

DEFAULT_WINDOW = SMALL  # tokens, in which the profiles are written; rules.md#allocation
OUTPUT_FLOOR = 4_000  # tokens kept for the answer; rules.md#window-budget
_PARTS = 1_000_000  # in which fractions are divided, so that rounding loses no token


class BudgetComponent(Enum):
    """A component of a request to a model that has a budget, such as the system prompt (rules.md#window-budget).

    A component is also found by its name, in upper or lower case: `BudgetComponent("TOOL_RESULTS")`.
    """

    SYSTEM_PROMPT = "system_prompt"
    TOOL_DEFINITIONS = "tool_definitions"
    MESSAGE_HISTORY = "message_history"
    TOOL_RESULTS = "tool_results"
    MEMORY_INJECTION = "memory_injection"
    OUTPUT_RESERVED = "output_reserved"

    @classmethod
    def _missing_(cls, value: object) -> BudgetComponent | None:
        name = str(value).lower().replace("-", "_")
        return next((component for component in cls if component.value == name), None)


Component = BudgetComponent | str  # a component, or its name in either case


def component_of(given: Component) -> BudgetComponent:
    """Return the component of a request that has the name `given`, in upper or lower case.

    If `given` is a component already, it is returned as it is. Raises MemctlError for an unknown name.
    """
    try:
        return BudgetComponent(given)
    except ValueError:
        raise MemctlError(
            f"a token budget has no component {given!r}",
            f"the components are {', '.join(part.value for part in BudgetComponent)}",
            USAGE,
        ) from None


Allocations = Mapping[BudgetComponent, float]


class BudgetShare(NamedTuple):
    """The title of a type of context for people, and the range of its budget, in thousandths of the window."""

    title: str
    least: int
    most: int


SHARES = {
    "system": BudgetShare("Knowledge and system", 300, 400),
    "active": BudgetShare("Active task", 400, 500),
    "session": BudgetShare("Session memory", 100, 150),
    "buffer": BudgetShare("Buffer", 50, 100),
    "shared": BudgetShare("Shared context", 0, 400),  # what all agents of a project have; rules.md#task-profiles
}
_TITLES = ("System prompt", "Tool definitions", "Message history", "Tool results", "Memory", "Answer")  # of components
# A component has no range.
SHARES |= {part.value: BudgetShare(title, 0, 0) for part, title in zip(BudgetComponent, _TITLES, strict=True)}


class BudgetPart(msgspec.Struct, frozen=True):
    """A purpose in a part of a window, such as "decisions", and the number of tokens that it gets."""

    name: str
    tokens: int


class TypeBudget(msgspec.Struct, frozen=True):
    """The budget of one part of a window, which is a type of context or a component of a request.

    `soft_limit` is the number of tokens that the part is meant to keep to, and `hard_limit` the one beyond which it is
    time to act. `share` is the soft limit as a fraction of the window. `used` is the number of tokens in use, and
    `over_soft` and `over_hard` how many of them are beyond the limits; None if nothing was measured. `parts` divides
    the soft limit by purpose; it is empty if there is no further division.
    """

    type: str
    title: str
    soft_limit: int
    hard_limit: int
    share: float
    used: int | None
    over_soft: int | None
    over_hard: int | None
    parts: list[BudgetPart]


class Plan(msgspec.Struct, frozen=True):
    """The number of tokens that a profile gives one part of a window of 200,000 tokens.

    `name` is the name of the part: of a type of context, such as "session", or of a component, such as "tool_results".
    `parts` divides the tokens among purposes, such as `{"decisions": 8_000}`; it is empty if there is no further
    division.
    """

    name: str
    tokens: int
    parts: dict[str, int] = {}


class Profile(msgspec.Struct, frozen=True):
    """The division of a window for one kind of task.

    `plans` has the tokens of each part of a window of 200,000 tokens. The parts are either all types of context or all
    components of a request. `advice` has sentences for people, each as a pair: a format string, and the numbers of
    tokens for its places, such as `("a summary of {} tokens", (8_000,))`.
    """

    name: str
    title: str
    plans: tuple[Plan, ...]
    advice: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def allocations(self) -> Allocations:
        """The fraction of the window that each component of a request gets.

        Raises MemctlError for a profile that divides the window among types of context instead of components.
        """
        if not self.is_of_components:
            names = ", ".join(name for name, profile in PROFILES.items() if profile.is_of_components)
            raise MemctlError(
                f"the profile {self.name} does not divide a window by components", f"these profiles do: {names}", USAGE
            )
        return {BudgetComponent(plan.name): plan.tokens / DEFAULT_WINDOW for plan in self.plans}

    @property
    def is_of_components(self) -> bool:
        """Whether the profile divides the window among the components of a request, and not among types of context."""
        return len(self.plans) == len(BudgetComponent)

    def lines(self, window: int) -> list[str]:
        """Return the profile's advice as sentences, with numbers of tokens for a window of `window` tokens."""
        return [text.format(*(f"{scaled(number, window):,}" for number in numbers)) for text, numbers in self.advice]


def scaled(tokens: int, window: int) -> int:
    """Return a number of tokens, which is meant for a window of 200,000, scaled to a window of `window` tokens.

    For example, 8,000 tokens become 40,000 in a window of 1,000,000.
    """
    return tokens * window // DEFAULT_WINDOW


def allocate(window: int, profile: Profile, used: Mapping[str, int] | None = None) -> list[TypeBudget]:
    """Return the budgets into which a profile divides a window of `window` tokens, in the profile's order.

    `used` maps the name of a type to the tokens in use; None if nothing was measured. The soft limits sum to the
    window. A hard limit is the most that the type of context may have by rules.md#allocation, or the soft limit if that
    is larger. A component's hard limit is its soft limit. Raises MemctlError if a profile of components can't leave
    4,000 tokens of the window for the answer.
    """
    amounts = divide(window, [plan.tokens for plan in profile.plans])
    if profile.is_of_components:
        try:
            amounts = [*limits_of(window, profile.allocations).values()]
        except ValueError as error:
            raise MemctlError(str(error), exit_code=USAGE) from None
    budgets = []
    for plan, soft in zip(profile.plans, amounts, strict=True):
        title, _, most = SHARES[plan.name]
        hard = max(soft, window * most // 1000)
        own = None if used is None else used.get(plan.name, 0)
        over_soft, over_hard = (None if own is None else max(own - limit, 0) for limit in (soft, hard))
        parts = _divide_by_name(soft, plan.parts)
        budgets.append(TypeBudget(plan.name, title, soft, hard, soft / window, own, over_soft, over_hard, parts))
    return budgets


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a whole number in proportion to weights; the results are whole numbers, and sum to `total`.

    Each result is rounded down. What is then missing from `total` is added, 1 each, to the results that rounding
    reduced most: 10 by weights 1, 1 and 1 gives 4, 3 and 3. All results are 0 if all weights are 0.
    """
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for index in order[: total - sum(parts)]:
        parts[index] += 1
    return parts


def _divide_by_name(total: int, weights: Mapping[str, int]) -> list[BudgetPart]:
    return [BudgetPart(*pair) for pair in zip(weights, divide(total, [*weights.values()]), strict=True)]


def limits_of(window: int, allocations: Allocations) -> dict[BudgetComponent, int]:
    """Return the hard limit of each component in tokens; the limits sum to the window of `window` tokens.

    `allocations` are the components' fractions of the window. The answer gets at least 4,000 tokens; if its fraction is
    less, the rest is taken from the message history. Raises ValueError if answer and history together have fewer than
    4,000 tokens, and if the fractions do not sum to 1.
    """
    argument_checks.instance(allocations, Mapping, "allocations", "a mapping of components to fractions")
    total = sum(allocations.values())
    if set(allocations) != set(BudgetComponent) or min(allocations.values()) < 0 or abs(total - 1) > 1e-6:
        raise ValueError(
            f"allocations must give all six components a fraction of at least 0, and sum to 1, not {total:g}"
        )
    shares = divide(int(window), [round(allocations[part] * _PARTS) for part in BudgetComponent])
    limits = dict(zip(BudgetComponent, shares, strict=True))
    lacking = max(OUTPUT_FLOOR - limits[BudgetComponent.OUTPUT_RESERVED], 0)
    if lacking > limits[BudgetComponent.MESSAGE_HISTORY]:
        share = allocations[BudgetComponent.OUTPUT_RESERVED] + allocations[BudgetComponent.MESSAGE_HISTORY]
        got = limits[BudgetComponent.OUTPUT_RESERVED] + limits[BudgetComponent.MESSAGE_HISTORY]
        help_ = (
            f"give a window of at least {math.ceil(OUTPUT_FLOOR / share):,} tokens"
            if share
            else "raise the fractions of output_reserved and message_history"
        )
        raise ValueError(
            f"a window of {quantity(window, 'token')} has no room for {OUTPUT_FLOOR:,} tokens, the least answer: "
            f"answer and history together get {got:,} of it; {help_}"
        )
    limits[BudgetComponent.OUTPUT_RESERVED] += lacking
    limits[BudgetComponent.MESSAGE_HISTORY] -= lacking
    return limits


BALANCED = Profile(
    "balanced",
    "each part in the middle of its usual range",
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
        ("when 80 % of the window is filled, compact to 65 %, which frees {} tokens", (30_000,)),
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
        ("when 80 % of the window is filled, deduplicate search results (about {} tokens), then keep only summaries of "
         "files (about {} tokens)",
         (12_000, 25_000)),
        ("at the end of the first session, a summary of {} tokens; at the end of each later session, one of {}",
         (15_000, 10_000)),
        ("sessions 2 to 5 begin with {} tokens rehydrated and compact every 3 to 4 hours", (25_000,)),
        ("the last session begins with {} tokens: decisions {}, findings {}, architecture {}; {} are for the work",
         (50_000, 15_000, 20_000, 15_000, 120_000)),
    ),
)  # fmt: skip
MULTI_AGENT = Profile(
    "multi-agent",
    "several agents at once, each with a window of its own",
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


def _components(name: str, title: str, *shares: int) -> Profile:
    plans = (
        Plan(part.value, share * DEFAULT_WINDOW // 100) for part, share in zip(BudgetComponent, shares, strict=True)
    )
    return Profile(name, title, tuple(plans))


DEFAULT = "default"
PROFILES = {
    profile.name: profile
    for profile in (
        *(BALANCED, SMALL_FEATURE, MULTI_SESSION, LARGE_CODEBASE, MULTI_AGENT),
        _components(DEFAULT, "an agent's request by its components", 6, 4, 65, 12, 8, 5),
        _components("code-review", "a code review by its components", 6, 5, 60, 18, 6, 5),
        _components("research", "research by its components", 5, 5, 55, 15, 15, 5),
        _components("customer-support", "customer support by its components", 8, 3, 70, 8, 6, 5),
    )
}


def profile(name: str) -> Profile:
    """Return a profile by its name, such as `multi-agent`; raises MemctlError for an unknown name.

    Upper case, `_` or a space for `-` make no difference.
    """
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    if key in PROFILES:
        return PROFILES[key]
    near = nearest(key, PROFILES)
    hint = f"did you mean {near[0]}?" if near else f"the profiles are {', '.join(PROFILES)}"
    raise MemctlError(f"there is no budget profile {name!r}", hint, USAGE)


BUFFER_LEAST = 50  # per mille of the window that must stay free; rules.md#allocation


class CapacityLevel(msgspec.Struct, frozen=True):
    """A level of how full a window is, such as "normal" or "emergency" (rules.md#capacity).

    The level begins at `least` percent of the window. `action` says what to do at this level, and `responses` are ways
    to do it.
    """

    name: str
    least: int
    action: str
    responses: tuple[str, ...] = ()


COMPACT_AT = 90
LEVELS = (
    CapacityLevel("emergency", 95, "emergency compaction",
                  ("compact hard", "drop every file that `memctl files` gives a score below 30",
                   "summarise verbose outputs")),
    CapacityLevel("compact", COMPACT_AT, "compact now, before the next major operation",
                  ("carry the compaction out", "put off loading files that are not critical")),
    CapacityLevel("plan", 80, "plan a compaction within 10 operations",
                  ("write down what to compact", "name what could be removed", "load files only when they are needed")),
    CapacityLevel("normal", 0, "normal operation"),
)  # fmt: skip


def level(used: int, window: int) -> CapacityLevel:
    """Return the capacity level, such as "normal" or "compact", of a window of which `used` tokens are in use.

    `window` is the size of the window in tokens.
    """
    return next(candidate for candidate in LEVELS if used * 100 >= candidate.least * window)


class Occupancy(msgspec.Struct, frozen=True):
    """How full a window is, in tokens.

    `level` is the pressure zone, such as "green", and `capacity` the capacity level, such as "normal", with the
    `action` to take and the `responses` that are ways to do it. `usable` is the number of tokens at which the host
    compacts the window. `counted` is the sum over the types of context. `used` is the number of tokens in use that the
    host reports, or `counted` if there is no report. `unattributed` is the number of reported tokens that belong to no
    counted type. `free` is negative if more is in use than the window has. `margin_lacks` is the number of tokens to
    remove so that 5 % of the window are free.
    """

    level: str
    capacity: str
    usable: int
    action: str
    responses: tuple[str, ...]
    used: int
    counted: int
    unattributed: int
    free: int
    margin_lacks: int


def occupancy(window: int, types: Sequence[TypeBudget], reported: int | None, usable: int | None = None) -> Occupancy:
    """Return how full a window of `window` tokens is.

    `types` are the budgets of its parts, with their use. `reported` is the number of tokens in use by the host's
    report, None if there is none. `usable` is the number of tokens that can be filled before the host compacts; None
    stands for the whole window.
    """
    counted, usable = sum(budget.used or 0 for budget in types), usable or window
    used = counted if reported is None else reported
    now, lacks = level(used, window), -(-window * BUFFER_LEAST // 1000) - (window - used)
    return Occupancy(
        zone_of(used / usable), now.name, usable, now.action, now.responses,
        used, counted, max(used - counted, 0), window - used, max(lacks, 0),
    )  # fmt: skip


AGENTS = 5
_COORDINATION = {"ownership": 10_000, "conflict resolution": 10_000, "blockers": 5_000, "task queue": 15_000}


class Team(msgspec.Struct, frozen=True):
    """The tokens of the windows of several agents on a project (rules.md#task-profiles).

    `available` is the size of all windows together. `shared` is the size of the content that is in every window,
    counted once. `own` is the size of the content that only one agent has, summed over all agents. `coordination` is
    the number of tokens that their cooperation takes. `effective` is the sum of these three, and `efficiency` the same
    as a fraction of `available`.
    """

    agents: int
    available: int
    shared: int
    own: int
    coordination: int
    effective: int
    efficiency: float


def coordination(window: int) -> list[BudgetPart]:
    """Return what the cooperation of agents takes of a window of `window` tokens, by purpose, such as "blockers"."""
    return _divide_by_name(scaled(sum(_COORDINATION.values()), window), _COORDINATION)


def team(window: int, agents: int = AGENTS) -> Team:
    """Return how many tokens `agents` agents have in all, if each has a window of `window` tokens.

    For example, five agents with 200,000 tokens each have 1,000,000 tokens. If the content that is in every window
    counts only once, 720,000 of these remain.
    """
    shared, own = divide(window, [80_000, 120_000])
    cooperation = sum(part.tokens for part in coordination(window))
    effective, available = shared + agents * own + cooperation, agents * window
    return Team(agents, available, shared, agents * own, cooperation, effective, effective / available)


class Loadable(msgspec.Struct, frozen=True):
    """Something that memctl itself can load, such as the pages of a level, and its number of tokens."""

    what: str
    tokens: int


class WindowBudget(msgspec.Struct, frozen=True):
    """The division of a window by a profile, and how full it is.

    `measured` is None if nothing was measured. `advice` has the profile's sentences, `memctl` what memctl itself can
    load, and `team` the tokens of several agents if the profile is for them. `model` is the one whose tokens count.
    """

    window: int
    profile: str
    types: list[TypeBudget]
    measured: Occupancy | None
    advice: list[str]
    memctl: list[Loadable]
    team: Team | None
    model: str

    @property
    def is_alarming(self) -> bool:
        """Whether to act now: the window is 90 % full, or a type of context exceeds its hard limit."""
        used = self.measured.used if self.measured else 0
        return level(used, self.window).least >= COMPACT_AT or any(budget.over_hard for budget in self.types)
