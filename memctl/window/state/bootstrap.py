"""What a new window begins with, within the room that there is: the window less what stands in it anyway.

That is the system prompt, the definitions of tools, the task, and the room for an answer. What a window has learned
grows with every window, and would else fill one in the end. Lines go whole, the oldest of what matters least first, and
the last line says how many.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.errors import USAGE, MemctlError
from memctl.record.required_text import LONGEST_LINE
from memctl.text.fit import LIMIT, cut, length
from memctl.text.fit import most as most_of
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count

LEAVE = 0.93  # above it, even compacted, the window is left; rules.md#window-manager
NOTES_SHARE = 4  # notes have a fourth of the room at most
_FRAME = (ContentType.SYSTEM_PROMPT, ContentType.TOOL_DEFINITION)
# Sections that go before all others, by the first word of their labels in digests, states and checkpoints.
_FIRST_TO_GO = ("findings", "since", "summary", "before", "learned", "done", "files")
_ITEM = "- "


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


def fitted(text: str, most: int, counter: TokenCounter) -> str:
    """A text of at most `most` tokens and 9,500 characters, as hosts count them; "" if not even its end has room."""
    lines = [_cut(line) for line in text.rstrip().split("\n")]
    order = _going(lines)

    def fits(made: str) -> bool:
        return length(made) <= LIMIT and count(made, ContentType.USER_MESSAGE, counter) <= most

    if fits(text):
        return text
    kept = most_of(lambda number: not fits(_without(lines, set(order[:number]))), 0, max(len(order), 1) - 1)
    made = _without(lines, set(order[: kept + 1]))
    return made if fits(made) else ""


def _cut(line: str) -> str:
    """An item as long as a checkpoint has it at most."""
    return cut(line, LONGEST_LINE) if line.startswith(_ITEM) else line


def _going(lines: Sequence[str]) -> list[int]:
    """The numbers of the lines in the order in which they go: items by their sections, then all else from the end."""
    sections: list[tuple[str, list[int]]] = []
    label = ""
    for number, line in enumerate(lines):
        if not line.startswith(_ITEM):
            label = line
        elif sections and sections[-1][0] == label:
            sections[-1][1].append(number)
        else:
            sections.append((label, [number]))
    sections.reverse()
    ranked = sorted(sections, key=lambda section: _rank(section[0]))  # of one rank the last goes first
    items = [number for _, numbers in ranked for number in numbers]
    taken = set(items)
    return items + [number for number in range(len(lines) - 1, -1, -1) if number not in taken and lines[number]]


def _rank(label: str) -> int:
    word = label.lstrip("# ").lower().replace(",", " ").replace(":", " ").split(" ")[0]
    return _FIRST_TO_GO.index(word) if word in _FIRST_TO_GO else len(_FIRST_TO_GO)


def _without(lines: Sequence[str], gone: set[int]) -> str:
    """The lines without some, and without labels that stand above nothing then; the last one says how many went."""
    kept: list[str] = []
    label: list[str] = []  # one that waits for its first item, with the empty line above it
    for number, line in enumerate(lines):
        if not line or (line.endswith(":") and not line.startswith(_ITEM)):
            label = [*(one for one in label if not one), line] if number not in gone else []
        elif number not in gone:
            kept += [*label, line]
            label = []
    more = f"LEFT OUT: {len(gone):,} line{'s' if len(gone) != 1 else ''} that this window has no room for"
    return "\n".join([*kept, *([more] if gone else [])])
