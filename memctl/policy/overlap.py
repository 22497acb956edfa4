"""What a text says more than once: runs of words that an earlier block has too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from memctl.policy.blocks import Block
from memctl.policy.pieces import words

_RUN = 5  # words; a run that stood earlier is said again
_LETTERS = 0.6  # of the words of a run are letters only: times, scores and versions recur without being repetition


class Overlap(msgspec.Struct, frozen=True):
    """How much of a block was said before (a fraction of its words), and the block that said most of it (or -1)."""

    share: float
    earlier: int


def overlaps(blocks: Sequence[Block]) -> list[Overlap]:
    """For each block what stands in those before it, or further up in itself.

    Runs of five words are compared. A block of fewer words is compared as a whole, from three words on.
    """
    seen: dict[tuple[str, ...], int] = {}
    return [_overlap(number, words(block.piece.text), seen) for number, block in enumerate(blocks)]


def _overlap(number: int, said: Sequence[str], seen: dict[tuple[str, ...], int]) -> Overlap:
    length = min(_RUN, len(said))
    if length < 3:
        return Overlap(0.0, -1)
    covered = bytearray(len(said))
    earlier: Counter[int] = Counter()
    for start in range(len(said) - length + 1):
        run = tuple(said[start : start + length])
        if sum(map(str.isalpha, run)) < _LETTERS * length:
            continue
        if run in seen:
            covered[start : start + length] = b"\1" * length
            earlier[seen[run]] += 1
        else:
            seen[run] = number
    return Overlap(sum(covered) / len(said), earlier.most_common(1)[0][0] if earlier else -1)


def repeated_lines(blocks: Sequence[Block]) -> dict[str, int]:
    """Lines of at least three words that stand more than once, and how often."""
    found: Counter[str] = Counter()
    for block in blocks:
        found.update(line.strip() for line in block.piece.text.split("\n") if len(words(line)) >= 3)
    return {line: number for line, number in found.items() if number > 1}
