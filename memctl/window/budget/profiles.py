"""Budgets by kind of task: the fraction of the window that each component has (rules.md#window-budget)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from memctl.errors import USAGE, MemctlError
from memctl.text.words import nearest


class BudgetComponent(Enum):
    """What shares a window (rules.md#window-budget); `BudgetComponent("TOOL_RESULTS")` is known, too."""

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


def named(given: Component) -> BudgetComponent:
    """A component by itself or by its name, in either case; raises MemctlError for one that does not exist."""
    try:
        return BudgetComponent(given)
    except ValueError:
        raise MemctlError(
            f"there is no component {given!r}",
            f"components are {', '.join(one.value for one in BudgetComponent)}",
            USAGE,
        ) from None


Allocations = Mapping[BudgetComponent, float]


def _row(*shares: float) -> Allocations:
    return dict(zip(BudgetComponent, shares, strict=True))


DEFAULT = "default"
PROFILES: Mapping[str, Allocations] = {
    DEFAULT: _row(0.06, 0.04, 0.65, 0.12, 0.08, 0.05),
    "code_review": _row(0.06, 0.05, 0.60, 0.18, 0.06, 0.05),
    "research": _row(0.05, 0.05, 0.55, 0.15, 0.15, 0.05),
    "customer_support": _row(0.08, 0.03, 0.70, 0.08, 0.06, 0.05),
}


def profile(name: str) -> Allocations:
    """The allocations for a kind of task; raises MemctlError for one that is not known."""
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    if key in PROFILES:
        return PROFILES[key]
    near = nearest(key, PROFILES)
    hint = f"did you mean {near[0]}?" if near else f"profiles are {', '.join(PROFILES)}"
    raise MemctlError(f"there is no profile {name!r}", hint, USAGE)
