"""The quality of a context: metrics with targets, triggers for a compression, and advice by line (rules.md#quality).

Most metrics are shares of the tokens of all blocks. There are two exceptions: density is a share of the tokens of the
whole text, and flow is a share of the tokens of the blocks with text. Only density counts markup as useless. The metric
health (the share of useful tokens) does not, because a text with 24 % markup, which meets the target of density (more
than 75 %), could then never meet the target of health (more than 80 %).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from memctl.record.notices import NOTICES
from memctl.text.phrases import quantity
from memctl.window.policy.blocks import CODE, DATA
from memctl.window.policy.measures import CRITICAL, WEIGHTY, Measured, Measures, clusters
from memctl.window.policy.performance import Performance

RELEVANCE, REDUNDANCY, STALENESS, DENSITY, HEALTH = 0.80, 0.15, 0.10, 0.75, 0.80
PLACEMENT = 0.25  # of the context: where critical information belongs
BLOCK, LONG_BLOCK = 150, 200  # tokens: of the average block, of any
FLOW = 0.80  # of the tokens are in blocks that are not long; ours, like that of health
_NEEDS_TASK, _NOT_CRITICAL = "not measured: give the task", "not measured: no block is marked as critical"
_OUTDATED = "tokens on closed records, beside words such as obsolete, or with dates of more than 90 days ago"
_HEALTHY = "repeat no earlier block and are not outdated"
_STRETCH = 500  # tokens of a stretch that needs a boundary; ours, like the smallest size of a context
SHORT, MEDIUM = 500, 2_000  # tokens of a context; rules.md#quality


class QualityMetric(msgspec.Struct, frozen=True):
    """One metric of a context's quality: its value, its target, and whether the value meets the target.

    `target` is the target as a number, and `wanted` is the same as text, such as "> 80 %". `how` says how the metric is
    measured. `value` and `is_met` are None if the metric was not measured.
    """

    name: str
    value: float | None
    target: float
    wanted: str
    is_met: bool | None
    how: str
    unit: str = "share"  # or tokens, boundaries


def tolerance(tokens: int) -> float:
    """Return the largest fraction of irrelevant content that is acceptable in a context of `tokens` tokens.

    It is 20 % below 500 tokens, 30 % up to 2,000, and 40 % above.
    """
    if tokens < SHORT:
        return 0.20
    return 0.30 if tokens <= MEDIUM else 0.40


def metrics(measures: Measures) -> list[QualityMetric]:
    """Return all quality metrics of a measured text, such as relevance, redundancy and density."""
    unrelated, tokens = irrelevance(measures), measures.parsed.tokens
    of_task = "tokens of blocks with words of the task, weighted by rarity" if measures.task else _NEEDS_TASK
    within = f"the limit for {tokens:,} tokens" if measures.task else _NEEDS_TASK
    items, most = critical(measures), tolerance(tokens)
    first = f"the place at which {len(items)} critical blocks begin, on average" if items else _NOT_CRITICAL
    content, over = measures.content, len(long_blocks(measures))
    mean = sum(item.block.tokens for item in content) / len(content) if content else 0.0
    there, needed, missing = boundaries(measures)
    unmarked = f"; {len(missing)} changes of type have no boundary" if missing else ""
    bears = "bear on the task, " if measures.task else ""
    return [
        _metric("relevance", None if unrelated is None else 1 - unrelated, ">", RELEVANCE, of_task),
        _metric("irrelevant", unrelated, "<=", most, within),
        _metric("placement", position(measures, items), "<=", PLACEMENT, first, "first 25 %"),
        _metric("redundancy", redundancy(measures), "<", REDUNDANCY, "runs of five words that an earlier block has"),
        _metric("staleness", staleness(measures), "<", STALENESS, _OUTDATED),
        _metric("density", density(measures), ">", DENSITY, "tokens without markup, white space and padding"),
        QualityMetric("block size", mean, BLOCK, f"< {BLOCK}", mean < BLOCK,
                      f"average of {len(content)} blocks; {over} of more than {LONG_BLOCK}", "tokens"),
        QualityMetric("boundaries", there, needed, f">= {needed}", there >= needed and not missing,
                      f"a boundary is needed where the type changes, and for each 500 tokens{unmarked}", "boundaries"),
        _metric("flow", short_block_share(measures), ">", FLOW, f"tokens in blocks of at most {LONG_BLOCK}"),
        _metric("health", health(measures), ">", HEALTH, f"tokens that {bears}{_HEALTHY}"),
    ]  # fmt: skip


_COMPARE = {">": operator.gt, "<": operator.lt, "<=": operator.le}


def _metric(name: str, value: float | None, sign: str, target: float, how: str, wanted: str = "") -> QualityMetric:
    """As precise as it is printed, so that no verdict contradicts the figure beside it."""
    is_met = None if value is None else _COMPARE[sign](round(value, 3), target)
    return QualityMetric(name, value, target, wanted or f"{sign} {target * 100:.0f} %", is_met, how)


def redundancy(measures: Measures) -> float:
    """Return the fraction of a text's tokens that repeat earlier blocks (0 to 1)."""
    return measures.share(sum(item.block.tokens * item.overlap.share for item in measures.blocks))


