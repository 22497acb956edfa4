"""Token budgets of the parts of a window (rules.md#window-budget).

A budget that is exactly full is not exceeded; what is evicted is given back; component names are known in either case;
the window that can be filled is smaller by the safety margin and by the reserve for the answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from memctl.record import argument_checks
from memctl.tokens.model_windows import ORANGE_AT
from memctl.window.budget.profiles import (
    DEFAULT,
    OUTPUT_FLOOR,
    Allocations,
    BudgetComponent,
    Component,
    limits_of,
    named,
    profile,
)
from memctl.window.messages.content import ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.pressure.monitor import DEFAULT_WINDOW

SOFT_LIMIT = 0.80  # of a budget; rules.md#window-budget
SAFETY_MARGIN = 0.05  # of the window: what counting on the client's side misses; rules.md#window-budget
BURN_TURNS = 20  # of which the burn rate is the mean
CRITICAL_TURNS, WARNING_TURNS = 3, 10  # that a budget still lasts; rules.md#window-budget
_OUTPUT = BudgetComponent.OUTPUT_RESERVED


class ComponentBudget(msgspec.Struct, frozen=True):
    """The budget of one component, in tokens."""

    hard_limit_tokens: int = 0
    used: int = 0
    soft_limit_pct: float = SOFT_LIMIT

    @property
    def soft_limit(self) -> int:
        return int(self.hard_limit_tokens * self.soft_limit_pct)

    @property
    def utilization(self) -> float:
        return self.used / self.hard_limit_tokens if self.hard_limit_tokens else 0.0

    @property
    def is_soft_exceeded(self) -> bool:
        return self.used >= self.soft_limit

    @property
    def is_hard_exceeded(self) -> bool:
        return self.used > self.hard_limit_tokens

    @property
    def remaining(self) -> int:
        return max(self.hard_limit_tokens - self.used, 0)


class Verdict(msgspec.Struct, frozen=True):
    """What the gate says: whether tokens may be added to a component, with a warning or the reason why not.

    `excess` is by how many tokens the limit would be exceeded.
    """

    allowed: bool
    component: BudgetComponent
    current: int
    projected: int
    limit: int
    excess: int = 0
    warning: str = ""
    reason: str = ""

    @property
    def utilization_after(self) -> float:
        return round(self.projected / self.limit, 2) if self.limit else 0.0


class ComponentReport(msgspec.Struct, frozen=True):
    """One component of a report, with its forecast."""

    used: int
    limit: int
    remaining: int
    utilization: float
    soft_exceeded: bool
    hard_exceeded: bool
    turns_until_exhausted: float | None
    urgency: str


class BudgetReport(msgspec.Struct, frozen=True):
    """The whole budget, by the components' names; None is what is not known yet."""

    components: dict[str, ComponentReport]
    total_used: int
    total_utilization: float
    output_room: int
    burn_rate_tokens_per_turn: float
    turns_until_exhausted: float | None
    urgency: str


Watcher = Callable[[BudgetComponent, ComponentBudget, int], None]  # the budget as it is, and what it would come to


