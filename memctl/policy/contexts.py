"""What agents have in their windows: the shared context slice, working sets, context debt, a batch's delta, a burst.

The terms are those of rules.md#shared-context. Of several contexts the shared slice is what all of them have, block by
block. Of a single one it is extracted: mission, phase and plan, open risks, unresolved decisions, anchors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from memctl.policy import importance
from memctl.policy.blocks import ParsedText, TextBlock
from memctl.policy.measures import Measured, Measures
from memctl.policy.pieces import words

SCS_THRESHOLD = 2_000  # tokens; rules.md#shared-context
BURST = 0.15  # predicted growth of the working set that is a token burst
_SLICE = {"mission", "phase", "next", "risks", "anchors"}
_UNRESOLVED = re.compile(r"\b(?:proposed|pending|unresolved|undecided|open|to be decided)\b", re.IGNORECASE)
_REPEATED = 0.8  # of a block stood before: it is another copy or version of it

GIVEN, COMMON, EXTRACTED, NONE = "given", "what all contexts share", "extracted by its titles", "no context"


class Context(msgspec.Struct, frozen=True):
    """An agent's working set: the file that it stands in, and what was measured of it."""

    name: str
    measures: Measures

    @property
    def tokens(self) -> int:
        """The active working set (AWS)."""
        return self.measures.parsed.tokens


class Slice(msgspec.Struct, frozen=True):
    """The shared context slice (SCS): its tokens, its blocks, and how it was found."""

    tokens: int
    blocks: list[TextBlock]
    source: str


class Burst(msgspec.Struct, frozen=True):
    """What the next batch would add: tokens planned, the growth that is, and by how much it exceeds what remains."""

    planned: int
    growth: float
    over: int  # of what is planned, beyond what is left of the budget; negative if there is room

    @property
    def is_burst(self) -> bool:
        return self.growth > BURST


def shared_slice(contexts: Sequence[ParsedText], given: ParsedText | None = None) -> Slice:
    """The shared context slice of some contexts, or the one that was given."""
    if given is not None:
        return Slice(given.tokens, given.blocks, GIVEN)
    if not contexts:
        return Slice(0, [], NONE)
    if len(contexts) == 1:
        blocks = _extracted(contexts[0])
        return Slice(sum(block.tokens for block in blocks), blocks, EXTRACTED)
    if all(context.text == contexts[0].text for context in contexts):
        return Slice(contexts[0].tokens, contexts[0].blocks, COMMON)
    others = [{_key(block) for block in context.blocks} for context in contexts[1:]]
    first = {_key(block): block for block in contexts[0].blocks}
    blocks = [block for key, block in first.items() if key and all(key in other for other in others)]
    return Slice(sum(block.tokens for block in blocks), blocks, COMMON)


def _extracted(context: ParsedText) -> list[TextBlock]:
    passes = context.passes_down()
    chosen: set[int] = set()
    for block in context.blocks:
        parent = block.piece.parent
        if (parent in chosen and passes[parent]) or _is_shared(block):
            chosen.add(block.number)
    return [context.blocks[number] for number in sorted(chosen)]


def _is_shared(block: TextBlock) -> bool:
    """Whether a block belongs into the slice; decisions do while they are not made."""
    found = importance.parts(block)
    is_undecided = "decisions" in found and _UNRESOLVED.search(f"{block.piece.title} {block.piece.text[:200]}")
    return bool(found & _SLICE) or bool(is_undecided)


def _key(block: TextBlock) -> str:
    """What makes two blocks the same: title and words."""
    return " ".join(words(f"{block.piece.title}\n{block.piece.text}"))


class Debt(msgspec.Struct, frozen=True):
    """Context debt: tokens of blocks that are copies or versions of earlier ones, or rest on what is superseded."""

    tokens: int
    ratio: float
    blocks: list[Measured]


def debt(found: Measures) -> Debt:
    """The context debt of a working set. A heuristic: repeated plans and superseded reasoning."""
    owed = [item for item in found.content if item.overlap.share >= _REPEATED or item.stale.share > 0]
    tokens = round(sum(_owed(item) for item in owed))
    return Debt(tokens, found.share(tokens), owed)


def _owed(item: Measured) -> float:
    repeated = item.overlap.share if item.overlap.share >= _REPEATED else 0.0
    return item.block.tokens * max(repeated, item.stale.share)


def burst(planned: int, working_set: int, remaining: int) -> Burst:
    """What planned reads and prompts would do to a working set. Without one, anything planned is a burst."""
    growth = planned / working_set if working_set else float(planned > 0)
    return Burst(planned, growth, planned - remaining)


def growth(before: int | None, now: int) -> float | None:
    """By how much a working set has grown since its former size; None if that is not known."""
    if before is None:
        return None
    return (now - before) / before if before else float(now > 0)
