"""Compacting a context that is made of blocks: what must stay, what goes first, and whether the aim was reached.

The rules (rules.md#compaction) know blocks of text and numbers, nothing of records or messages, so that whatever keeps
a context can use them. Duplicates go first: by score, both of two equal texts could go. Then goes what may be
discarded, and after that what nothing protects (31-99), the least first: a context without anything to discard becomes
smaller, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memctl.policy import redundancy

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


class Removed(msgspec.Struct, frozen=True):
    """A block that went: its key, why, its tokens."""

    key: str
    why: str
    tokens: int


class Compacted(msgspec.Struct, frozen=True):
    """A context after compaction: its blocks in their order, what went, the tokens before and after, and the aim.

    `aim` is the share of tokens that was to go.
    """

    kept: tuple[ContextBlock, ...]
    removed: tuple[Removed, ...]
    before: int
    after: int
    aim: float

    @property
    def reduction(self) -> float:
        """The share of tokens that went."""
        return 1 - self.after / self.before if self.before else 0.0

    @property
    def is_reached(self) -> bool:
        return self.after <= self.before * (1 - self.aim)

    @property
    def preserved(self) -> dict[str, list[str]]:
        """The keys of what stays whatever happens, by why."""
        found: dict[str, list[str]] = {}
        for block in self.kept:
            if block.keeps:
                found.setdefault(block.keeps, []).append(block.key)
        return found


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


def compact(
    blocks: Sequence[ContextBlock], aim: float, count: CountTokens, shorten: Callable[[str], str] | None = None
) -> Compacted:
    """Let go of a share of a context (`aim`, 0 to 1): duplicates, then by score, never what must stay.

    `shorten` is applied to texts that nothing protects, before any of them goes. No block ever grows.
    """
    costs = {block.key: count(block.text) for block in blocks}
    before = sum(costs.values())
    removed = [Removed(block.key, DUPLICATE, costs[block.key]) for block in _said_again(blocks)]
    gone = {one.key for one in removed}
    left = []
    for block in (block for block in blocks if block.key not in gone):
        if shorten and not block.keeps:
            text = shorten(block.text)
            if (cost := count(text)) < costs[block.key]:
                costs[block.key], block = cost, msgspec.structs.replace(block, text=text)
        left.append(block)
    after = sum(costs[block.key] for block in left)
    for block in sorted(left, key=score):
        if after <= before * (1 - aim) or score(block) >= PRESERVED:
            break
        removed.append(Removed(block.key, block.drops or LOW, costs[block.key]))
        after -= costs[block.key]
    gone = {one.key for one in removed}
    return Compacted(tuple(block for block in left if block.key not in gone), tuple(removed), before, after, aim)


def _said_again(blocks: Sequence[ContextBlock]) -> list[ContextBlock]:
    """The blocks that a later one says again; what must stay goes only for an equal one that must stay, too."""
    found = redundancy.duplicates([block.text for block in blocks])
    return [
        blocks[number]
        for number, later in found.items()
        if not blocks[number].keeps
        or (blocks[later].keeps and blocks[number].text == blocks[later].text)
    ]  # fmt: skip
