"""Which budget component each block of a conversation belongs to (rules.md#window-budget)."""

from __future__ import annotations

from collections.abc import Mapping

from memctl.tokens.model_windows import ORANGE_AT
from memctl.window.budget.profiles import OUTPUT_FLOOR, BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.messages.content import ContentType
from memctl.window.messages.conversation import Conversation

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
    """The tokens of each component; what a request costs beside its blocks counts to the history."""
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
    """The window that a conversation fills to a utilisation, in what its counter counts."""
    return conversation.tokens / max(utilization, 1e-9)


def managed_window(conversation: Conversation, utilization: float, budgets: TokenBudgetManager) -> float:
    """The same, as management has it: no larger than one whose orange zone begins where the answer's room ends.

    Any window keeps 4,000 tokens for the answer, and the zones of small ones should be tighter. Below 20,000 tokens
    that room ends before the orange zone begins, where no step of the cascade is called for and the target is behind.
    """
    return window(conversation, utilization) * min(1.0, answer_line(budgets) / ORANGE_AT)


def answer_line(budgets: TokenBudgetManager) -> float:
    """The fraction of a window above which less than 4,000 tokens are left for the answer."""
    size = budgets.max_context_tokens
    return max((1 - budgets.safety_margin) * size - OUTPUT_FLOOR, 0) / size
