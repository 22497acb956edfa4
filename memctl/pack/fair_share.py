"""Choose which of the most important items of a pack are included whole, and which only by title.

A person who gives a larger budget must not lose an item: what a smaller budget names, a larger one names at least by
title. Two rules ensure this:

- Items that belong to the front of the pack mostly come first, the heaviest before the others. Items much longer than
  usual come later, so that none takes the room of several others, and those without text are never whole, since their
  titles say everything.
- Items are whole in this order until one has no room. Room is kept for the titles of all that follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log2
from statistics import median_low

from memctl.pack.draft import Item
from memctl.pack.pack_text import PackText

_USUAL = 2  # times the median: up to this length items come in the order of their importance


def in_turn(writer: PackText, items: Sequence[Item]) -> list[Item]:
    """Return items in the order in which they get room in a pack; the given ones have the most important first.

    Items of up to twice the median length come first, then those of up to four times, eight times and so on, and items
    without text last. Within each of these groups, items for the front of the pack come first, by their weight, then
    those of parts with `shortest_first`, by length (rounded up to a power of two), then all others.
    """
    usual = _USUAL * median_low([writer.room_of(item) for item in items if item.has_text] or [1])

    def order(item: Item) -> tuple[bool, int, int, bool, int]:
        lead, is_by_length = writer.lead_of(item), writer.part_of(item).shortest_first
        step = _doublings(writer.room_of(item), 1) if is_by_length and not lead else 0
        return not item.has_text, _doublings(writer.room_of(item), usual), -lead, not (lead or is_by_length), step

    return sorted(items, key=order)


def _doublings(tokens: int, start: int) -> int:
    """Return how often a length has to be doubled until it is not less than `tokens`."""
    return max(0, ceil(log2(max(tokens, 1) / start)))


def choose(
    writer: PackText, ordered: Sequence[Item], later: Sequence[Item], room: float, alone: float, for_titles: float
) -> tuple[list[Item], list[Item]]:
    """Return which items are included whole and which only by title, together in at most `room` tokens.

    `ordered` are the items in the order of `in_turn`. `later` are items that the caller may include whole in other room
    of the pack; in case it has too little, their titles get room here. All titles together take at most `for_titles` of
    the tokens. If the first item does not fit into `room`, it may take up to `alone` tokens.
    """
    whole: list[Item] = []
    titles = sum(writer.title_cost(item) for item in (*ordered, *later))
    for item in ordered:
        most = room if whole else max(room, alone)
        others = titles - writer.title_cost(item)
        cost = writer.room_of(item)
        if item.has_text and cost + min(for_titles, others) <= most:
            whole.append(item)
            room, titles = room - cost, others
    keys = {item.key for item in whole}
    waiting = [item for item in (*ordered, *later) if item.key not in keys]
    waiting.sort(key=lambda item: (-writer.lead_of(item), not writer.is_urgent(item)))
    return whole, _titled(writer, waiting, for_titles)


def _titled(writer: PackText, waiting: Iterable[Item], room: float) -> list[Item]:
    """Return items from the first on while their titles have room together."""
    titled: list[Item] = []
    for item in waiting:
        room -= writer.title_cost(item)
        if room < 0:
            break
        titled.append(item)
    return titled