class TokenBudgetManager:
    """Tracks what each component uses, says before something is added whether it may be, and when a budget runs out.

    `allocations` are fractions of the window that sum to 1, or the name of a profile. `enforce_components=False` lets
    the gate refuse only what the whole window has no room for, and warn otherwise (rules.md#window-budget). Raises
    ValueError for allocations that do not sum to 1 and for a window too small for the output reserve.
    """

    def __init__(
        self,
        max_context_tokens: int = DEFAULT_WINDOW,
        allocations: Allocations | str | None = None,
        *,
        soft_limit_pct: float = SOFT_LIMIT,
        safety_margin: float = SAFETY_MARGIN,
        enforce_components: bool = True,
        on_soft_warning: Watcher | None = None,
        on_hard_violation: Watcher | None = None,
    ) -> None:
        argument_checks.numbers(
            max_context_tokens=max_context_tokens, soft_limit=soft_limit_pct, safety_margin=safety_margin
        )
        self.max_context_tokens = max_context_tokens
        self.safety_margin = safety_margin
        self.enforce_components = enforce_components
        self.on_soft_warning = on_soft_warning
        self.on_hard_violation = on_hard_violation
        allocations = DEFAULT if allocations is None else allocations
        given = profile(allocations).allocations if isinstance(allocations, str) else allocations
        limits = limits_of(max_context_tokens, given)
        self.budgets = {part: ComponentBudget(limit, 0, soft_limit_pct) for part, limit in limits.items()}
        self._burnt: deque[int] = deque(maxlen=BURN_TURNS)
        self._burnt_by: dict[BudgetComponent, deque[int]] = {part: deque(maxlen=BURN_TURNS) for part in limits}

    def track(self, component: Component, tokens: int) -> None:
        """Count tokens that were added to a component. It never refuses: that is the gate's part."""
        argument_checks.numbers(tokens=tokens)
        if tokens < 0:
            raise ValueError("tokens can't be negative; `release` gives them back")
        self._add(named(component), tokens)

    def release(self, component: Component, tokens: int) -> int:
        """Give back tokens that were evicted or compressed away; how many the component had of them."""
        argument_checks.numbers(tokens=tokens)
        if tokens < 0:
            raise ValueError("tokens can't be negative")
        given = min(tokens, self.budgets[part := named(component)].used)
        self._add(part, -given)
        return given

    def record_turn(self, tokens: int | Mapping[BudgetComponent, int]) -> None:
        """Note what a turn consumed: in all, or by component, which tells when each runs out."""
        if isinstance(tokens, int):
            self._burnt.append(tokens)
            return
        argument_checks.instance(tokens, Mapping, "tokens", "a number, or a mapping by component")
        given = {named(part): number for part, number in tokens.items()}
        self._burnt.append(sum(given.values()))
        for part, burnt in self._burnt_by.items():
            burnt.append(given.get(part, 0))

    def check_before_add(self, component: Component, tokens_to_add: int) -> Verdict:
        """Return whether tokens may be added. What would exceed the hard limit, or the room in the window, is refused.

        A budget of 100 tokens holds 100.
        """
        argument_checks.numbers(tokens_to_add=tokens_to_add)
        component = named(component)
        budget = self.budgets[component]
        projected, limit = budget.used + tokens_to_add, budget.hard_limit_tokens
        verdict = Verdict(True, component, budget.used, projected, limit)
        excess = projected - limit
        beyond = tokens_to_add - self.output_room if component is not _OUTPUT else 0
        if beyond > 0 or (excess > 0 and self.enforce_components):
            is_own = self.enforce_components and beyond <= excess
            reason = _reason(component, budget, tokens_to_add) if is_own else self._no_room(tokens_to_add)
            verdict = msgspec.structs.replace(verdict, allowed=False, excess=max(excess, beyond), reason=reason)
            if self.on_hard_violation:
                self.on_hard_violation(component, budget, projected)
        elif projected >= budget.soft_limit:
            over = "hard" if excess > 0 else "soft"
            warning = f"{component.value} is at its {over} limit: {projected:,} of {limit:,} tokens"
            verdict = msgspec.structs.replace(verdict, warning=warning, excess=max(excess, 0))
            if self.on_soft_warning:
                self.on_soft_warning(component, budget, projected)
        return verdict

    @property
    def total_used(self) -> int:
        """Tokens in the window; what is kept for the answer is not in it."""
        return sum(budget.used for part, budget in self.budgets.items() if part is not _OUTPUT)

    @property
    def total_utilization(self) -> float:
        return self.total_used / self.max_context_tokens

    @property
    def output_room(self) -> int:
        """Tokens that can still be added without touching the reserve for the answer or the safety margin."""
        usable = int(self.max_context_tokens * (1 - self.safety_margin))
        return max(usable - self.budgets[_OUTPUT].hard_limit_tokens - self.total_used, 0)

    @property
    def needs_emergency_compaction(self) -> bool:
        """Whether less than 4,000 tokens are left for the answer (rules.md#window-budget)."""
        return int(self.max_context_tokens * (1 - self.safety_margin)) - self.total_used < OUTPUT_FLOOR

    @property
    def burn_rate(self) -> float:
        """Tokens a turn, the mean of up to 20 turns; 0 before the first."""
        return _mean(self._burnt)

    @property
    def last_turn(self) -> int | None:
        """Tokens of the last turn, None before the first."""
        return self._burnt[-1] if self._burnt else None

    def turns_until_exhausted(self, component: Component | None = None) -> float | None:
        """Turns until a component's budget is used up, or without one the window's; None if nothing tells."""
        part = None if component is None else named(component)
        rate = self.burn_rate if part is None else _mean(self._burnt_by[part])
        remaining = self.output_room if part is None else self.budgets[part].remaining
        return remaining / rate if rate > 0 else None

    def urgency(self, component: Component | None = None) -> str:
        """Return how much time there is: `critical` under 3 turns, `warning` under 10, else `normal`."""
        turns = self.turns_until_exhausted(component)
        if turns is None or turns >= WARNING_TURNS:
            return "normal"
        return "critical" if turns < CRITICAL_TURNS else "warning"

    def report(self) -> BudgetReport:
        """Return all of it, for a dashboard; `msgspec.to_builtins` makes it plain."""
        return BudgetReport(
            components={part.value: self._of(part) for part in self.budgets},
            total_used=self.total_used,
            total_utilization=round(self.total_utilization, 2),
            output_room=self.output_room,
            burn_rate_tokens_per_turn=round(self.burn_rate, 1),
            turns_until_exhausted=_rounded(self.turns_until_exhausted()),
            urgency=self.urgency(),
        )

    def _of(self, part: BudgetComponent) -> ComponentReport:
        budget = self.budgets[part]
        return ComponentReport(
            used=budget.used,
            limit=budget.hard_limit_tokens,
            remaining=budget.remaining,
            utilization=round(budget.utilization, 2),
            soft_exceeded=budget.is_soft_exceeded,
            hard_exceeded=budget.is_hard_exceeded,
            turns_until_exhausted=_rounded(self.turns_until_exhausted(part)),
            urgency=self.urgency(part),
        )

    def _no_room(self, tokens: int) -> str:
        return f"the window has room for {self.output_room:,} tokens beside the reserve for the answer, not {tokens:,}"

    def _add(self, part: BudgetComponent, tokens: int) -> None:
        self.budgets[part] = msgspec.structs.replace(self.budgets[part], used=self.budgets[part].used + tokens)


