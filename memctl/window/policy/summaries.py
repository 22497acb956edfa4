"""How to compress: the smallest summary that does, and the ways to make a context smaller, the best first
(rules.md#compression-triggers)."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from memctl.text.markdown import first_sentence
from memctl.window.policy.blocks import CODE, DATA, LIST, TEXT, CountTokens, TextBlock
from memctl.window.policy.contexts import Slice
from memctl.window.policy.measures import Measured, Measures
from memctl.window.policy.rules import MACRO_AWS

TIERS = (("micro", 50), ("phase", 300), ("macro", 800))  # the most tokens of each
REDUCTION = 0.12  # of the shared slice, at least
_VERBOSE = 60  # tokens of a paragraph; a shorter one has no reasoning to collapse
_EXCERPT = 200  # tokens of code that are worth an anchor
_ANCHOR = 25  # tokens of a hash with its lines
_PATH = re.compile(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]+\.\w{1,8}\b")
_SECURITY = re.compile(
    r"\b(?:auth\w*|passw\w+|secret|token|crypt\w*|permission\w*|sql|saniti[sz]\w*|csrf|xss)\b", re.IGNORECASE
)


class Tier(msgspec.Struct, frozen=True):
    """The summary to make: its tier and limit, tokens that its outcome lines need, and the part of the slice saved."""

    name: str
    most: int
    needs: int
    reduction: float
    why: str

    @property
    def is_enough(self) -> bool:
        return self.reduction >= REDUCTION


class Strategy(msgspec.Struct, frozen=True):
    """A way to make the context smaller: what it does, on which lines, and the tokens it would save."""

    number: int
    name: str
    saves: int
    lines: list[int]


def choose(shared: Slice, working_set: int, count: CountTokens) -> Tier:
    """The smallest tier that can hold an outcome line for each block of the slice that says more than a line."""
    long = [block for block in shared.blocks if block.kind in (TEXT, LIST)]
    outcomes = {block.text: count(first_sentence(block.text), "markdown") for block in long}
    # What stands there a second time needs no outcome of its own.
    gains = [(block, min(outcomes.pop(block.text, 0), block.tokens)) for block in long]
    gains = [(block, outcome) for block, outcome in gains if outcome < block.tokens]
    needs = sum(outcome for _, outcome in gains)
    name, most = next(((name, most) for name, most in TIERS if needs <= most), TIERS[-1])
    why = f"{len(gains)} blocks come to {needs:,} tokens of outcomes"
    if needs > most:
        why += ", more than it holds: the least of them have to go"
    if working_set > MACRO_AWS:
        name, most = TIERS[-1]
        why = f"mandatory: the working set has {working_set:,} tokens, more than {MACRO_AWS:,}; {why}"
    saved = sum(block.tokens for block, _ in gains) - min(needs, most)
    return Tier(name, most, needs, saved / shared.tokens if shared.tokens else 0.0, why)


def strategies(found: Measures, count: CountTokens) -> list[Strategy]:
    """What each way would save in a working set, in the order of preference."""
    content = found.content
    repeated = [item for item in content if item.overlap.earlier >= 0 and item.overlap.share >= 0.5]
    verbose = [item for item in content if item.block.kind == TEXT and item.block.tokens > _VERBOSE]
    verbose = [item for item in verbose if item not in repeated and not item.stale.share]
    stale = [item for item in content if item.stale.share]
    over = [
        item for item in stale if any(word in item.stale.why for word in ("resolved", "done", "archived", "expired"))
    ]
    pruned = [item for item in stale if item not in over]
    code = [item for item in content if _is_excerpt(item.block)]
    return [
        _strategy(
            1, "deduplicate unchanged plans and checklists", [(i, i.block.tokens * i.overlap.share) for i in repeated]
        ),
        _strategy(
            2,
            "collapse reasoning into outcome lines",
            [(i, i.block.tokens - count(first_sentence(i.block.text), "markdown")) for i in verbose],
        ),
        _paths(found, count),
        _strategy(4, "move resolved rationale into the memory", [(i, i.block.tokens * i.stale.share) for i in over]),
        _strategy(5, "prune superseded tasks", [(i, i.block.tokens * i.stale.share) for i in pruned]),
        _strategy(6, "replace long code by hash and lines", [(i, i.block.tokens - _ANCHOR) for i in code]),
    ]


def _strategy(number: int, name: str, items: list[tuple[Measured, float]]) -> Strategy:
    useful = [(item, saved) for item, saved in items if saved >= 1]
    return Strategy(number, name, int(sum(saved for _, saved in useful)), [item.block.line for item, _ in useful])


def _is_excerpt(block: TextBlock) -> bool:
    """Long code, unless it bears on security: that is kept as it is."""
    is_long = block.kind in (CODE, DATA) and block.tokens > _EXCERPT
    return is_long and not _SECURITY.search(block.text)


def _paths(found: Measures, count: CountTokens) -> Strategy:
    """Paths that are named more than twice, put into an index of anchors (three tokens each)."""
    counted = Counter(_PATH.findall(found.parsed.text))
    often = {path: number for path, number in counted.items() if number > 2}
    saved = sum((number - 1) * count(path, "markdown") - 3 * number for path, number in often.items())
    lines = [i.block.line for i in found.content if any(path in i.block.text for path in often)]
    return Strategy(3, "abstract repeated paths into an index", max(saved, 0), lines if saved > 0 else [])
