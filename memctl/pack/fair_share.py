"""Choose which of the most important items of a pack are included whole, and which only by title.

A person who gives a larger budget must not lose an item: what a smaller budget names, a larger one names at least by
title. Four rules ensure this:

- Items that belong to the front of the pack (`Candidate.lead`) mostly come first. Items without text are never whole,
  since their titles say everything.
- Of the other items, short ones mostly come before long ones, so that no item takes the room of several others.
- An item that does not fit is skipped, and a shorter item after it may be whole. But the shorter one is whole only if
  its title has room, too, together with those of all items before it: a larger budget may include the skipped item
  whole, and then has only the title of the shorter one.
- Room is kept for all these titles. What they don't need is used only when each of the most important items had its
  turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2
from statistics import median_low
from typing import NamedTuple

_USUAL = 2  # times the median: up to this length items come in the order of their importance


class Candidate(NamedTuple):
    """An item that a pack may include whole or by title.

    - `key` identifies the item. `cost` are the tokens of the whole item, and `title` those of its title.
    - `shortest_first` says that the item gets room before longer ones. `counted` says that the item counts where a
      larger budget must not reduce the number of whole items. Both are settings of the item's part (PackPart), but
      `counted` is False for an item without text.
    - `lead` is the item's weight if the item belongs to the front of the pack, and otherwise 0. Items with a greater
      `lead` mostly get room first.
    - `has_text` says whether the item has more than a title; an item without is never whole.
    - `is_urgent` says that the item's title comes before those of others.
    """

    key: str
    cost: int
    title: int
    counted: bool
    shortest_first: bool
    lead: int
    has_text: bool
    is_urgent: bool = False


class Choice(NamedTuple):
    """The keys of the items that a pack includes whole, and of those that it only names by title, each in order."""

    whole: tuple[str, ...]
    titled: tuple[str, ...]


def in_turn(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they get room in a pack.

    The given `candidates` have the most important first. In the result, items of up to twice the median length come
    first, then those of up to four times, eight times and so on, and items without text last. Within each of these
    groups, items for the front of the pack (`Candidate.lead`) come first, then those with `shortest_first`, by length
    (rounded up to a power of two), then all others. Among equals, those with `counted` come first.
    """
    usual = _USUAL * median_low([candidate.cost for candidate in candidates if candidate.has_text] or [0])

    def order(candidate: Candidate) -> tuple[bool, int, int, bool, int, bool]:
        step = _doublings(candidate.cost, 1) if candidate.shortest_first and not candidate.lead else 0
        length = _doublings(candidate.cost, usual)
        return (
            not candidate.has_text,
            length,
            -candidate.lead,
            not (candidate.lead or candidate.shortest_first),
            step,
            not candidate.counted,
        )

    return sorted(candidates, key=order)


def _doublings(cost: int, start: int) -> int:
    """Return how often a length has to be doubled until it is not less than `cost`."""
    return max(0, ceil(log2(max(cost, 1) / max(start, 1))))


def choose(
    ordered: Sequence[Candidate], later: Sequence[Candidate], room: float, alone: float, for_titles: float
) -> Choice:
    """Return which candidates are included whole and which only by title, together in at most `room` tokens.

    `ordered` are the candidates in the order of `in_turn`. `later` are items that the caller may include whole in other
    room of the pack; in case it has too little, their titles get room here. All titles together take at most
    `for_titles` of the tokens. If the first candidate does not fit into `room`, it may take up to `alone` tokens.
    """
    number, spent = 0, 0
    titles = sum(candidate.title for candidate in (*ordered, *later))
    for candidate in ordered:
        most = room if number else max(room, alone)
        if not candidate.has_text or spent + candidate.cost + min(for_titles, titles - candidate.title) > most:
            break
        number, spent, titles = number + 1, spent + candidate.cost, titles - candidate.title
    left = room - spent - min(for_titles, titles)
    waiting = sorted(
        (*ordered[number:], *later),
        key=lambda each: (-each.lead, not each.is_urgent, each.lead > 0 and not each.counted),
    )
    named = list(_titled(waiting, for_titles))
    keys, fillers = {candidate.key for candidate in named}, list[str]()
    for candidate in ordered[number:]:
        if candidate.key not in keys:
            break
        if candidate.has_text and candidate.cost <= left:
            left -= candidate.cost
            fillers.append(candidate.key)
    whole = (*(candidate.key for candidate in ordered[:number]), *fillers)
    return Choice(whole, tuple(candidate.key for candidate in named if candidate.key not in fillers))


def _titled(waiting: Sequence[Candidate], room: float) -> Iterator[Candidate]:
    """Yield candidates from the first on while their titles have room together."""
    for candidate in waiting:
        room -= candidate.title
        if room < 0:
            return
        yield candidate