def _reason(component: BudgetComponent, budget: ComponentBudget, tokens: int) -> str:
    then = f"{tokens:,} more would make it {budget.used + tokens:,}"
    return f"{component.value} holds {budget.hard_limit_tokens:,} tokens; {then}"


def _mean(turns: deque[int]) -> float:
    return sum(turns) / len(turns) if turns else 0.0


def _rounded(turns: float | None) -> float | None:
    return None if turns is None else round(turns, 1)


COMPONENTS: Mapping[ContentType, BudgetComponent] = {
    ContentType.SYSTEM_PROMPT: BudgetComponent.SYSTEM_PROMPT,
    ContentType.TOOL_DEFINITION: BudgetComponent.TOOL_DEFINITIONS,
    ContentType.USER_MESSAGE: BudgetComponent.MESSAGE_HISTORY,
    ContentType.ASSISTANT_RESPONSE: BudgetComponent.MESSAGE_HISTORY,
    ContentType.THINKING: BudgetComponent.MESSAGE_HISTORY,
    ContentType.TOOL_RESULT: BudgetComponent.TOOL_RESULTS,
    ContentType.MEMORY_INJECTION: BudgetComponent.MEMORY_INJECTION,
}


def used(conversation: Conversation) -> dict[BudgetComponent, int]:
    """Return the tokens of each component; what a request costs beside its blocks counts to the history."""
    found = dict.fromkeys(BudgetComponent, 0)
    for block in conversation.blocks:
        found[COMPONENTS[block.content_type]] += block.token_count
    found[BudgetComponent.MESSAGE_HISTORY] += conversation.overhead
    return found


def settle(budgets: TokenBudgetManager, conversation: Conversation) -> None:
    """Let budgets have what the conversation has now; what is reserved for the output is not in it."""
    for part, tokens in used(conversation).items():
        if part is not BudgetComponent.OUTPUT_RESERVED:
            budgets.release(part, budgets.budgets[part].used)
            budgets.track(part, tokens)


def window(conversation: Conversation, utilization: float) -> float:
    """Return the window that a conversation fills to a utilisation, in what its counter counts."""
    return conversation.tokens / max(utilization, 1e-9)


def managed_window(conversation: Conversation, utilization: float, budgets: TokenBudgetManager) -> float:
    """The same, as management has it: no larger than one whose orange zone begins where the answer's room ends.

    Any window keeps 4,000 tokens for the answer, and the zones of small ones should be tighter. Below 20,000 tokens
    that room ends before the orange zone begins, where no step of the cascade is called for and the target is behind.
    """
    return window(conversation, utilization) * min(1.0, answer_line(budgets) / ORANGE_AT)


def answer_line(budgets: TokenBudgetManager) -> float:
    """Return the fraction of a window above which less than 4,000 tokens are left for the answer."""
    size = budgets.max_context_tokens
    return max((1 - budgets.safety_margin) * size - OUTPUT_FLOOR, 0) / size
