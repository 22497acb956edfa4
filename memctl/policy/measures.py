"""What is measured of every block of a text, once: the ground of the quality metrics and of the triggers."""

from __future__ import annotations

from typing import NamedTuple

from memctl.policy import density, importance, overlap, relevance, staleness
from memctl.policy.blocks import KINDS, Block, CountTokens, Parsed
from memctl.policy.overlap import Overlap
from memctl.policy.staleness import Over, Stale


class Measured(NamedTuple):
    """A block with what was measured of it; `is_relevant` is None without a task. `before` counts tokens above it."""

    block: Block
    overlap: Overlap
    stale: Stale
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

    parsed: Parsed
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


def measure(parsed: Parsed, known: Over, now: str, count: CountTokens, task: str = "") -> Measures:
    """Measure a text; without a task, what bears on one is not measured."""
    weights = importance.weights(parsed)
    again = overlap.overlaps(parsed.blocks)
    old = staleness.stale(parsed, known, now)
    bears = relevance.relevant(parsed, task) if task else [None] * len(parsed.blocks)
    blocks, before = [], 0
    for block in parsed.blocks:
        number = block.number
        blocks.append(Measured(block, again[number], old[number], weights[number], bears[number], before))
        before += block.tokens
    useful = density.useful_text(parsed)
    tokens = min(count(useful, KINDS[parsed.format]) if useful else 0, parsed.tokens)
    return Measures(parsed, blocks, before, tokens, density.padding(parsed.text), task)


def stated_task(parsed: Parsed) -> str:
    """The task that a text states itself: `Chosen for the task: …`, or what stands under a title such as Mission."""
    for block in parsed.blocks[:40]:
        for line in block.piece.text.split("\n"):
            if line.lower().startswith(("chosen for the task:", "task:", "mission:", "goal:", "objective:")):
                return line.partition(":")[2].strip()
    for block in parsed.blocks[:40]:
        if any(importance.is_record(above) for above in parsed.ancestors(block)):
            continue  # what one record is about is not what the whole was chosen for
        is_mission = "mission" in importance.parts(block) and len(block.piece.title.split("_")) <= 3
        if is_mission and block.piece.title and not block.is_heading and not importance.is_record(block):
            return block.piece.text.strip()
    return ""
