"""The quality of a context: what each metric came to, against its target (rules.md#quality).

Shares are of the tokens of all blocks; density alone is of the whole text. The health score takes blocks, not markup,
for its whole: no whole could meet both its target, 80 %, and that of density, 75 %.

A signal is a metric beyond the limit from which a context should be compressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from memctl.record.notices import NOTICES
from memctl.window.policy import relevance
from memctl.window.policy.importance import CRITICAL, WEIGHTY
from memctl.window.policy.measures import Measured, Measures
from memctl.window.policy.performance import Performance
from memctl.window.policy.pieces import CODE, DATA

RELEVANCE, REDUNDANCY, STALENESS, DENSITY, HEALTH = 0.80, 0.15, 0.10, 0.75, 0.80
PLACEMENT = 0.25  # of the context: where critical information belongs
BLOCK, LONG_BLOCK = 150, 200  # tokens: of the average block, of any
FLOW = 0.80  # of the tokens stand in blocks that are not long; ours, like that of health
_NEEDS_TASK, _NOT_CRITICAL = "not measured: it needs a task", "not measured: nothing says it is critical"
_HEALTHY = "stand for the first time and are not stale"
_STRETCH = 500  # tokens of a stretch that needs a boundary; ours, like the smallest size of a context
SHORT, MEDIUM = 500, 2_000  # tokens of a context; rules.md#quality


class QualityMetric(msgspec.Struct, frozen=True):
    """One metric: its value, the target as a number and as text, and whether it is met (None: not measured)."""

    name: str
    value: float | None
    target: float
    wanted: str
    is_met: bool | None
    how: str
    unit: str = "share"  # or tokens, boundaries


def tolerance(tokens: int) -> float:
    """The share of irrelevant content that a context of some size may have (rules.md#quality)."""
    if tokens < SHORT:
        return 0.20
    return 0.30 if tokens <= MEDIUM else 0.40


def metrics(found: Measures) -> list[QualityMetric]:
    """All metrics of a text."""
    unrelated, tokens = irrelevance(found), found.parsed.tokens
    of_task = "words of the task, weighed by how rare they are" if found.task else _NEEDS_TASK
    within = f"the limit for {tokens:,} tokens" if found.task else _NEEDS_TASK
    items, most = critical(found), tolerance(tokens)
    first = f"where {len(items)} critical blocks begin, on average"
    return [
        _above("relevance", RELEVANCE, None if unrelated is None else 1 - unrelated, of_task),
        _at_most("irrelevant", most, unrelated, within, f"<= {most * 100:.0f} %"),
        _at_most("placement", PLACEMENT, position(found, items), first if items else _NOT_CRITICAL, "first 25 %"),
        _below("redundancy", REDUNDANCY, redundancy(found), "runs of five words that stood in an earlier block"),
        _below("staleness", STALENESS, staleness(found), "closed records, words that say so, dates beyond 90 days"),
        _above("density", DENSITY, density(found), "tokens without markup, white space and padding"),
        _block_size(found),
        _boundaries(found),
        _above("flow", FLOW, flow(found), f"tokens in blocks of at most {LONG_BLOCK}"),
        _above("health", HEALTH, health(found), f"tokens that {'bear on the task, ' if found.task else ''}{_HEALTHY}"),
    ]


def redundancy(found: Measures) -> float:
    return found.share(sum(item.block.tokens * item.overlap.share for item in found.blocks))


def staleness(found: Measures) -> float:
    return found.share(sum(item.block.tokens * item.stale.share for item in found.blocks))


def density(found: Measures) -> float:
    return found.useful_text_tokens / found.parsed.tokens if found.parsed.tokens else 1.0


def irrelevance(found: Measures) -> float | None:
    """The share that does not bear on the task; None without a task."""
    return found.share(sum(item.block.tokens for item in found.irrelevant)) if found.task else None


def flow(found: Measures) -> float:
    long = sum(item.block.tokens for item in long_blocks(found))
    content = sum(item.block.tokens for item in found.content)
    return 1 - long / content if content else 1.0


def health(found: Measures) -> float:
    return found.share(sum(item.useful for item in found.blocks)) if found.tokens else 1.0


def long_blocks(found: Measures) -> list[Measured]:
    return [item for item in found.content if item.block.tokens > LONG_BLOCK]


def critical(found: Measures) -> list[Measured]:
    """The most important blocks: the weightiest first, as many as fill a quarter of the context, in their order.

    More could not stand in its first quarter. Of what weighs the same, what stands first is taken first. Critical is
    what weighs 9; with a task, what bears on it and weighs 7.
    """
    least = WEIGHTY if found.task else CRITICAL
    allowed = (True,) if found.task else (True, None)
    weighty = [item for item in found.content if item.weight >= least and item.is_relevant in allowed]
    chosen: list[Measured] = []
    room = PLACEMENT * found.tokens
    for item in sorted(weighty, key=lambda item: (-item.weight, item.block.number)):
        if chosen and item.block.tokens > room:
            break
        chosen.append(item)
        room -= item.block.tokens
    return sorted(chosen, key=lambda item: item.block.number)


def position(found: Measures, items: Sequence[Measured]) -> float | None:
    """Where blocks begin on average, by their tokens, as a fraction of the context; None for none."""
    tokens = sum(item.block.tokens for item in items)
    return sum(item.before * item.block.tokens for item in items) / tokens / found.tokens if tokens else None


def disorder(found: Measures) -> float:
    """Of the pairs of blocks that differ in weight, the share in which the lighter one comes first."""
    seen = [0] * 11
    wrong = pairs = 0
    for item in found.content:
        wrong += sum(seen[: item.weight])
        pairs += sum(seen) - seen[item.weight]
        seen[item.weight] += 1
    return wrong / pairs if pairs else 0.0


def boundaries(found: Measures) -> tuple[int, int, list[Measured]]:
    """How many clear boundaries there are, how many are needed, and where one type passes into another without any."""
    items = found.content
    missing = [b for a, b in pairwise(items) if _type(a) != _type(b) and not b.block.piece.is_marked]
    changes = sum(1 for a, b in pairwise(items) if _type(a) != _type(b))
    there = sum(1 for item in found.blocks if item.block.piece.is_marked)
    return there, changes + found.parsed.tokens // _STRETCH, missing


def _type(item: Measured) -> str:
    return item.block.piece.kind if item.block.piece.kind in (CODE, DATA) else "text"


def _block_size(found: Measures) -> QualityMetric:
    items = found.content
    mean = sum(item.block.tokens for item in items) / len(items) if items else 0.0
    over = len(long_blocks(found))
    how = f"average of {len(items)} blocks; {over} of more than {LONG_BLOCK}"
    return QualityMetric("block size", mean, BLOCK, f"< {BLOCK}", mean < BLOCK, how, "tokens")


def _boundaries(found: Measures) -> QualityMetric:
    there, needed, missing = boundaries(found)
    how = "one where the type changes, and one for each 500 tokens"
    how += f"; {len(missing)} changes are unmarked" if missing else ""
    return QualityMetric(
        "boundaries", there, needed, f">= {needed}", there >= needed and not missing, how, "boundaries"
    )


def _at_most(name: str, target: float, value: float | None, how: str, wanted: str) -> QualityMetric:
    return QualityMetric(name, value, target, wanted, None if value is None else _shown(value) <= target, how)


def _below(name: str, target: float, value: float, how: str) -> QualityMetric:
    return QualityMetric(name, value, target, f"< {target * 100:.0f} %", _shown(value) < target, how)


def _above(name: str, target: float, value: float | None, how: str) -> QualityMetric:
    is_met = None if value is None else _shown(value) > target
    return QualityMetric(name, value, target, f"> {target * 100:.0f} %", is_met, how)


def _shown(value: float) -> float:
    """A share as precise as it is printed, so that no verdict contradicts the figure beside it."""
    return round(value, 3)


# When a context should be compressed for its quality (rules.md#quality).
_MOST_TOKENS, _CLUSTERS, _THIN, _IRRELEVANT, _REDUNDANT, _STALE = 1_000, 0.30, 0.70, 0.40, 0.25, 0.30
_DISORDER = 0.5  # more pairs of blocks the wrong way round than the right way
_TASK = "needs a task"
_HEAD = 2_000  # characters in which a pack says what it is


class Signal(msgspec.Struct, frozen=True):
    """One trigger: what was measured and its limit as text; `fired` is None if it could not be measured."""

    name: str
    group: str  # performance, relevance, structure
    measured: str
    limit: str
    fired: bool | None
    why: str = ""


def signals(found: Measures, performance: Performance | None = None) -> list[Signal]:
    """All triggers, by their groups. They are for a context that has grown: a pack is chosen anew from the memory
    within a budget, so that of one only how it bears on its task is judged, if it has one; what else there is to change
    is in its records. How the model does is judged by the session that the context is of, if that is known."""
    judged = [*_performance(found, performance), *_relevance(found), *_structure(found)]
    head = " ".join(found.parsed.text[:_HEAD].split())  # a pack says what it is in its beginning
    if not any(notice in head for notice in NOTICES):
        return judged
    aside = {"fired": None, "why": "a pack keeps to its own budget"}
    return [one if found.task and one.group == "relevance" else msgspec.structs.replace(one, **aside) for one in judged]


def _drop(performance: Performance | None) -> Signal:
    name, group, limit = "performance drop", "performance", "twice the errors or the time"
    if performance is None or not performance.parts:
        why = (
            "needs the transcript of a session, of 30 requests and more" if performance is None else "too few requests"
        )
        return Signal(name, group, "-", limit, None, why)
    return Signal(name, group, performance.drop or "none", limit, bool(performance.drop))


def _performance(found: Measures, performance: Performance | None) -> list[Signal]:
    tokens, dense = found.parsed.tokens, density(found)
    is_long = tokens > _MOST_TOKENS
    more = "" if found.task else "; name the task to see what can go"
    groups = relevance.clusters([item.block for item in found.irrelevant])
    share = found.share(sum(block.tokens for group in groups for block in group)) if found.task else None
    named = "; ".join(f"lines {', '.join(str(block.piece.line) for block in group[:6])}" for group in groups[:3])
    limit = f"> {_MOST_TOKENS:,}"
    group = "performance"
    return [
        Signal("context length", group, f"{tokens:,}", limit, is_long, f"filter by relevance{more}" if is_long else ""),
        _drop(performance),
        _over("similar clusters", group, share, _CLUSTERS, f"alike, off the task: {named}" if groups else ""),
        Signal("density drop", group, _percent(dense), "< 70 %", dense < _THIN),
    ]


def _relevance(found: Measures) -> list[Signal]:
    false = [item for item in found.content if item.stale.share and item.is_relevant]
    lines = ", ".join(str(item.block.piece.line) for item in false[:8])
    distractors = Signal("distractors", "relevance", "-", "> 0", None, _TASK)
    if found.task:
        why = f"on the task, but outdated: lines {lines}" if false else ""
        distractors = Signal("distractors", "relevance", str(len(false)), "> 0", bool(false), why)
    return [
        _over("irrelevant content", "relevance", irrelevance(found), _IRRELEVANT),
        _over("redundancy", "relevance", redundancy(found), _REDUNDANT),
        _over("stale information", "relevance", staleness(found), _STALE),
        distractors,
    ]


def _structure(found: Measures) -> list[Signal]:
    long, (_, _, missing), group = long_blocks(found), boundaries(found), "structure"
    place = position(found, critical(found))
    largest = max((item.block.tokens for item in found.content), default=0)
    why = f"{len(long)} blocks; the first in line {long[0].block.piece.line}" if long else ""
    buried = _over("buried information", group, place, PLACEMENT)
    return [
        Signal("long block", group, f"{largest:,}", f"> {LONG_BLOCK}", bool(long), why),
        buried if place is not None else msgspec.structs.replace(buried, why=""),
        Signal("missing boundaries", group, str(len(missing)), "> 0", bool(missing)),
        _over("ordering", group, disorder(found), _DISORDER, "pairs out of order"),
    ]


def _over(name: str, group: str, share: float | None, most: float, why: str = "") -> Signal:
    """A trigger that fires above a share; without a share it needs a task."""
    if share is None:
        return Signal(name, group, "-", f"> {_percent(most)}", None, _TASK)
    return Signal(name, group, _percent(share), f"> {_percent(most)}", share > most, why)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
