"""The quality of a context: what each metric came to, against its target (rules.md#quality).

Shares are of the tokens of all blocks; density alone is of the whole text. The health score takes blocks, not markup,
for its whole: no whole could meet both its target, 80 %, and that of density, 75 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from memctl.policy.importance import CRITICAL, WEIGHTY
from memctl.policy.measures import Measured, Measures
from memctl.policy.pieces import CODE, DATA

RELEVANCE, REDUNDANCY, STALENESS, DENSITY, HEALTH = 0.80, 0.15, 0.10, 0.75, 0.80
PLACEMENT = 0.25  # of the context: where critical information belongs
BLOCK, LONG_BLOCK = 150, 200  # tokens: of the average block, of any
FLOW = 0.80  # of the tokens stand in blocks that are not long; ours, like that of health
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
    return [
        _relevance(found),
        _irrelevance(found),
        _placement(found),
        _below("redundancy", REDUNDANCY, redundancy(found), "runs of five words that stood in an earlier block"),
        _below("staleness", STALENESS, staleness(found), "closed records, words that say so, dates beyond 90 days"),
        _above("density", DENSITY, density(found), "tokens without markup, white space and padding"),
        _block_size(found),
        _boundaries(found),
        _above("flow", FLOW, flow(found), f"tokens in blocks of at most {LONG_BLOCK}"),
        _above("health", HEALTH, health(found), _health_how(found)),
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
    missing = [after for before, after in pairwise(items) if _is_mixed(before, after)]
    changes = sum(1 for a, b in pairwise(items) if _type(a) != _type(b))
    there = sum(1 for item in found.blocks if item.block.piece.is_marked)
    return there, changes + found.parsed.tokens // _STRETCH, missing


def _type(item: Measured) -> str:
    return item.block.piece.kind if item.block.piece.kind in (CODE, DATA) else "text"


def _is_mixed(before: Measured, after: Measured) -> bool:
    return _type(before) != _type(after) and not after.block.piece.is_marked


def _relevance(found: Measures) -> QualityMetric:
    unrelated = irrelevance(found)
    value = None if unrelated is None else 1 - unrelated
    how = "words of the task, weighed by how rare they are" if found.task else "not measured: it needs a task"
    return QualityMetric("relevance", value, RELEVANCE, "> 80 %", None if value is None else value > RELEVANCE, how)


def _irrelevance(found: Measures) -> QualityMetric:
    value, most = irrelevance(found), tolerance(found.parsed.tokens)
    how = f"the limit for {found.parsed.tokens:,} tokens" if found.task else "not measured: it needs a task"
    return QualityMetric(
        "irrelevant", value, most, f"<= {most * 100:.0f} %", None if value is None else value <= most, how
    )


def _placement(found: Measures) -> QualityMetric:
    items = critical(found)
    value = position(found, items)
    how = (
        f"where {len(items)} critical blocks begin, on average"
        if items
        else "not measured: nothing says it is critical"
    )
    return QualityMetric(
        "placement", value, PLACEMENT, "first 25 %", None if value is None else value <= PLACEMENT, how
    )


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


def _health_how(found: Measures) -> str:
    return f"tokens that {'bear on the task, ' if found.task else ''}stand for the first time and are not stale"


def _below(name: str, target: float, value: float, how: str) -> QualityMetric:
    return QualityMetric(name, value, target, f"< {target * 100:.0f} %", value < target, how)


def _above(name: str, target: float, value: float, how: str) -> QualityMetric:
    return QualityMetric(name, value, target, f"> {target * 100:.0f} %", value > target, how)
