"""Make a context smaller: decide which of its blocks of text stay, and which are removed first.

Each block has a score, and the blocks with the lowest score are removed first (rules.md#compaction). Duplicates are
removed before that, because a score alone could remove both of two equal texts. Some blocks are protected, and only go
if they are duplicates. The texts of the other blocks can be cut, too: their logs are left out (rules.md#preservation).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from memctl.text import similarity
from memctl.text.phrases import quantity
from memctl.text.program_output import LOG_LINE, TRACE_LINE
from memctl.text.similarity import consolidate

CountTokens = Callable[[str], int]

PRESERVED, DISCARDABLE = 100, 30  # the score of protected blocks, and the highest score of discardable ones
# The points of the parts of all other scores, 100 together; rules.md#compaction.
_POINTS = {"recency": 30, "references": 20, "relevance": 30, "density": 20}
DUPLICATE, LOW = "said again later", "of the least weight"


class ContextBlock(msgspec.Struct, frozen=True):
    """A block of a context, which may be removed to make the context smaller.

    - `key` identifies the block in the context.
    - `keeps` is the reason why the block must stay, "" if it may go.
    - `drops` is the reason why the block is of no further use, "" if it is useful. A block with both reasons must stay.
    - `worth` is the score of a block that is of no further use (0 to 30).
    - `recency`, `references`, `relevance` and `density`, each from 0 to 1, make up the score of a block that has
      neither of the two reasons.
    """

    key: str
    text: str
    keeps: str = ""
    drops: str = ""
    worth: float = 0
    recency: float = 0
    references: float = 0
    relevance: float = 0
    density: float = 0


def score(block: ContextBlock) -> float:
    """Return a block's score, from 0 to 100; blocks with a low score are removed first.

    A block that must stay (`keeps`) has 100, and a block of no further use (`drops`) has 0 to 30. Any other block has
    31 to 99, by its recency, references, relevance and density.
    """
    if block.keeps:
        return PRESERVED
    if block.drops:
        return min(max(block.worth, 0), DISCARDABLE)
    points: float = sum(most * getattr(block, part) for part, most in _POINTS.items())
    return DISCARDABLE + 1 + points * (PRESERVED - DISCARDABLE - 2) / 100


def compact(blocks: Sequence[ContextBlock], aim: float, count: CountTokens, least: int = 0) -> dict[str, str]:
    """Choose the blocks to remove from a context; returns the reason for each removed block, by the block's key.

    `blocks` are all blocks of the context, the newest last. `aim` is the share of tokens to remove (0 to 1), and
    `count` counts the tokens of a text. Duplicates are removed first, then the blocks with the lowest score until the
    aim is reached. A block with a reason to stay (`keeps`) is removed only as a duplicate.

    A useful block (without `drops`) is removed only if at least `least` tokens stay. The logs in blocks that may be
    removed do not count among these tokens, because `without_logs` cuts them anyway.
    """
    costs = {block.key: count(block.text) for block in blocks}
    most = sum(costs.values()) * (1 - aim)
    gone = {block.key: DUPLICATE for block in _duplicates(blocks)}
    rest = [block for block in blocks if block.key not in gone]
    costs |= {block.key: min(costs[block.key], count(without_logs(block.text))) for block in rest if not block.keeps}
    after = sum(costs[block.key] for block in rest)
    for block in sorted(rest, key=score):
        is_too_much = not block.drops and after - costs[block.key] < least
        if after <= most or block.keeps or is_too_much:
            break
        gone[block.key] = block.drops or LOW
        after -= costs[block.key]
    return gone


def _duplicates(blocks: Sequence[ContextBlock]) -> list[ContextBlock]:
    """Return the blocks that a later block repeats; a protected block only if the later one is equal and protected."""
    copies = similarity.duplicates([block.text for block in blocks])
    return [
        blocks[number]
        for number, later in copies.items()
        if not blocks[number].keeps
        or (blocks[later].keeps and blocks[number].text == blocks[later].text)
    ]  # fmt: skip


LOG_LINES = 10  # lines of a log from which a text counts as one
_LOG_MATTERS = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|Error|Exception|Caused by|panic|failed)\b")
# Words of details about threats, performance and the integrity of data, which must stay; rules.md#preservation.
_CRITICAL = re.compile(
    r"\b(?:security|vulnerab\w+|threat model|injection|XSS|CSRF|encrypt\w*|authoriz\w+|"
    r"race condition|deadlock\w*|data (?:integrity|loss|corruption)|unique (?:index|constraint)|foreign key|"
    r"performance[- ]critical|hot path|latency|throughput|SLA|GDPR)\b"
)
_MARKED = re.compile(r"^[^\w\n]*CRITICAL\b", re.MULTILINE)  # `\W*` would match line ends as well


def is_critical_detail(text: str) -> bool:
    """Return whether a text is about security, performance or the integrity of data, or is marked as critical."""
    return _CRITICAL.search(text) is not None or is_marked_critical(text)


def is_marked_critical(text: str) -> bool:
    """Return whether a line of a text begins with the word CRITICAL."""
    return _MARKED.search(text) is not None


def without_logs(text: str) -> str:
    """Return a text without the lines of stack traces and logs, and with each repeated passage only once.

    Lines that report an error stay, and so do the error and the cause at the end of a stack trace
    (rules.md#preservation). A line at the end of the result says how many lines are left out.
    """
    lines = text.split("\n")
    is_log = sum(1 for line in lines if LOG_LINE.match(line)) >= LOG_LINES
    rest: list[str] = []
    dropped = 0
    was_trace = False
    for line in lines:
        is_trace = TRACE_LINE.match(line) is not None
        of_trace = was_trace and line.startswith("    ") and not is_trace  # the source line below a frame
        if is_trace or of_trace or (is_log and LOG_LINE.match(line) and not _LOG_MATTERS.search(line)):
            dropped += 1
        else:
            rest.append(line)
        was_trace = is_trace
    text = consolidate("\n".join(rest))
    return f"{text}\n[{quantity(dropped, 'log line')} left out]" if dropped else text
