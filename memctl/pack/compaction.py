"""Compacting a context that is made of blocks: what must stay, and what goes first.

The rules (rules.md#compaction) know blocks of text and numbers, nothing of records. Duplicates go first: by score, both
of two equal texts could go. Then goes what may be discarded, and after that what nothing protects (31-99), the least
first: a context without anything to discard becomes smaller, too.

What of a text may go is told by how it reads (rules.md#preservation).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from memctl.text import similar
from memctl.text.program_output import LOG_LINE, TRACE_LINE
from memctl.text.similar import consolidate

CountTokens = Callable[[str], int]

PRESERVED, DISCARDABLE = 100, 30  # the score of what stays; the highest of what may go
# What the rest is scored by, out of 100 points; rules.md#compaction.
RECENCY, REFERENCES, RELEVANCE, DENSITY = 30, 20, 30, 20
DUPLICATE, LOW = "said again later", "of the least weight"


class ContextBlock(msgspec.Struct, frozen=True):
    """A piece of a context. Blocks come in the order of time, the newest last.

    `keeps` says why it must stay ("" if it need not), `drops` why it may go; what must stay stays though it might go.
    `worth` orders what may go (0 to 30). The four parts of the score of all else are from 0 to 1.
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
    """From 0 to 100: what must stay has 100, what may go 0-30, the rest 31-99 by its four parts."""
    if block.keeps:
        return PRESERVED
    if block.drops:
        return min(max(block.worth, 0), DISCARDABLE)
    points = (
        RECENCY * block.recency
        + REFERENCES * block.references
        + RELEVANCE * block.relevance
        + DENSITY * block.density
    )  # fmt: skip
    return DISCARDABLE + 1 + points * (PRESERVED - DISCARDABLE - 2) / 100


def compact(blocks: Sequence[ContextBlock], aim: float, count: CountTokens, least: int = 0) -> dict[str, str]:
    """Return why which blocks of a context go, by their keys, so that a share of it does (`aim`, 0 to 1).

    Duplicates go, then by score, never what must stay. What nothing speaks against goes only while more than `least`
    tokens stay. Texts that nothing protects count without their logs, as `shortened` leaves them.
    """
    costs = {block.key: count(block.text) for block in blocks}
    most = sum(costs.values()) * (1 - aim)
    gone = {block.key: DUPLICATE for block in _said_again(blocks)}
    left = [block for block in blocks if block.key not in gone]
    costs |= {block.key: min(costs[block.key], count(shortened(block.text))) for block in left if not block.keeps}
    after = sum(costs[block.key] for block in left)
    for block in sorted(left, key=score):
        is_too_much = not block.drops and after - costs[block.key] < least
        if after <= most or block.keeps or is_too_much:
            break
        gone[block.key] = block.drops or LOW
        after -= costs[block.key]
    return gone


def _said_again(blocks: Sequence[ContextBlock]) -> list[ContextBlock]:
    """Return the blocks that a later block repeats; a protected one counts only if the later one is protected, too."""
    found = similar.duplicates([block.text for block in blocks])
    return [
        blocks[number]
        for number, later in found.items()
        if not blocks[number].keeps
        or (blocks[later].keeps and blocks[number].text == blocks[later].text)
    ]  # fmt: skip


LOG_LINES = 10  # so many lines of a log, and a text has one
_LOG_MATTERS = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|Error|Exception|Caused by|panic|failed)\b")
# Details on threats, performance and the integrity of data must stay; rules.md#preservation.
_CRITICAL = re.compile(
    r"\b(?:security|vulnerab\w+|threat model|injection|XSS|CSRF|encrypt\w*|authoriz\w+|"
    r"race condition|deadlock\w*|data (?:integrity|loss|corruption)|unique (?:index|constraint)|foreign key|"
    r"performance[- ]critical|hot path|latency|throughput|SLA|GDPR)\b"
)
_MARKED = re.compile(r"^[^\w\n]*CRITICAL\b", re.MULTILINE)  # `\W*` would go on through the next lines


def is_critical_detail(text: str) -> bool:
    """Return whether a text speaks of security, of what is fast on purpose, or of what keeps data whole."""
    return _CRITICAL.search(text) is not None or is_marked_critical(text)


def is_marked_critical(text: str) -> bool:
    """Return whether a line of a text begins with CRITICAL."""
    return _MARKED.search(text) is not None


def shortened(text: str) -> str:
    """Return a text without the lines of traces and logs, but with the errors among them; what comes again stands once.

    Of a trace the error and its cause must stay; rules.md#preservation.
    """
    lines = text.split("\n")
    is_log = sum(1 for line in lines if LOG_LINE.match(line)) >= LOG_LINES
    kept: list[str] = []
    dropped = 0
    was_trace = False
    for line in lines:
        is_trace = TRACE_LINE.match(line) is not None
        of_trace = was_trace and line.startswith("    ") and not is_trace  # the source line below a frame
        if is_trace or of_trace or (is_log and LOG_LINE.match(line) and not _LOG_MATTERS.search(line)):
            dropped += 1
        else:
            kept.append(line)
        was_trace = is_trace
    text = consolidate("\n".join(kept))
    return f"{text}\n[{dropped} lines of log left out]" if dropped else text
