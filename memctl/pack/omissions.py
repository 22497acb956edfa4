"""List what a pack leaves out: items by id and title, in groups by section or type of record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from memctl.pack.draft import Item, OmittedGroup, OmittedItem, OmittedItems
from memctl.record.kinds import KINDS
from memctl.text.markdown import one_line

TITLE = 80  # characters of a title among others on a line


def name(item: Item) -> str:
    """Return an item's id and title on one line; the title has at most 80 characters."""
    return one_line(f"{item.id} {shorten(omit(item), TITLE).title}")


def omit(item: Item) -> OmittedItem:
    """Return the id, title, type and section of an item, for the list of what a pack leaves out."""
    return OmittedItem(item.id, item.title, kind=item.kind if item.kind in KINDS else "", section=item.section)


def merge_repeats(left: Sequence[OmittedItem]) -> list[OmittedItem]:
    """Return omitted items with each title once, such as "26x Ping the worker (… -190)" with the id of the first.

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
    width: int,
    sections: Mapping[str, str],
) -> list[OmittedGroup]:
    """Group the items that a pack leaves out: by section, or by record type for items without a known section.

    - `left` are the items, those of one title merged. `totals` are the numbers of these items by section and record
      type, which the caller has counted already.
    - `listed` is how many of the items, from the first on, the pack lists by title; of the others, a group has only the
      number. If `listed` is 0, the result is a single group of all items.
    - `width` is the largest number of characters of a listed title, 0 for no limit.
    - `sections` are the titles of sections by marker.
    """
    if not left:
        return []
    if not listed:
        is_of_records = all(kind for _, kind in totals)
        command, noun = ("memctl list --open", "record") if is_of_records else ("", "item")
        return [OmittedGroup((), sum(totals.values()), command=command, noun=noun)]

    def group(section: str, kind: str) -> tuple[str, str]:
        return (section, "") if section in sections else ("", kind)

    groups: dict[tuple[str, str], list[OmittedItem]] = {group(*key): [] for key in totals}
    counts = Counter[tuple[str, str]]()
    for key, number in totals.items():
        counts[group(*key)] += number
    for each in left[:listed]:
        groups[group(each.section, each.kind)].append(shorten(each, width))
    more = {key: counts[key] - sum(each.number for each in items) for key, items in groups.items()}
    return [_group(*key, tuple(items), more[key], sections) for key, items in groups.items()]


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


@lru_cache(maxsize=4096)  # the text is built some dozens of times, mostly with the same lines
def shorten(left: OmittedItem, width: int) -> OmittedItem:
    """Return an omitted item with its title cut to at most `width` characters; 0 sets no limit."""
    title = one_line(left.title)
    if not width or len(title) <= width:
        return left
    return msgspec.structs.replace(left, title=f"{title[: width - 1].rstrip()}…")
