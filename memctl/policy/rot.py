"""When a context should be compressed for its quality (rules.md#quality)."""

from __future__ import annotations

import msgspec

from memctl.policy import quality, relevance
from memctl.policy.measures import Measures
from memctl.policy.notices import NOTICES

LENGTH, CLUSTERS, DENSITY, IRRELEVANT, REDUNDANT, STALE = 1_000, 0.30, 0.70, 0.40, 0.25, 0.30
_HEAD = 2_000  # characters in which a pack says what it is
_DISORDER = 0.5  # more pairs of blocks the wrong way round than the right way


class Signal(msgspec.Struct, frozen=True):
    """One trigger: what was measured and its limit as text; `fired` is None if it could not be measured."""

    name: str
    group: str  # performance, relevance, structure
    measured: str
    limit: str
    fired: bool | None
    why: str = ""


def signals(found: Measures) -> list[Signal]:
    """All triggers, by their groups. They are for a context that has grown: a pack is chosen anew from the memory
    within a budget, so that of one without a task none is judged; what there is to change is in its records."""
    judged = [*_performance(found), *_relevance(found), *_structure(found)]
    if found.task or not _is_pack(found.parsed.text):
        return judged
    return [msgspec.structs.replace(one, fired=None, why="a pack keeps to its own budget") for one in judged]


def _is_pack(text: str) -> bool:
    """Whether a text is a pack of memctl's, by what every one says of itself in its beginning."""
    head = " ".join(text[:_HEAD].split())
    return any(notice in head for notice in NOTICES)


def _performance(found: Measures) -> list[Signal]:
    tokens, density = found.parsed.tokens, quality.density(found)
    is_long = tokens > LENGTH
    why = "filter by relevance" + ("" if found.task else "; name the task to see what can go") if is_long else ""
    if found.task:
        groups = relevance.clusters([item.block for item in found.irrelevant])
        share = found.share(sum(block.tokens for group in groups for block in group))
        named = "; ".join(f"lines {', '.join(str(block.piece.line) for block in group[:6])}" for group in groups[:3])
        alike = Signal(
            "similar clusters",
            "performance",
            _percent(share),
            "> 30 %",
            share > CLUSTERS,
            f"alike, off the task: {named}" if groups else "",
        )
    else:
        alike = Signal("similar clusters", "performance", "-", "> 30 %", None, "needs a task")
    return [
        Signal("context length", "performance", f"{tokens:,}", f"> {LENGTH:,}", is_long, why),
        Signal("performance drop", "performance", "-", "a drop", None, "needs the model's own confidence"),
        alike,
        Signal("density drop", "performance", _percent(density), "< 70 %", density < DENSITY),
    ]


def _relevance(found: Measures) -> list[Signal]:
    unrelated, again, old = quality.irrelevance(found), quality.redundancy(found), quality.staleness(found)
    off = Signal("irrelevant content", "relevance", "-", "> 40 %", None, "needs a task")
    false = [item for item in found.content if item.stale.share and item.is_relevant]
    distractors = Signal("distractors", "relevance", "-", "> 0", None, "needs a task")
    if unrelated is not None:
        off = Signal("irrelevant content", "relevance", _percent(unrelated), "> 40 %", unrelated > IRRELEVANT)
        lines = ", ".join(str(item.block.piece.line) for item in false[:8])
        why = f"on the task, but outdated: lines {lines}" if false else ""
        distractors = Signal("distractors", "relevance", str(len(false)), "> 0", bool(false), why)
    return [
        off,
        Signal("redundancy", "relevance", _percent(again), "> 25 %", again > REDUNDANT),
        Signal("stale information", "relevance", _percent(old), "> 30 %", old > STALE),
        distractors,
    ]


def _structure(found: Measures) -> list[Signal]:
    long, (_, _, missing) = quality.long_blocks(found), quality.boundaries(found)
    items = quality.critical(found)
    place, disorder = quality.position(found, items), quality.disorder(found)
    largest = max((item.block.tokens for item in found.content), default=0)
    why = f"{len(long)} blocks; the first in line {long[0].block.piece.line}" if long else ""
    buried = None if place is None else place > quality.PLACEMENT
    return [
        Signal("long block", "structure", f"{largest:,}", "> 200", bool(long), why),
        Signal("buried information", "structure", "-" if place is None else _percent(place), "> 25 %", buried),
        Signal("missing boundaries", "structure", str(len(missing)), "> 0", bool(missing)),
        Signal("ordering", "structure", _percent(disorder), "> 50 %", disorder > _DISORDER, "pairs out of order"),
    ]


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
