"""What is measured of every block of a text, once: the ground of the quality metrics and of the triggers."""

from __future__ import annotations

from typing import NamedTuple

from memctl.policy import density, importance, overlap, relevance, staleness
from memctl.policy.blocks import KINDS, CountTokens, ParsedText, TextBlock
from memctl.policy.overlap import Overlap
from memctl.policy.staleness import Over, StaleBlock

_FIRST = 40  # blocks among which a text states its task


class Measured(NamedTuple):
    """A block with what was measured of it. `is_relevant` is None without a task, and of what a pack puts aside itself;
    `before` counts tokens above it.
    """

    block: TextBlock
    overlap: Overlap
    stale: StaleBlock
    weight: int
    is_relevant: bool | None
    before: int

    @property
    def useful(self) -> float:
        """The tokens of it that are relevant, said for the first time, and hold."""
        if self.is_relevant is False:
            return 0.0
        return self.block.tokens * (1 - self.overlap.share) * (1 - self.stale.share)


class Measures(NamedTuple):
    """A text with all that was measured: its blocks, tokens of all blocks, tokens that say something, and the task."""

    parsed: ParsedText
    blocks: list[Measured]
    tokens: int
    useful_text_tokens: int
    padding: list[str]
    task: str

    @property
    def content(self) -> list[Measured]:
        """The blocks that say something."""
        return [found for found in self.blocks if not found.block.is_heading]

    def share(self, tokens: float) -> float:
        """Tokens as a fraction of those of all blocks."""
        return tokens / self.tokens if self.tokens else 0.0

    @property
    def irrelevant(self) -> list[Measured]:
        return [found for found in self.content if found.is_relevant is False]


def measure(parsed: ParsedText, known: Over, now: str, count: CountTokens, task: str = "") -> Measures:
    """Measure a text; without a task, what bears on one is not measured."""
    weights = importance.weights(parsed)
    again = overlap.overlaps(parsed.blocks)
    old = staleness.stale(parsed, known, now)
    bears = _bearing(parsed, task) if task else [None] * len(parsed.blocks)
    blocks, before = [], 0
    for block in parsed.blocks:
        number = block.number
        blocks.append(Measured(block, again[number], old[number], weights[number], bears[number], before))
        before += block.tokens
    useful = density.useful_text(parsed)
    tokens = min(count(useful, KINDS[parsed.format]) if useful else 0, parsed.tokens)
    return Measures(parsed, blocks, before, tokens, density.padding(parsed.text), task)


def _bearing(parsed: ParsedText, task: str) -> list[bool | None]:
    """Of each block whether it bears on a task; None of what a pack itself says not to."""
    aside: set[int] = set()
    for block in parsed.blocks:  # parents come before their children
        if block.piece.parent in aside or importance.is_aside(block):
            aside.add(block.number)
    found = relevance.relevant(parsed, task)
    return [None if number in aside else bears for number, bears in enumerate(found)]


def stated_task(parsed: ParsedText) -> str:
    """The task that a text states itself, in a line such as `Task: …` or under a title such as Mission; "" if none.

    What a record says of its own task is not what the whole was put together for.
    """
    first = [block for block in parsed.blocks[:_FIRST] if not _in_record(parsed, block)]
    for block in first:
        for line in block.piece.text.split("\n"):
            if line.lower().startswith(importance.TASK_LINES):
                return line.partition(":")[2].strip()
    for block in first:
        is_short = len(block.piece.title.replace("_", " ").split()) <= 2
        if is_short and "mission" in importance.parts(block) and not block.is_heading:
            return block.piece.text.strip()
    return ""


def _in_record(parsed: ParsedText, block: TextBlock) -> bool:
    return any(map(importance.is_record, [block, *parsed.ancestors(block)]))
