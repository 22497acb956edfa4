"""List what a pack leaves out: items by id and title, in groups by section or type of record."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from memctl.pack.draft import Item, OmittedGroup, OmittedItem, OmittedItems
from memctl.record.kinds import KINDS
from memctl.text.fit import cut
from memctl.text.markdown import one_line

TITLE = 80  # characters of a title among others on a line

_SAMPLE = 500  # lines from which the number of groups is known
_SHORTER = 0.6  # of the tokens of an id that "…-165" saves
_HEADING = "x" * 25  # as long as the heading of a group, and the line that counts its other items


class Form(NamedTuple):
    """How lines are written: the most characters of a title (0: whole), and whether ids begin where they differ."""

    width: int = 0
    has_short_ids: bool = False


FORMS = (Form(), Form(60), Form(45), Form(36), Form(36, has_short_ids=True))  # tried in turn


class TitleCost(msgspec.Struct, frozen=True):
    """The tokens of titles in a list: of an id with what is around it, and of a byte of a title."""

    id: float
    byte: float

    @property
    def least(self) -> float:
        """The least tokens of a line."""
        return (1 - _SHORTER) * self.id

    def of(self, title: str) -> int:
        """Return the tokens of a title with its id, on a line of its own."""
        return math.ceil(self.id + self.byte * len(title.encode(errors="replace")))


class ListPlan(NamedTuple):
    """Which lines a list has: how many, from the first on, in which form, and their tokens."""

    number: int = 0
    form: Form = FORMS[0]
    tokens: float = 0.0


def plan(lines: Sequence[OmittedItem], cost: TitleCost, all_named: float, share: float, least: int) -> ListPlan:
    """Return the lines that a list may have.

    All of them, in the first form that needs at most `all_named` tokens; if none does, those that fit into `share`
    tokens, but at least `least`.
    """
    if len(lines) * cost.least <= all_named:
        for form in FORMS:
            if (tokens := spent(lines, cost, form)) <= all_named:
                return ListPlan(len(lines), form, tokens)
    result = ListPlan()
    for form in FORMS[:-1]:
        number, tokens = 0, 0.0
        for tokens_of_line in _costs(lines, cost, form):
            if tokens + tokens_of_line > share and number >= least:
                break
            number, tokens = number + 1, tokens + tokens_of_line
        result = ListPlan(min(number, len(lines)), form, tokens)
        if tokens <= share:
            break
    return result


def spent(lines: Sequence[OmittedItem], cost: TitleCost, form: Form) -> float:
    """Return the tokens of lines in a form, with the headings of their groups."""
    return sum(_costs(lines, cost, form))


def _costs(lines: Sequence[OmittedItem], cost: TitleCost, form: Form) -> Iterator[float]:
    """Yield the tokens of each line, the first with those of the groups' headings."""
    headings = len({(each.section, each.kind) for each in islice(lines, _SAMPLE)}) * cost.of(_HEADING)
    before: dict[tuple[str, str], str] = {}
    for each in lines:
        tokens: float = headings + cost.of(shorten(each, form.width).line)
        day = each.id.rpartition("-")[0]
        if form.has_short_ids and day and before.get((each.section, each.kind)) == day:
            tokens -= _SHORTER * cost.id
        before[each.section, each.kind] = day
        headings = 0
        yield tokens


def name(item: Item) -> str:
    """Return an item's id and title on one line; the title has at most 80 characters."""
    return one_line(f"{item.id} {cut(one_line(item.title), TITLE)}")


def omit(item: Item) -> OmittedItem:
    """Return the id, title, type and section of an item, for the list of what a pack leaves out."""
    return OmittedItem(item.id, item.title, kind=item.kind if item.kind in KINDS else "", section=item.section)


