"""The similarity of blocks, and the groups of similar blocks that the policy `semantic_merge` joins.

Two blocks are compared by the cosine of their embeddings if there are any, else by their word shingles, which are runs
of three words (rules.md#window-eviction). Numbers count as words: tables of different figures are no duplicates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from memctl.text.similar import cosine, shingles
from memctl.window.messages.content import ContentBlock, ContentType

THRESHOLD = 0.85  # two blocks whose cosine is above are merged
EMBEDDINGS, SHINGLES = "embeddings", "word shingles"
DIGITS = re.compile(r"\d+")
_NEAREST = 20  # newer blocks with the same run that are compared: what is polled a thousand times is like the next ones
_POLL_ALIKE = 0.5  # of the runs of words, numbers aside: what the same call gives again has the same frame
_FEWEST = 3  # blocks that are joined
_LONGEST_EMBEDDED = 2_000  # characters: a static model gives long texts the mean of their words, and all are alike
T = TypeVar("T")
Embed = Callable[[Sequence[str]], Any]  # texts -> a matrix with a row for each, of length 1 or 0


class TextCache(Generic[T]):
    """A function of a text whose results are cached, since the texts of a window are looked at again in each turn."""

    def __init__(self, function: Callable[[str], T]) -> None:
        self._function = function
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._function(text)
        return found

    def keep(self, texts: Collection[str]) -> None:
        """Drop the cached results of texts that are not in `texts`, once the cache has more than twice as many."""
        if len(self._known) > 2 * len(texts):
            self._known = {text: self._known[text] for text in texts if text in self._known}


class Similar(msgspec.Struct, frozen=True):
    """The newer block that a block is like: its id (`to`), the similarity (0 to 1), and the measure.

    `by` is the measure: EMBEDDINGS or SHINGLES.
    """

    to: str
    share: float
    by: str


def similar(
    blocks: Sequence[ContentBlock],
    runs: Callable[[str], frozenset[int]] = shingles,
    embed: Embed | None = None,
) -> dict[str, Similar]:
    """Return, by the id of a block, the newer block of its type that is most similar to it.

    A block without a similar newer one is missing. `runs` returns the shingles of a text,
    `embed` the vectors of texts for which the host gave none.
    """
    found: dict[str, Similar] = {}
    by_type: dict[ContentType, list[ContentBlock]] = {}
    for block in blocks:
        by_type.setdefault(block.content_type, []).append(block)
    for alike in by_type.values():
        pairs = [*_by_shingles(alike, runs), *_by_embeddings(alike), *(_by_meaning(alike, embed) if embed else ())]
        for block, newer, share, by in pairs:
            known = found.get(block.block_id)
            is_host = by == EMBEDDINGS and not embed  # the host's own go before shingles, a static model's do not
            is_better = known is None or share >= known.share or (is_host and known.by == SHINGLES)
            if share > 0 and is_better:
                found[block.block_id] = Similar(newer.block_id, round(share, 4), by)
    return found


Pair = tuple[ContentBlock, ContentBlock, float, str]


def _by_shingles(blocks: Sequence[ContentBlock], runs_of: Callable[[str], frozenset[int]]) -> Iterator[Pair]:
    """Yield pairs that share a run, each block with the newer one most like it."""
    runs = [runs_of(block.content) for block in blocks]
    newer: dict[int, list[int]] = {}  # run -> numbers of the blocks behind that have it
    for number in reversed(range(len(blocks))):
        shared: dict[int, int] = {}
        for run in runs[number]:
            for other in newer.get(run, [])[-_NEAREST:]:
                shared[other] = shared.get(other, 0) + 1
        shares = ((count / math.sqrt(len(runs[number]) * len(runs[other])), other) for other, count in shared.items())
        share, best = max(shares, default=(0.0, -1))
        if share > 0:
            yield blocks[number], blocks[best], share, SHINGLES
        for run in runs[number]:
            newer.setdefault(run, []).append(number)


def _by_embeddings(blocks: Sequence[ContentBlock]) -> Iterator[Pair]:
    """Yield pairs of blocks for which the host gave embeddings."""
    known = [(block, block.embedding) for block in blocks if block.embedding]
    for number, (block, vector) in enumerate(known):
        for newer, other in known[number + 1 :]:
            if (share := cosine(vector, other)) > 0:
                yield block, newer, share, EMBEDDINGS


def _by_meaning(blocks: Sequence[ContentBlock], embed: Embed) -> Iterator[Pair]:
    """Yield pairs of short blocks, each with the newer one nearest to it by the embeddings of a model."""
    import numpy

    short = [block for block in blocks if not block.embedding and 0 < len(block.content) <= _LONGEST_EMBEDDED]
    if len(short) < 2:
        return
    vectors = numpy.asarray(embed([block.content for block in short]))
    near = numpy.triu(vectors @ vectors.T, 1)
    for number, best in enumerate(near.argmax(axis=1).tolist()):
        if near[number][best] > 0:
            yield short[number], short[best], min(float(near[number][best]), 1.0), EMBEDDINGS


def groups(
    blocks: Sequence[ContentBlock],
    similar: Mapping[str, Similar],
    calls: Mapping[str, str],
    may_go: Callable[[ContentBlock], bool],
) -> list[tuple[ContentBlock, ...]]:
    """Return groups of at least three blocks that can become one; the blocks of a group are in their order.

    The blocks of a group are similar (`similar` has, by the id of a block, the newer block that it is like), or are
    polls: results of equal calls that differ in their numbers. `calls` has the text of the call of each result, by the
    result's id; `may_go` says whether a block may be in a group.
    """
    group = {block.block_id: block.block_id for block in blocks}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for name, found in similar.items():
        if name in group and found.to in group:
            group[root(name)] = root(found.to)
    last: dict[str, tuple[str, frozenset[int]]] = {}
    for block in blocks:
        if key := calls.get(block.block_id):
            runs = shingles(DIGITS.sub("#", block.content))
            before = last.get(key)
            if before is not None and _share(before[1], runs) >= _POLL_ALIKE:
                group[root(before[0])] = root(block.block_id)
            last[key] = block.block_id, runs
    members: dict[str, list[ContentBlock]] = {}
    for block in blocks:
        if may_go(block):
            members.setdefault(root(block.block_id), []).append(block)
    return [tuple(own) for own in members.values() if len(own) >= _FEWEST]


def _share(one: frozenset[int], other: frozenset[int]) -> float:
    """Return the share of runs in common; texts that are too short to have any are alike."""
    return len(one & other) / max(len(one), len(other)) if one and other else float(not one and not other)
