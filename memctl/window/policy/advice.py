"""What to change in a context, concretely: which lines, how, and how many tokens that saves."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memctl.window.policy import quality
from memctl.window.policy.measures import Measured, Measures
from memctl.window.policy.quality import PLACEMENT, RELEVANCE

_REPEATED = 0.5  # of a block was said before: it can go, or be told in what is new


class Advice(msgspec.Struct, frozen=True):
    """One change: what to do with which lines, why, the tokens it saves, and the metric it is for."""

    metric: str
    action: str
    line: int
    end: int
    title: str
    why: str
    saves: int


def advice(found: Measures) -> list[Advice]:
    """All changes worth making, those that save most first, then those of order."""
    changes = [*_repeated(found), *_stale(found), *_irrelevant(found), *_long(found), *_unmarked(found), *_late(found)]
    changes += _dense(found)
    return sorted(changes, key=lambda change: (-change.saves, change.line))


def _change(item: Measured, metric: str, action: str, why: str, saves: float = 0) -> Advice:
    block = item.block
    return Advice(metric, action, block.line, block.end, block.name, why, int(saves))


def _repeated(found: Measures) -> Iterator[Advice]:
    for item in found.content:
        if item.overlap.share >= _REPEATED and item.stale.share < 1:
            earlier = found.blocks[item.overlap.earlier].block
            lines = f"lines {earlier.line}-{earlier.end}" if item.overlap.earlier != item.block.number else "itself"
            why = f"{item.overlap.share:.0%} of it repeats {lines}"
            saved = item.block.tokens * item.overlap.share
            action = "state it once, and refer to it" if item.is_preserved else "remove what is repeated"
            yield _change(item, "redundancy", action, why, saved)


def _stale(found: Measures) -> Iterator[Advice]:
    for item in found.content:
        if item.stale.share:
            action = "remove" if item.stale.is_whole and not item.is_preserved else "bring up to date"
            saved = item.block.tokens * item.stale.share
            yield _change(item, "staleness", action, item.stale.why, saved)


def _irrelevant(found: Measures) -> list[Advice]:
    """Only if too much does not bear on the task."""
    unrelated = quality.irrelevance(found)
    if unrelated is None or 1 - unrelated > RELEVANCE:
        return []
    items = [item for item in found.irrelevant if item.stale.share < 1 and item.overlap.share < _REPEATED]
    items = [item for item in items if not item.is_preserved]
    why = "it has too few of the task's words"
    return [_change(item, "relevance", "remove, or load it on demand", why, item.block.tokens) for item in items]


def _long(found: Measures) -> list[Advice]:
    why = f"{{:,}} tokens in one block; at most {quality.LONG_BLOCK}"
    return [
        _change(item, "block size", "break up with headings or empty lines", why.format(item.block.tokens))
        for item in quality.long_blocks(found)
    ]


def _unmarked(found: Measures) -> list[Advice]:
    _, _, missing = quality.boundaries(found)
    why = "another type of content begins here without a boundary"
    return [_change(item, "boundaries", "set apart with a fence or a heading", why) for item in missing]


def _late(found: Measures) -> list[Advice]:
    items = quality.critical(found)
    if (quality.position(found, items) or 0) <= PLACEMENT:
        return []
    late = [item for item in items if item.before > PLACEMENT * found.tokens]
    return [
        _change(item, "placement", "move up", f"weighs {item.weight}/10 and begins at {found.share(item.before):.0%}")
        for item in late
    ]


def _dense(found: Measures) -> Iterator[Advice]:
    text = found.parsed.text
    if quality.density(found) <= quality.DENSITY:
        saved = found.parsed.tokens - found.useful_text_tokens
        way = {"xml": "lines `name: value` in place of elements", "json": "lines `name: value` in place of JSON"}
        action = f"write it with less markup: {way.get(found.parsed.format, 'fewer marks, rules and empty lines')}"
        end = text.count("\n") + 1
        yield Advice("density", action, 1, end, "the whole", f"{saved:,} tokens are not content", saved)
    if found.padding:
        phrases = ", ".join(sorted(set(map(str.lower, found.padding)))[:5])
        place = text.lower().find(found.padding[0].lower())
        line = text.count("\n", 0, max(place, 0)) + 1
        why = f"{len(found.padding)} phrases only pad: {phrases}"
        yield Advice("density", "leave out padding", line, line, "padding", why, 3 * len(found.padding))