def staleness(measures: Measures) -> float:
    """Return the fraction of a text's tokens that are outdated (0 to 1)."""
    return measures.share(sum(item.block.tokens * item.stale.share for item in measures.blocks))


def density(measures: Measures) -> float:
    """Return the fraction of a text's tokens that say something (0 to 1).

    The others are markup, and phrases without content such as "please note that". `measures` are those of the text.
    The result is 1.0 for an empty text.
    """
    return measures.useful_text_tokens / measures.parsed.tokens if measures.parsed.tokens else 1.0


def irrelevance(measures: Measures) -> float | None:
    """Return the fraction of a text's tokens that do not bear on its task (0 to 1); None if it has no task."""
    return measures.share(sum(item.block.tokens for item in measures.irrelevant)) if measures.task else None


def short_block_share(measures: Measures) -> float:
    """Return the fraction of a text's tokens that are in blocks of at most 200 tokens; headings alone do not count.

    `measures` are those of the text. The result is 1.0 for a text without blocks.
    """
    long = sum(item.block.tokens for item in long_blocks(measures))
    content = sum(item.block.tokens for item in measures.content)
    return 1 - long / content if content else 1.0


def health(measures: Measures) -> float:
    """Return the fraction of a text's tokens that are relevant, not repeated and not outdated (0 to 1).

    `measures` are those of the text. The result is 1.0 for an empty text.
    """
    return measures.share(sum(item.useful for item in measures.blocks)) if measures.tokens else 1.0


def long_blocks(measures: Measures) -> list[Measured]:
    """Return the blocks of a text that have more than 200 tokens, which count as too long."""
    return [item for item in measures.content if item.block.tokens > LONG_BLOCK]


def critical(measures: Measures) -> list[Measured]:
    """Return the critical blocks of a text, in the order of the text.

    If the text has a task, a block is critical if it bears on the task and has a weight (0 to 10) of at least 7.
    Without a task it is critical if its weight is at least 9. Critical blocks belong into the first quarter of a text,
    so those returned have at most a quarter of its tokens together (but at least one is returned). If there are more,
    those with higher weights are chosen, and among equal weights the earlier ones.
    """
    least = WEIGHTY if measures.task else CRITICAL
    allowed = (True,) if measures.task else (True, None)
    weighty = [item for item in measures.content if item.weight >= least and item.is_relevant in allowed]
    chosen: list[Measured] = []
    room = PLACEMENT * measures.tokens
    for item in sorted(weighty, key=lambda item: (-item.weight, item.block.number)):
        if chosen and item.block.tokens > room:
            break
        chosen.append(item)
        room -= item.block.tokens
    return sorted(chosen, key=lambda item: item.block.number)


