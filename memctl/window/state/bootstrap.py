"""How much room there is for what a new window begins with: the window less what stands in it anyway.

That is the system prompt, the definitions of tools, the task, and the room for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.errors import USAGE, MemctlError
from memctl.record.task_state import TaskState
from memctl.task import resume_text
from memctl.text.fit import LIMIT
from memctl.text.fit import most as most_of
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count
from memctl.window.pressure.monitor import LEAVE

NOTES_SHARE = 4  # notes have a fourth of the room at most
_FRAME = (ContentType.SYSTEM_PROMPT, ContentType.TOOL_DEFINITION)


def room(
    blocks: Sequence[ContentBlock], task: str, size: float, budgets: TokenBudgetManager, counter: TokenCounter
) -> int:
    """The tokens for a bootstrap beside the task, in a window of `size` tokens that keeps room for an answer.

    Raises MemctlError for a task that fills a window alone: each one would be left as soon as it begins.
    """
    frame = sum(block.token_count for block in blocks if block.content_type in _FRAME)
    own = frame + count(task, ContentType.USER_MESSAGE, counter) + PER_MESSAGE + PER_REQUEST
    window = budgets.max_context_tokens
    if own >= LEAVE * window:
        raise MemctlError(
            f"the task has no room in its window: with system prompt and tools it takes {own:,} of {window:,} tokens",
            "give a larger max_context_tokens, or put the long part of the task into a file that the agent reads",
            USAGE,
        )
    answer = budgets.budgets[BudgetComponent.OUTPUT_RESERVED].hard_limit_tokens / window
    return max(int(size * (1 - budgets.safety_margin - answer)) - own, 0)


def fitted(state: TaskState, most: int, counter: TokenCounter) -> str:
    """The resume text of a state in at most `most` tokens; "" if not even what it is about has room."""

    def is_within(text: str) -> bool:
        return count(text, ContentType.USER_MESSAGE, counter) <= most

    limit = most_of(lambda characters: is_within(resume_text.write(state, limit=characters).text), 0, LIMIT)
    text = resume_text.write(state, limit=limit).text
    return text if is_within(text) else ""
