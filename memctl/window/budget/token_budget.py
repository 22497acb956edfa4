"""Token budgets for the components of a window (rules.md#window-budget).

A budget that is exactly full is not exceeded. Tokens that are evicted from a component no longer count. Two parts of
the window stay free: a safety margin, since tokens may be miscounted, and a reserve for the model's answer.
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
    component_of,
    limits_of,
    profile,
)
from memctl.window.messages.content import ContentType
from memctl.window.messages.conversation import Conversation
from memctl.window.pressure.monitor import BURN_TURNS, DEFAULT_WINDOW

SOFT_LIMIT = 0.80  # of a budget; rules.md#window-budget
SAFETY_MARGIN = 0.05  # of the window: what counting on the client's side misses; rules.md#window-budget
CRITICAL_TURNS, WARNING_TURNS = 3, 10  # that a budget still lasts; rules.md#window-budget
_OUTPUT = BudgetComponent.OUTPUT_RESERVED


class ComponentBudget(msgspec.Struct, frozen=True):
    """The budget of one component of a window, such as the tool results.

    `hard_limit_tokens` and `used` are in tokens; `soft_limit_pct` is the soft limit as a fraction of the hard limit.
    """

    hard_limit_tokens: int = 0
    used: int = 0
    soft_limit_pct: float = SOFT_LIMIT

    @property
    def soft_limit(self) -> int:
        """The number of used tokens from which on each addition to the component gets a warning."""
        return int(self.hard_limit_tokens * self.soft_limit_pct)

    @property
    def utilization(self) -> float:
        """The used tokens as a fraction of the hard limit; 0.0 if the hard limit is 0."""
        return self.used / self.hard_limit_tokens if self.hard_limit_tokens else 0.0

    @property
    def is_soft_exceeded(self) -> bool:
        """Whether the used tokens reach or exceed the soft limit."""
        return self.used >= self.soft_limit

    @property
    def is_hard_exceeded(self) -> bool:
        """Whether the used tokens are more than the hard limit."""
        return self.used > self.hard_limit_tokens

    @property
    def remaining(self) -> int:
        """The number of tokens that can be added before the hard limit is exceeded; 0 if it is exceeded already."""
        return max(self.hard_limit_tokens - self.used, 0)


class Verdict(msgspec.Struct, frozen=True):
    """Whether tokens may be added to a component, with a `warning`, or with the `reason` for a refusal.

    `current` and `projected` are the component's tokens before and after the addition, and `limit` is its hard limit.
    `excess` is the number of tokens beyond that limit, or beyond the room in the whole window if that number is larger.
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
        """The component's tokens after the addition, as a fraction of its hard limit; 0.0 if the hard limit is 0."""
        return round(self.projected / self.limit, 2) if self.limit else 0.0


class ComponentReport(msgspec.Struct, frozen=True):
    """The budget of one component in a report: `used`, `limit` and `remaining` are tokens, `utilization` a fraction.

    `turns_until_exhausted` is the number of turns until the limit is reached, if the component grows as before; None if
    its growth is not known. `urgency` is `critical`, `warning` or `normal`, by this number of turns.
    """

    used: int
    limit: int
    remaining: int
    utilization: float
    soft_exceeded: bool
    hard_exceeded: bool
    turns_until_exhausted: float | None
    urgency: str


class BudgetReport(msgspec.Struct, frozen=True):
    """The budget of a whole window: each component by its name, the sums in tokens, and a forecast.

    `total_utilization` is the used fraction of the window, and `output_room` the number of tokens that can still be
    added. `turns_until_exhausted` is the number of turns until no more can be added, None if the growth is not known.
    `urgency` is `critical`, `warning` or `normal`, by this number of turns.
    """

    components: dict[str, ComponentReport]
    total_used: int
    total_utilization: float
    output_room: int
    burn_rate_tokens_per_turn: float
    turns_until_exhausted: float | None
    urgency: str


Watcher = Callable[[BudgetComponent, ComponentBudget, int], None]  # the budget as it is, and what it would come to


