"""Which budget component each block of a conversation belongs to (S4, "The Six Budget Components")."""

from __future__ import annotations

from collections.abc import Mapping

from memctl.window.budget.profiles import BudgetComponent
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