def position(measures: Measures, items: Sequence[Measured]) -> float | None:
    """Return where in a text the blocks `items` begin on average: 0.0 is the start of the text, 1.0 its end.

    `measures` are those of the text. Larger blocks count more in the average. The result is None if there are no
    blocks.
    """
    tokens = sum(item.block.tokens for item in items)
    return sum(item.before * item.block.tokens for item in items) / tokens / measures.tokens if tokens else None


def disorder(measures: Measures) -> float:
    """Return the fraction of all pairs of blocks in which the less important block comes first.

    `measures` has the text's blocks with their weights, which say how important they are. Pairs of equally important
    blocks do not count.
    """
    seen = [0] * 11
    wrong = pairs = 0
    for item in measures.content:
        wrong += sum(seen[: item.weight])
        pairs += sum(seen) - seen[item.weight]
        seen[item.weight] += 1
    return wrong / pairs if pairs else 0.0


def boundaries(measures: Measures) -> tuple[int, int, list[Measured]]:
    """Return how many visible boundaries a text has, how many it needs, and the blocks before which one is missing.

    `measures` are those of the text. A text needs a boundary, such as a heading, where the type of the blocks
    (text, code or data) changes, and one more for every 500 tokens. One is missing before a block if its type differs
    from that of the block before, and no more than an empty line is between them.
    """
    items = measures.content
    missing = [b for a, b in pairwise(items) if _type(a) != _type(b) and not b.block.is_marked]
    changes = sum(1 for a, b in pairwise(items) if _type(a) != _type(b))
    there = sum(1 for item in measures.blocks if item.block.is_marked)
    return there, changes + measures.parsed.tokens // _STRETCH, missing


def _type(item: Measured) -> str:
    return item.block.kind if item.block.kind in (CODE, DATA) else "text"


# When a context should be compressed for its quality (rules.md#quality).
_MOST_TOKENS, _CLUSTERS, _THIN, _IRRELEVANT, _REDUNDANT, _STALE = 1_000, 0.30, 0.70, 0.40, 0.25, 0.30
_DISORDER = 0.5  # more pairs of blocks the wrong way round than the right way
_HEAD = 2_000  # characters in which a pack says what it is


class Signal(msgspec.Struct, frozen=True):
    """A trigger, which says that a context should be compressed if a measured value exceeds a limit.

    `measured` and `limit` are the value and the limit as text, and `fired` says whether the trigger fired. `group` is
    what the trigger is about: performance, relevance or structure. `fired` is None if the value could not be measured;
    `why` then has the reason.
    """

    name: str
    group: str  # performance, relevance, structure
    measured: str
    limit: str
    fired: bool | None
    why: str = ""


def signals(measures: Measures, performance: Performance | None = None) -> list[Signal]:
    """Return all triggers for a compression, each with whether it fired for a measured text.

    Those about performance come first, then those about relevance and structure. `performance` is the performance of
    the model in the session whose context the text is, None if it is not known.

    The triggers are meant for a context that has grown over time. A pack has not: it is chosen from the memory anew,
    within a budget. So for a pack only the triggers about relevance are judged, and only if it has a task.
    """
    judged = _judged(measures, performance)
    head = " ".join(measures.parsed.text[:_HEAD].split())  # a pack says what it is in its beginning
    if not any(notice in head for notice in NOTICES):
        return judged
    aside = {"fired": None, "why": "not judged: a pack keeps to its own budget"}
    return [
        signal if measures.task and signal.group == "relevance" else msgspec.structs.replace(signal, **aside)
        for signal in judged
    ]