class TokenBudgetManager:
    """Tracks the tokens of each component of a window, such as the tools' results, against the component's budget.

    It judges in advance whether tokens may be added, and forecasts when a budget is used up. `max_context_tokens` is
    the size of the window. `allocations` gives each component a fraction of it; the fractions sum to 1, and the name of
    a profile stands for the profile's fractions. A component warns once it uses the fraction `soft_limit_pct` of its
    limit. `safety_margin` is the fraction of the window that stays free.

    `check_before_add` calls `on_soft_warning` if it warns and `on_hard_violation` if it refuses. Both functions get the
    component, its budget before the addition, and the number of tokens that it would have afterwards. With
    `enforce_components=False` a component that exceeds its limit only warns, and tokens are refused only if the whole
    window has no room (rules.md#window-budget).

    Raises ValueError for fractions that do not sum to 1, and for a window that is too small for an answer.
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
        shares = profile(allocations).allocations if isinstance(allocations, str) else allocations
        limits = limits_of(max_context_tokens, shares)
        self.budgets = {part: ComponentBudget(limit, 0, soft_limit_pct) for part, limit in limits.items()}
        self._burnt: deque[int] = deque(maxlen=BURN_TURNS)
        self._burnt_by: dict[BudgetComponent, deque[int]] = {part: deque(maxlen=BURN_TURNS) for part in limits}

    def track(self, component: Component, tokens: int) -> None:
        """Count tokens that were added to a component, even if they exceed the component's limit.

        Raises ValueError for a negative number, and MemctlError for an unknown component.
        """
        argument_checks.numbers(tokens=tokens)
        if tokens < 0:
            raise ValueError("the number of tokens can't be negative; `release` gives tokens back")
        self._add(component_of(component), tokens)

    def release(self, component: Component, tokens: int) -> int:
        """Subtract tokens that were removed from a component, and return how many were subtracted.

        No more are subtracted than the component had. Raises ValueError for a negative number, and MemctlError for an
        unknown component.
        """
        argument_checks.numbers(tokens=tokens)
        if tokens < 0:
            raise ValueError("the number of tokens can't be negative")
        released = min(tokens, self.budgets[part := component_of(component)].used)
        self._add(part, -released)
        return released

    def record_turn(self, tokens: int | Mapping[BudgetComponent, int]) -> None:
        """Record how many tokens one turn added, from which `burn_rate` and the forecasts are computed.

        `tokens` is the sum over all components, or maps components to their tokens. From a sum, only the forecast for
        the whole window is computed.
        """
        if isinstance(tokens, int):
            self._burnt.append(tokens)
            return
        argument_checks.instance(tokens, Mapping, "tokens", "a number, or a mapping by component")
        by_part = {component_of(part): number for part, number in tokens.items()}
        self._burnt.append(sum(by_part.values()))
        for part, burnt in self._burnt_by.items():
            burnt.append(by_part.get(part, 0))

    def check_before_add(self, component: Component, tokens_to_add: int) -> Verdict:
        """Return a verdict on whether `tokens_to_add` tokens may be added to a component; nothing is added.

        An addition is refused if the window has no room for it. With `enforce_components`, an addition is also refused
        if the component would exceed its hard limit. A component may be filled to its limit exactly.
        """
        argument_checks.numbers(tokens_to_add=tokens_to_add)
        component = component_of(component)
        budget = self.budgets[component]
        projected, limit = budget.used + tokens_to_add, budget.hard_limit_tokens
        verdict = Verdict(True, component, budget.used, projected, limit)
        excess = projected - limit
        beyond = tokens_to_add - self.output_room if component is not _OUTPUT else 0
        if beyond > 0 or (excess > 0 and self.enforce_components):
            reason = (
                f"the component {component.value} may have {limit:,} tokens; with {tokens_to_add:,} more it would have "
                f"{projected:,}"
            )
            if not self.enforce_components or beyond > excess:
                room = f"beside the reserve for the answer the window has room for {self.output_room:,}"
                reason = f"{tokens_to_add:,} tokens don't fit: {room}"
            verdict = msgspec.structs.replace(verdict, allowed=False, excess=max(excess, beyond), reason=reason)
            if self.on_hard_violation:
                self.on_hard_violation(component, budget, projected)
        elif projected >= budget.soft_limit:
            over = "hard" if excess > 0 else "soft"
            warning = f"the component {component.value} reaches its {over} limit: {projected:,} of {limit:,} tokens"
            verdict = msgspec.structs.replace(verdict, warning=warning, excess=max(excess, 0))
            if self.on_soft_warning:
                self.on_soft_warning(component, budget, projected)
        return verdict

    @property
    def total_used(self) -> int:
        """The number of tokens in the window; the reserve for the answer is not counted."""
        return sum(budget.used for part, budget in self.budgets.items() if part is not _OUTPUT)

    @property
    def total_utilization(self) -> float:
        """The tokens in the window as a fraction of its size."""
        return self.total_used / self.max_context_tokens

    @property
    def output_room(self) -> int:
        """The number of tokens that can still be added to the window.

        The reserve for the answer and the safety margin are not part of this room, and stay free.
        """
        usable = int(self.max_context_tokens * (1 - self.safety_margin))
        return max(usable - self.budgets[_OUTPUT].hard_limit_tokens - self.total_used, 0)

    @property
    def needs_emergency_compaction(self) -> bool:
        """Whether fewer than 4,000 tokens are left for the answer (rules.md#window-budget)."""
        return int(self.max_context_tokens * (1 - self.safety_margin)) - self.total_used < OUTPUT_FLOOR

    @property
    def burn_rate(self) -> float:
        """The mean number of tokens that a turn added, over the last 20 recorded turns; 0 if none was recorded."""
        return _mean(self._burnt)

    @property
    def last_turn(self) -> int | None:
        """The number of tokens that the last recorded turn added; None if no turn was recorded."""
        return self._burnt[-1] if self._burnt else None

    def turns_until_exhausted(self, component: Component | None = None) -> float | None:
        """Return the forecast number of turns until the budget of a component, or of the window, is used up.

        None for `component` asks for the window. The forecast divides the remaining tokens by the mean number that a
        turn added. The result is None if no turn was recorded, or if the turns added no tokens.
        """
        part = None if component is None else component_of(component)
        rate = self.burn_rate if part is None else _mean(self._burnt_by[part])
        remaining = self.output_room if part is None else self.budgets[part].remaining
        return remaining / rate if rate > 0 else None

    def urgency(self, component: Component | None = None) -> str:
        """Return how soon a component's budget is used up; None for `component` asks for the whole window.

        The result is `critical` for fewer than 3 turns, `warning` for fewer than 10, and `normal` otherwise.
        """
        turns = self.turns_until_exhausted(component)
        if turns is None or turns >= WARNING_TURNS:
            return "normal"
        return "critical" if turns < CRITICAL_TURNS else "warning"

    def report(self) -> BudgetReport:
        """Return a report on the budgets of all components: how much is used, and when it will be used up."""
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

    def _add(self, part: BudgetComponent, tokens: int) -> None:
        self.budgets[part] = msgspec.structs.replace(self.budgets[part], used=self.budgets[part].used + tokens)


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


def use_by_component(conversation: Conversation) -> dict[BudgetComponent, int]:
    """Return how many tokens of a conversation belong to each component.

    The tokens of a request that belong to no block of the conversation, such as those that each message has besides its
    content, count as message history.
    """
    used = dict.fromkeys(BudgetComponent, 0)
    for block in conversation.blocks:
        used[COMPONENTS[block.content_type]] += block.token_count
    used[BudgetComponent.MESSAGE_HISTORY] += conversation.overhead
    return used


def settle(budgets: TokenBudgetManager, conversation: Conversation) -> None:
    """Set the use of each component in `budgets` to the tokens that it has in a conversation.

    The reserve for the answer does not change.
    """
    for part, tokens in use_by_component(conversation).items():
        if part is not BudgetComponent.OUTPUT_RESERVED:
            budgets.release(part, budgets.budgets[part].used)
            budgets.track(part, tokens)


def window(conversation: Conversation, utilization: float) -> float:
    """Return the size of a window, computed from a conversation that fills the fraction `utilization` (0 to 1) of it.

    The size is in tokens as the conversation's counter counts them, which may differ from the model's own count.
    """
    return conversation.tokens / max(utilization, 1e-9)


def managed_window(conversation: Conversation, utilization: float, budgets: TokenBudgetManager) -> float:
    """Return the window size from which the manager computes how many tokens to free.

    For a large window it is the real size: the conversation fills the fraction `utilization` (0 to 1) of it, and its
    tokens are counted by the conversation's counter. In a small window the orange zone, from which on tokens are freed,
    may begin too late: fewer than the 4,000 tokens for the answer may be left there. So for a small window the result
    is less than the real size, which makes the orange zone begin while 4,000 tokens are left. `budgets` has the size of
    the window in the model's tokens, and the safety margin.
    """
    return window(conversation, utilization) * min(1.0, answer_line(budgets) / ORANGE_AT)


def answer_line(budgets: TokenBudgetManager) -> float:
    """Return the fraction of the window above which fewer than 4,000 tokens are left for the answer.

    `budgets` has the size of the window and the safety margin, which is not available for the answer.
    """
    size = budgets.max_context_tokens
    return max((1 - budgets.safety_margin) * size - OUTPUT_FLOOR, 0) / size
