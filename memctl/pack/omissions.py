"""List what a pack leaves out: items by id and title, in groups by section or type of record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from memctl.pack.draft import Item, OmittedGroup, OmittedItem
from memctl.record.kinds import KINDS
from memctl.text.markdown import one_line

TITLE = 80  # characters of a title among others on a line


def name(item: Item) -> str:
    """Return an item's id and title on one line; the title has at most 80 characters."""
    return one_line(f"{item.id} {shorten(omit(item), TITLE).title}")


def omit(item: Item) -> OmittedItem:
    """Return the id, title, type and section of an item, for the list of what a pack leaves out."""
    return OmittedItem(item.id, item.title, kind=item.kind if item.kind in KINDS else "", section=item.section)


def groups(
    left: list[OmittedItem], totals: Mapping[tuple[str, str], int], listed: int, width: int, sections: Mapping[str, str]
) -> list[OmittedGroup]:
    """Group the items that a pack leaves out: by section, or by record type for items without a known section.

    - `left` are the items. `totals` are the numbers of these items by section and record type, which the caller has
      counted already.
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
        return [OmittedGroup((), len(left), command=command, noun=noun)]

    def group(section: str, kind: str) -> tuple[str, str]:
        return (section, "") if section in sections else ("", kind)

    groups: dict[tuple[str, str], list[OmittedItem]] = {group(*key): [] for key in totals}
    counts = Counter[tuple[str, str]]()
    for key, number in totals.items():
        counts[group(*key)] += number
    for each in left[:listed]:
        groups[group(each.section, each.kind)].append(shorten(each, width))
    return [_group(*key, tuple(items), counts[key] - len(items), sections) for key, items in groups.items()]


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