def _judged(measures: Measures, performance: Performance | None) -> list[Signal]:
    tokens, task, dense = measures.parsed.tokens, measures.task, density(measures)
    groups = clusters([item.block for item in measures.irrelevant])
    alike = measures.share(sum(block.tokens for group in groups for block in group)) if task else None
    places = "; ".join(f"lines {', '.join(str(block.line) for block in group[:6])}" for group in groups[:3])
    false = [item.block.line for item in measures.content if item.stale.share and item.is_relevant]
    long, (_, _, missing) = long_blocks(measures), boundaries(measures)
    largest = max((item.block.tokens for item in measures.content), default=0)
    filter_ = "filter by relevance" + ("" if task else "; give the task to see what can be removed")
    in_line = f"{len(long)} blocks; the first in line {long[0].block.line}" if long else ""
    outdated = f"about the task, but outdated: lines {', '.join(map(str, false[:8]))}"
    return [
        _above("context length", "performance", tokens, _MOST_TOKENS, filter_),
        _drop(performance),
        _above("similar clusters", "performance", alike, _CLUSTERS, f"off the task: {places}" if groups else ""),
        Signal("density drop", "performance", f"{dense * 100:.0f} %", f"< {_THIN * 100:.0f} %", dense < _THIN),
        _above("irrelevant content", "relevance", irrelevance(measures), _IRRELEVANT),
        _above("redundancy", "relevance", redundancy(measures), _REDUNDANT),
        _above("stale information", "relevance", staleness(measures), _STALE),
        _above("distractors", "relevance", len(false) if task else None, 0, outdated),
        _above("long block", "structure", largest, LONG_BLOCK, in_line),
        _above("buried information", "structure", position(measures, critical(measures)), PLACEMENT, unknown=""),
        _above("missing boundaries", "structure", len(missing), 0),
        _above("ordering", "structure", disorder(measures), _DISORDER, "pairs out of order"),
    ]


def _above(
    name: str, group: str, value: float | None, most: float, why: str = "", unknown: str = "give the task"
) -> Signal:
    shown = "{:,}" if isinstance(most, int) else "{:.0%}"
    limit = f"> {shown.format(most)}".replace("%", " %")
    if value is None:
        return Signal(name, group, "-", limit, None, unknown)
    is_told = value > most or isinstance(most, float)
    return Signal(name, group, shown.format(value).replace("%", " %"), limit, value > most, why if is_told else "")


def _drop(performance: Performance | None) -> Signal:
    name, group, limit = "performance drop", "performance", "failed calls or seconds doubled"
    if performance is None:
        return Signal(name, group, "-", limit, None, "give the transcript of a session that has at least 30 requests")
    if not performance.parts:
        return Signal(name, group, "-", limit, None, "too few requests")
    return Signal(name, group, performance.drop or "none", limit, bool(performance.drop))


_REPEATED = 0.5  # of a block is in an earlier one: it can go, or refer to it


class Advice(msgspec.Struct, frozen=True):
    """A change that would improve a context.

    `action` is what to do with the lines `line` to `end` of the text, and `why` is the reason. `title` names the block
    with these lines. `saves` is the number of tokens that the change saves, and `metric` is the metric that it
    improves.
    """

    metric: str
    action: str
    line: int
    end: int
    title: str
    why: str
    saves: int


def advice(measures: Measures) -> list[Advice]:
    """Return the changes that would improve a measured text, those that save the most tokens first."""
    changes = [change for item in measures.content for change in _of_block(item, measures)]
    changes += [*_structure(measures), *_dense(measures)]
    return sorted(changes, key=lambda change: (-change.saves, change.line))


def _change(item: Measured, metric: str, action: str, why: str, saves: float = 0) -> Advice:
    block = item.block
    return Advice(metric, action, block.line, block.end, block.name, why, int(saves))


def _of_block(item: Measured, measures: Measures) -> Iterator[Advice]:
    """The removal of a preserved block is never advised, that of an irrelevant one only if too much is irrelevant."""
    repeated, stale, tokens = item.overlap.share, item.stale, item.block.tokens
    if repeated >= _REPEATED and stale.share < 1:
        earlier = measures.blocks[item.overlap.earlier].block
        lines = f"lines {earlier.line}-{earlier.end}" if earlier.number != item.block.number else "itself"
        keep = "keep one copy of what is repeated, and refer to that copy"
        action = keep if item.is_preserved else "remove what is repeated"
        yield _change(item, "redundancy", action, f"{repeated:.0%} of the block repeats {lines}", tokens * repeated)
    if stale.share:
        action = "remove" if stale.is_whole and not item.is_preserved else "bring the block up to date"
        yield _change(item, "staleness", action, stale.why, tokens * stale.share)
    is_new = stale.share < 1 and repeated < _REPEATED and not item.is_preserved
    if item.is_relevant is False and is_new and 1 - (irrelevance(measures) or 0.0) <= RELEVANCE:
        yield _change(
            item,
            "relevance",
            "remove the block, or load it only when it is needed",
            "the block has too few words of the task",
            tokens,
        )


