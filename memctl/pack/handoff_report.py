"""The report on a package as it is sent: how much of the context is in it, and that what must stay is.

What is checked: rules.md#compaction. Nothing is taken on trust: ids and paths are looked for in the finished text.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from memctl.pack.draft import Item
from memctl.pack.filling import CountTokens, Pack
from memctl.pack.handoff_request import HandoffRequest
from memctl.pack.handoff_scope import AIMS, LEAST, Scope
from memctl.text.phrases import some

_SHOWN = 5  # of what is missing, by name
_ESCAPED_END = re.compile(r"\\[nrt]")  # as quoted text in YAML has it
_WORD = re.compile(r"[A-Za-z0-9_./,-]+")


class Check(msgspec.Struct, frozen=True):
    """One line of the checklist: what was looked for, how much there is to be, what has only its title in the package,
    and what is missing.
    """

    name: str
    total: int
    missing: tuple[str, ...] = ()
    by_title: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        said = f"{self.name}: {self.total - len(self.missing):,} of {self.total:,}"
        said += f", {some(self.by_title, _SHOWN)} by title" if self.by_title else ""
        return said + (f", without {some(self.missing, _SHOWN)}" if self.missing else "")


class HandoffReport(msgspec.Struct, frozen=True):
    """What a package has: of `before` tokens of context `after`, the share that is not in it and the share that was to
    go, its `tokens` in all of `budget`, and the checklist. It should have at least `least` tokens.

    `removed` counts what is only named or not there, by why; with `is_chosen` not all that must stay has room, and the
    weightiest went in.
    """

    before: int
    after: int
    reduction: float
    aim: float
    removed: dict[str, int]
    tokens: int
    budget: int
    least: int
    checks: tuple[Check, ...]
    is_chosen: bool

    @property
    def lacking(self) -> list[Check]:
        return [check for check in self.checks if check.missing]

    @property
    def lines(self) -> list[str]:
        """The report for people."""
        there = f"{self.after:,} of them in the package: {math.floor(100 * self.reduction)}% less, aim {self.aim:.0%}"
        said = [f"context: {self.before:,} tokens, {there if self.after else 'none of them in the package'}"]
        if self.after and self.reduction < self.aim:
            said.append(f"the aim is not reached: nothing open goes from a package of less than {self.least:,} tokens")
        said += [f"left out: {number:,} {why}" for why, number in sorted(self.removed.items())]
        said += ["not all that must stay has room: the weightiest went in"] if self.is_chosen else []
        said += [check.told for check in self.checks]
        return [*said, f"package: {self.tokens:,} of {self.budget:,} tokens"]


def report(
    asked: HandoffRequest, pack: Pack, scope: Scope, written: Mapping[str, Item], count: CountTokens
) -> HandoffReport:
    """Measure a finished package, and look for everything that must be in it."""
    included = Counter(pack.included())
    there = [item for item in written.values() if included[item.id]]
    before = sum(scope.sizes.values())
    after = min(before, sum(count(f"{item.id} {item.title}\n{item.body}") for item in there))
    checks = tuple(_checks(asked, pack, scope, written, included))
    return HandoffReport(
        before=before,
        after=after,
        reduction=round(1 - after / before, 4) if before else 0.0,
        aim=AIMS[asked.kind],
        removed=dict(Counter(left.why or "of no room" for left in pack.left_out)),
        tokens=pack.tokens,
        budget=pack.budget,
        least=LEAST[asked.kind],
        checks=checks,
        is_chosen=any(check.missing for check in checks),
    )


def _checks(
    asked: HandoffRequest, pack: Pack, scope: Scope, written: Mapping[str, Item], included: Mapping[str, int]
) -> Iterator[Check]:
    words = frozenset(_words(pack.text))
    by_why: dict[str, list[str]] = {}
    for key, why in scope.keeps.items():
        by_why.setdefault(why, []).append(written[key].id)
    for why, ids in by_why.items():
        missing = _lacking(words, ids)
        by_title = tuple(one for one in ids if not included[one] and one not in missing)
        yield Check(why, len(ids), missing, by_title)
    for name, texts in (
        ("last file modifications", [path for path, _ in asked.changes]),
        ("ownership", asked.sections),
        ("what is said", [text for field in asked.said.__struct_fields__ for text in asked.said.lines(field)]),
    ):
        if texts:
            yield Check(name, len(texts), _lacking(words, texts))


def _lacking(words: frozenset[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The texts whose plain words don't all stand in a package, whatever its format does to other characters."""
    return tuple(text for text in texts if not words.issuperset(_words(text)))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ESCAPED_END.sub(" ", html.unescape(text))):
        stripped = word.strip("./,-_")
        if stripped:
            yield stripped
            yield from (part for part in re.split(r"[/,]", stripped) if part)
