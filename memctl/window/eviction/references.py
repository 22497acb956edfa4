"""How blocks relate: references from later blocks to earlier blocks, and blocks that are similar.

What the model or the user says, and the arguments of calls, may name something in an earlier block. Such a name is a
path (or its last two parts, or a file name with a suffix), an identifier (`snake_case`, `camelCase`, `dotted.name`), or
the id of a call, a record or a commit. The reference is to the latest block that has the name, such as the one that
read a file last. A path with a folder does not refer to a file of the same name in another folder. References in plain
words ("as said above") are not found.

Two blocks are compared by the cosine of their embeddings. Without embeddings they are compared by their word shingles,
which are runs of three words (rules.md#window-eviction). Numbers count as words, so that tables with different numbers
do not pass for duplicates.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import msgspec

from memctl.text.similarity import cosine, shingles
from memctl.window.messages.content import ContentBlock, ContentType

THRESHOLD = 0.85  # two blocks whose cosine is above are merged
EMBEDDINGS, SHINGLES = "embeddings", "word shingles"
DIGITS = re.compile(r"\d+")
_NEAREST = 20  # newer blocks with the same run that are compared: what is polled a thousand times is like the next ones
_POLL_ALIKE = 0.5  # of the runs of words, numbers aside: what the same call gives again has the same frame
_FEWEST = 3  # blocks that are joined
_LONGEST_EMBEDDED = 2_000  # characters: a static model gives long texts the mean of their words, and all are alike
Embed = Callable[[Sequence[str]], Any]  # texts -> a matrix with a row for each, of length 1 or 0


class Similar(msgspec.Struct, frozen=True):
    """For a block of a conversation, such as a tool's result: the newer block that is most similar to it.

    `to` is the id of the newer block, and `share` is the similarity from 0 to 1. `by` says how it was measured:
    "embeddings" or "word shingles" (runs of three words).
    """

    to: str
    share: float
    by: str


def similar(
    blocks: Sequence[ContentBlock], runs: Callable[[str], frozenset[int]] = shingles, embed: Embed | None = None
) -> dict[str, Similar]:
    """Find for each block the newer block of the same type that is most similar to it.

    The result maps the id of a block to that newer block. A block to which no newer block is similar is missing. `runs`
    returns the runs of words of a text, as hashes. `embed` returns the vectors of texts; it is used for blocks that
    have no `embedding`.
    """
    matches: dict[str, Similar] = {}
    by_type: dict[ContentType, list[ContentBlock]] = {}
    for block in blocks:
        by_type.setdefault(block.content_type, []).append(block)
    for alike in by_type.values():
        pairs = [*_by_shingles(alike, runs), *_by_embeddings(alike), *(_by_meaning(alike, embed) if embed else ())]
        for block, newer, share, by in pairs:
            known = matches.get(block.block_id)
            is_host = by == EMBEDDINGS and not embed  # the host's own go before shingles, a static model's do not
            is_better = known is None or share >= known.share or (is_host and known.by == SHINGLES)
            if share > 0 and is_better:
                matches[block.block_id] = Similar(newer.block_id, round(share, 4), by)
    return matches


Pair = tuple[ContentBlock, ContentBlock, float, str]


def _by_shingles(blocks: Sequence[ContentBlock], runs_of: Callable[[str], frozenset[int]]) -> Iterator[Pair]:
    runs = [runs_of(block.content) for block in blocks]
    newer: dict[int, list[int]] = {}  # run -> numbers of the blocks behind that have it
    for number in reversed(range(len(blocks))):
        shared = Counter(other for run in runs[number] for other in newer.get(run, [])[-_NEAREST:])
        shares = ((count / math.sqrt(len(runs[number]) * len(runs[other])), other) for other, count in shared.items())
        share, best = max(shares, default=(0.0, -1))
        if share > 0:
            yield blocks[number], blocks[best], share, SHINGLES
        for run in runs[number]:
            newer.setdefault(run, []).append(number)


def _by_embeddings(blocks: Sequence[ContentBlock]) -> Iterator[Pair]:
    known = [(block, block.embedding) for block in blocks if block.embedding]
    for number, (block, vector) in enumerate(known):
        for newer, other in known[number + 1 :]:
            if (share := cosine(vector, other)) > 0:
                yield block, newer, share, EMBEDDINGS


def _by_meaning(blocks: Sequence[ContentBlock], embed: Embed) -> Iterator[Pair]:
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
    """Return groups of at least three blocks each; one new line of text can replace all blocks of a group.

    The blocks of a group are similar, or they are results of the same call, made repeatedly, that differ only in
    numbers. `similar` maps the id of a block to the newer block to which it is similar. `calls` maps the id of a result
    to the text of its call. `may_go` says whether a block may be in a group. The blocks of a group are in their order.
    """
    group = {block.block_id: block.block_id for block in blocks}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for name, match in similar.items():
        if name in group and match.to in group:
            group[root(name)] = root(match.to)
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


def _share(first: frozenset[int], other: frozenset[int]) -> float:
    return len(first & other) / max(len(first), len(other)) if first and other else float(not first and not other)


_NAME = re.compile(r"[A-Za-z0-9_@~][\w./\\@:-]{2,200}")
_TELLS = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]|_|[a-z][A-Z]|\w\.\w")
_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING)
_REFERRING = (*_MODEL, ContentType.USER_MESSAGE)
_COMMON, _LEAST = 0.1, 5  # a name in more than a tenth of all blocks, and in more than 5, tells nothing

NamesIn = Callable[[str], Set[str]]
_Latest = dict[tuple[bool, str], int]


class BlockReference(NamedTuple):
    """A reference between blocks, which are pieces of a conversation: the index of the later and of the earlier one."""

    by: int
    meant: int


def names_in(text: str) -> set[str]:
    """Return the names in a text by which it may refer to another block: paths, identifiers and ids."""
    names: set[str] = set()
    for word in _NAME.findall(text):
        name = word.rstrip(".:-/\\")
        if "/" in name or "\\" in name:
            parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".", "..")]
            name = parts.pop().partition(":")[0] if parts else ""  # a line's number may follow
            names.add("/".join([*parts[-1:], name]))
        name = name.partition(":")[0]
        if len(name) > 3 and _TELLS.search(name):
            names.add(name)
    return names


def with_references(blocks: Sequence[ContentBlock], names: NamesIn = names_in) -> list[ContentBlock]:
    """Return the blocks, each with three values that say how later blocks refer to it.

    - `metadata["reference_count"]` is the number of turns that refer to the block.
    - The field `last_referenced_turn` is the last of these turns.
    - `metadata["newest_share"]` is the fraction of the names in the block, such as paths, that no newer block has. A
      name that very many blocks have is treated as if a newer block had it. A block without names has no such value.

    If the host gave a block higher values of the first two, these stay. `names` returns the names in a text.
    """
    turns: dict[int, set[int]] = {}
    block_names, latest = _names(blocks, names), _Latest()
    for pair in _pairs(blocks, block_names, latest):
        turns.setdefault(pair.meant, set()).add(blocks[pair.by].turn_created)
    newest = Counter(latest.values())
    known = []
    for number, block in enumerate(blocks):
        own, metadata = turns.get(number, set()), dict(block.metadata)
        if block_names[number]:
            metadata["newest_share"] = newest[number] / len(block_names[number])
        if own:
            metadata["reference_count"] = max(len(own), int(block.metadata.get("reference_count", 0)))
        last = max(*own, block.last_referenced_turn) if own else block.last_referenced_turn
        known.append(msgspec.structs.replace(block, last_referenced_turn=last, metadata=metadata))
    return known


def pairs(blocks: Sequence[ContentBlock]) -> Iterator[BlockReference]:
    """Yield the references between blocks of different turns, in the order of the blocks that refer."""
    return _pairs(blocks, _names(blocks, names_in), _Latest())


def _pairs(blocks: Sequence[ContentBlock], names: Sequence[Set[str]], latest: _Latest) -> Iterator[BlockReference]:
    """Yield each reference to a block of an earlier turn; `names` has the names in each block.

    `latest` is filled: its keys are pairs of True for the model's own words (False for all else) and a name, its values
    the index of the newest block with the name.
    """
    common = _common(names)
    for number, block in enumerate(blocks):
        names_here = names[number] - common
        if block.content_type in _REFERRING:
            # Without the names of files whose path is among them, too.
            exact = names_here - {name.rpartition("/")[2] for name in names_here if "/" in name}
            # Of the model's own words the newest is meant, and of all else the newest.
            keys = [(is_own, name) for name in exact for is_own in (True, False)]
            for meant in sorted({latest[key] for key in keys if key in latest}):
                if blocks[meant].turn_created < block.turn_created:
                    yield BlockReference(number, meant)
        for name in names_here:
            latest[block.content_type in _MODEL, name] = number


def _names(blocks: Sequence[ContentBlock], names: NamesIn) -> list[set[str]]:
    block_names: list[set[str]] = []
    calls: dict[str, int] = {}
    for number, block in enumerate(blocks):
        own = set(names(block.content))
        if block.is_call:
            calls[block.call_id] = number
        elif block.call_id:
            own |= {block.call_id}
            own |= block_names[calls[block.call_id]] if block.call_id in calls else set()
        block_names.append(own)
    return block_names


def _common(names: Sequence[Set[str]]) -> set[str]:
    counts, most = Counter(name for own in names for name in own), max(_LEAST, len(names) * _COMMON)
    return {name for name, count in counts.items() if count > most}