def _structure(measures: Measures) -> Iterator[Advice]:
    for item in long_blocks(measures):
        why = f"{item.block.tokens:,} tokens in one block; at most {LONG_BLOCK}"
        yield _change(item, "block size", "break the block up with headings or empty lines", why)
    for item in boundaries(measures)[2]:
        why = "another type of content begins here without a boundary"
        yield _change(item, "boundaries", "set the block apart with a fence or a heading", why)
    items = critical(measures)
    if (position(measures, items) or 0) > PLACEMENT:
        for item in items:
            if item.before > PLACEMENT * measures.tokens:
                begin = f"the block begins at {measures.share(item.before):.0%} of the text"
                why = f"{begin}, but its weight is {item.weight}/10"
                yield _change(item, "placement", "move the block up", why)


def _dense(measures: Measures) -> Iterator[Advice]:
    if density(measures) <= DENSITY:
        saved = measures.parsed.tokens - measures.useful_text_tokens
        way = {"xml": "lines `name: value` in place of elements", "json": "lines `name: value` in place of JSON"}
        action = way.get(measures.parsed.format, "fewer marks, rules and empty lines")
        end = max((block.end for block in measures.parsed.blocks), default=1)
        why = f"{saved:,} tokens are markup or padding"
        yield Advice("density", f"write the text with less markup: {action}", 1, end, "the whole", why, saved)
    if measures.padding:
        phrases = ", ".join(sorted(set(map(str.lower, measures.padding)))[:5])
        first = measures.padding[0].lower()
        line = next((block.line for block in measures.parsed.blocks if first in block.source.lower()), 1)
        why = f"{quantity(len(measures.padding), 'phrase')} that can be left out: {phrases}"
        yield Advice("density", "leave out padding", line, line, "padding", why, 3 * len(measures.padding))


class QualityBlock(msgspec.Struct, frozen=True):
    """A block of a text with its measures: its `weight` (0 to 10), and which shares of it are repeated and stale.

    `is_relevant` says whether the block bears on the task, None if that was not judged.
    """

    title: str
    kind: str
    line: int
    end: int
    tokens: int
    weight: int
    is_relevant: bool | None
    repeated: float
    stale: float


class QualityReport(msgspec.Struct, frozen=True):
    """The quality of a text: metrics, triggers for a compression, changes that would improve it, and its blocks.

    `model` is the one whose tokens are counted. `task` is None if relevance was not judged, and `performance` if no
    session was given.
    """

    format: str
    tokens: int
    model: str
    task: str | None
    metrics: list[QualityMetric]
    triggers: list[Signal]
    changes: list[Advice]
    blocks: list[QualityBlock]
    performance: Performance | None


def judge(measures: Measures, model: str, performance: Performance | None = None) -> QualityReport:
    """Return a report on the quality of a measured text; `model` is the one whose tokens were counted.

    `performance` is the performance of the model in the session whose context the text is, None if it is not known.
    """
    parsed = measures.parsed
    blocks = [
        QualityBlock(
            item.block.title, item.block.kind, item.block.line, item.block.end, item.block.tokens, item.weight,
            item.is_relevant, round(item.overlap.share, 4), round(item.stale.share, 4),
        )
        for item in measures.blocks
    ]  # fmt: skip
    found = metrics(measures), signals(measures, performance), advice(measures)
    return QualityReport(parsed.format, parsed.tokens, model, measures.task or None, *found, blocks, performance)