def merge_repeats(left: Sequence[OmittedItem]) -> list[OmittedItem]:
    """Return omitted items with each title once: "26x Ping the worker (… -190)", with the id of the first.

    Items of several sections, types or reasons stay apart. The result is in the order of the first items.
    """
    if len({each.title for each in left}) == len(left):
        return list(left)
    by_title: dict[tuple[str, ...], list[OmittedItem]] = {}
    for each in left:
        by_title.setdefault((each.title, each.kind, each.section, each.why), []).append(each)
    return [_with_number(same) if len(same) > 1 else same[0] for same in by_title.values()]


def _with_number(same: Sequence[OmittedItem]) -> OmittedItem:
    """Return the first of several items of one title, with their number and the end of the last one's id."""
    first, last = same[0].id, same[-1].id
    common = first.rpartition("-")[0]
    end = last.removeprefix(common) if common and last.startswith(f"{common}-") else last
    title = f"{len(same)}x {one_line(same[0].title)} (… {end})"
    return OmittedItems(first, title, same[0].why, same[0].kind, same[0].section, len(same))


def groups(
    left: Sequence[OmittedItem],
    totals: Mapping[tuple[str, str], int],
    listed: int,
    form: Form,
    sections: Mapping[str, str],
) -> list[OmittedGroup]:
    """Group the items that a pack leaves out: by section, or by record type for items without a known section.

    - `left` are the items, those of one title merged. `totals` are the numbers of these items by section and type.
    - `listed` is how many of the items, from the first on, the pack lists by title; of the others, a group has only the
      number. If `listed` is 0, the result is a single group of all items.
    - `form` is how the lines are written.
    - `sections` are the titles of sections by marker.
    """
    if not left:
        return []
    if not listed:
        return [counted(sum(totals.values()), of_records=all(kind for _, kind in totals))]

    def group(section: str, kind: str) -> tuple[str, str]:
        return (section, "") if section in sections else ("", kind)

    groups: dict[tuple[str, str], list[OmittedItem]] = {group(*key): [] for key in totals}
    counts = Counter[tuple[str, str]]()
    for key, number in totals.items():
        counts[group(*key)] += number
    for each in left[:listed]:
        groups[group(each.section, each.kind)].append(shorten(each, form.width))
    more = {key: counts[key] - sum(each.number for each in items) for key, items in groups.items()}
    if form.has_short_ids:
        groups = {key: _with_short_ids(items) for key, items in groups.items()}
    return [_group(*key, tuple(items), more[key], sections) for key, items in groups.items()]


def counted(number: int, *, of_records: bool) -> OmittedGroup:
    """Return a group that only counts items."""
    command, noun = ("memctl list --open", "record") if of_records else ("", "item")
    return OmittedGroup((), number, command=command, noun=noun)


def _with_short_ids(items: Sequence[OmittedItem]) -> list[OmittedItem]:
    """Return items with "…-165" in place of an id that begins as the one before it, such as ISS-2026-02-28-164."""
    shown, before = [], ""
    for each in items:
        day, _, number = each.id.rpartition("-")
        shown.append(msgspec.structs.replace(each, id=f"…-{number}") if day and day == before else each)
        before = day
    return shown


def _group(
    marker: str, kind: str, listed: tuple[OmittedItem, ...], more: int, sections: Mapping[str, str]
) -> OmittedGroup:
    if marker:
        name, command = f"{marker} {one_line(sections[marker])}", f"memctl list --open --section {marker[1:]}"
        return OmittedGroup(listed, more, name, "section", marker, command, "record")
    if kind:
        command = f"memctl list --open --type {kind}"
        return OmittedGroup(listed, more, f"{kind}s".capitalize(), f"{kind}s", "", command, kind)
    return OmittedGroup(listed, more)


def shorten(left: OmittedItem, width: int) -> OmittedItem:
    """Return an omitted item with its title cut to at most `width` characters; 0 sets no limit."""
    title = one_line(left.title)
    if not width or len(title) <= width:
        return left
    return msgspec.structs.replace(left, title=f"{title[: width - 1].rstrip()}…")
