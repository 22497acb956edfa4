"""What a text says more than once: runs of words that an earlier block has too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from memctl.policy.blocks import TextBlock
from memctl.policy.pieces import words

_RUN = 5  # words; a run that stood earlier is said again
_LEAST = 3  # words of a block that is compared as a whole
_LETTERS = 0.6  # of the words of a run are letters only: times, scores and versions recur without being repetition


class Overlap(msgspec.Struct, frozen=True):
    """How much of a block was said before (a fraction of its words), and the block that said most of it (or -1)."""

    share: float
    earlier: int


def overlaps(blocks: Sequence[TextBlock]) -> list[Overlap]:
    """For each block what stands in those before it, or further up in itself.

    Runs of five words are compared. A block of fewer words is compared as a whole, from three words on.
    """
    seen: dict[tuple[str, ...], int] = {}
    return [_overlap(number, block.piece.text, seen) for number, block in enumerate(blocks)]


def _overlap(number: int, text: str, seen: dict[tuple[str, ...], int]) -> Overlap:
    cells = [words(cell) for cell in text.split(" | ")]  # a run does not span the facts of a record
    total = sum(map(len, cells))
    length = min(_RUN, total)
    if length < _LEAST:
        return Overlap(0.0, -1)
    number_covered = 0
    earlier: Counter[int] = Counter()
    for said in cells:
        covered = bytearray(len(said))
        for start in range(len(said) - length + 1):
            run = tuple(said[start : start + length])
            if sum(map(str.isalpha, run)) < _LETTERS * length:
                continue
            if run in seen:
                covered[start : start + length] = b"\1" * length
                earlier[seen[run]] += 1
            else:
                seen[run] = number
        number_covered += sum(covered)
    return Overlap(number_covered / total, earlier.most_common(1)[0][0] if earlier else -1)
