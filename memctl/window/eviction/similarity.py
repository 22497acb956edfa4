"""How alike blocks are, for the policy that merges them (rules.md#window-eviction).

It is the cosine of two blocks' embeddings where the host gave both, else of their word shingles: of the runs of three
words that each has. Numbers are words like others: two tables of different figures are not the same thing said twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from memctl.text.similar import cosine, shingles
from memctl.window.messages.content import ContentBlock, ContentType

THRESHOLD = 0.85  # two blocks whose cosine is above are merged; rules.md#window-eviction
EMBEDDINGS, SHINGLES = "embeddings", "word shingles"
_NEAREST = 20  # newer blocks with the same run that are compared: what is polled a thousand times is like the next ones


class Similar(msgspec.Struct, frozen=True):
    """A newer block that one is like, how much (0 to 1), and by what that was measured."""

    to: str
    share: float
    by: str


def similar(
    blocks: Sequence[ContentBlock], least: float = 0.0, runs: Callable[[str], frozenset[int]] = shingles
) -> dict[str, Similar]:
    """For each block the newer one of its type that is most like it, by id, if that is at least `least`.

    The newer of two is what stays, so the newest of several is like none. `runs` gives a text's shingles.
    """
    found: dict[str, Similar] = {}
    by_type: dict[ContentType, list[ContentBlock]] = {}
    for block in blocks:
        by_type.setdefault(block.content_type, []).append(block)
    for alike in by_type.values():
        for block, newer, share, by in (*_by_shingles(alike, runs), *_by_embeddings(alike)):
            known = found.get(block.block_id)
            better = known is None or share >= known.share or (by == EMBEDDINGS and known.by == SHINGLES)
            if share > 0 and share >= least and better:
                found[block.block_id] = Similar(newer.block_id, round(share, 4), by)
    return found


Pair = tuple[ContentBlock, ContentBlock, float, str]


def _by_shingles(blocks: Sequence[ContentBlock], runs_of: Callable[[str], frozenset[int]]) -> list[Pair]:
    """Pairs that share a run, each block with the newer one most like it."""
    runs = [runs_of(block.content) for block in blocks]
    newer: dict[int, list[int]] = {}  # run -> numbers of the blocks behind that have it
    found: list[Pair] = []
    for number in reversed(range(len(blocks))):
        shared: dict[int, int] = {}
        for run in runs[number]:
            for other in newer.get(run, [])[-_NEAREST:]:
                shared[other] = shared.get(other, 0) + 1
        best = max(
            ((count / math.sqrt(len(runs[number]) * len(runs[other])), other) for other, count in shared.items()),
            default=(0.0, -1),
        )
        if best[0] > 0:
            found.append((blocks[number], blocks[best[1]], best[0], SHINGLES))
        for run in runs[number]:
            newer.setdefault(run, []).append(number)
    return found


def _by_embeddings(blocks: Sequence[ContentBlock]) -> list[Pair]:
    known = [(block, block.embedding) for block in blocks if block.embedding]
    return [
        (block, newer, share, EMBEDDINGS)
        for number, (block, vector) in enumerate(known)
        for newer, other in known[number + 1 :]
        if (share := cosine(vector, other)) > 0
    ]
