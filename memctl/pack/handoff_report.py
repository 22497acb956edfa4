"""The report on a package: what compaction reached, what went and why, and that what must stay is in it.

What is checked: rules.md#compaction. Nothing is taken on trust: ids, paths and numbers are looked for in the finished
text.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from memctl.pack import handoff_context
from memctl.pack.compaction import Compacted
from memctl.pack.draft import Item
from memctl.pack.filling import Pack
from memctl.pack.handoff_context import DECISION, DETAIL, ISSUE, SECTION, TASK, HandoffContext
from memctl.pack.handoff_said import HandoffRequest
from memctl.text.phrases import some

_FORMS = ("whole", "in brief", "as a line each")
# How to get what must stay and had no room, by what it is; only these may give way, and only to what weighs more.
ELSEWHERE = {
    DECISION: "`memctl list --type decision --status accepted --sort importance`",
    ISSUE: "`memctl list --type issue --status open --sort severity`",
    DETAIL: "`memctl list --type learning --status active --sort importance`",
}
_FIGURES = "figures and paths in them"
_SHOWN = 5  # of what is missing or has gone, by name
# A number with a sign of what it counts, or a path: what a model can't make up, and what stands alike in every format.
_FIGURE = re.compile(r"(?<![\w.,-])\d[\d.,]*\d(?!\w)|(?<![\w.,-])\d(?![\w.,])")
_PATH = re.compile(r"(?<![\w/.-])[A-Za-z0-9_-]+(?:/[A-Za-z0-9_.-]*[A-Za-z0-9_])+")
_ESCAPED_END = re.compile(r"\\[nrt]")  # as quoted text in YAML has it
_WORD = re.compile(r"[A-Za-z0-9_./,-]+")


class Check(msgspec.Struct, frozen=True):
    """One line of the checklist: what was looked for, how much there is to be, and what of it is missing."""

    name: str
    total: int
    missing: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        said = f"{self.name}: {self.total - len(self.missing):,} of {self.total:,}"
        if self.missing:
            said += f", without {some(self.missing, _SHOWN)}"
        return said


class HandoffReport(msgspec.Struct, frozen=True):
    """What was made of a context: tokens before and after, the share that went and was to go, and the checklist.

    `removed` counts what went by why, `form` says how what must stay is written, `tokens` and `budget` are of the whole
    package, which should have at least `least`. With `is_chosen` not all that must stay has room: it went in by weight.
    """

    before: int
    after: int
    reduction: float
    aim: float
    removed: dict[str, int]
    form: str
    tokens: int
    budget: int
    least: int
    checks: tuple[Check, ...]
    is_chosen: bool = False

    @property
    def failed(self) -> list[Check]:
        may_lack = {*ELSEWHERE, _FIGURES} if self.is_chosen else ()
        return [check for check in self.checks if check.missing and check.name not in may_lack]

    @property
    def is_valid(self) -> bool:
        return not self.failed and self.tokens <= self.budget

    @property
    def lines(self) -> list[str]:
        """The report for people."""
        less = f"{self.reduction:.0%} less, aim {self.aim:.0%}"
        said = [f"context: {self.before:,} tokens, compacted to {self.after:,}: {less}"]
        if self.before and self.reduction < self.aim:
            said.append("the aim is not reached: all that is left must stay")
        said += [f"removed: {number:,} {why}" for why, number in sorted(self.removed.items())]
        said.append(f"what must stay is written {self.form}")
        said += [check.told for check in self.checks]
        lacking = [ELSEWHERE[check.name] for check in self.checks if check.missing and check.name in ELSEWHERE]
        if self.is_chosen and lacking:
            said.append(f"not all of that has room, the weightiest went in; the rest: {', '.join(lacking)}")
        below = f"; less than {self.least:,}, there is no more to say" if self.tokens < self.least else ""
        return [*said, f"package: {self.tokens:,} of {self.budget:,} tokens{below}"]


def report(
    asked: HandoffRequest,
    pack: Pack,
    compacted: Compacted,
    context: HandoffContext,
    written: Mapping[str, Item],
    level: int,
    least: int,
    *,
    is_chosen: bool = False,
) -> HandoffReport:
    """Look for everything that must be in a package."""
    return HandoffReport(
        before=compacted.before,
        after=compacted.after,
        reduction=round(compacted.reduction, 4),
        aim=compacted.aim,
        removed=dict(Counter(one.why for one in compacted.removed)),
        form=_FORMS[level],
        tokens=pack.tokens,
        budget=pack.budget,
        least=least,
        checks=tuple(_checks(asked, pack, context, written)),
        is_chosen=is_chosen,
    )


def _checks(asked: HandoffRequest, pack: Pack, context: HandoffContext, written: Mapping[str, Item]) -> Iterator[Check]:
    included = Counter(pack.included())
    words = frozenset(_words(pack.text))
    by_why: dict[str, list[str]] = {name: [] for name in (DECISION, ISSUE, TASK, DETAIL, SECTION)}
    must = [block for block in context.blocks if block.keeps]
    for block in must:
        by_why[block.keeps].append(written[block.key].id if block.key in written else block.key)
    for name, identifiers in by_why.items():
        if identifiers or name in (DECISION, ISSUE, TASK):
            lacking = [one for one in identifiers if not included[one] or not _has(words, one)]
            yield Check(name, len(identifiers), tuple(lacking))
    details = [written[block.key] for block in must if block.keeps == DETAIL and block.key in written]
    if figures := list(dict.fromkeys(figure for item in details for figure in _figures(item))):
        yield Check(_FIGURES, len(figures), _lacking(words, figures))
    if asked.changes:
        paths = [path for path, _ in asked.changes]
        yield Check("last file modifications", len(paths), _lacking(words, paths))
    if asked.sections:
        yield Check("ownership", len(asked.sections), _lacking(words, asked.sections))
    said = {"reason": (asked.said.reason,), "next actions": asked.said.immediate, "summary": (asked.said.summary,)}
    lacking = [name for name, texts in said.items() if not all(_has(words, text) for text in texts)]
    yield Check("what is said", len(said), tuple(lacking))


def _figures(item: Item) -> list[str]:
    lines = "\n".join(handoff_context.critical_lines(item.body))
    return [*_FIGURE.findall(lines), *_PATH.findall(lines)]


def _lacking(words: frozenset[str], texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if not _has(words, text))


def _has(words: frozenset[str], text: str) -> bool:
    """Whether the plain words of a text stand in a package, whatever its format does to other characters."""
    return words.issuperset(_words(text))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ESCAPED_END.sub(" ", html.unescape(text))):
        stripped = word.strip("./,-_")
        if stripped:
            yield stripped
            yield from (part for part in re.split(r"[/,]", stripped) if part)
