"""Choose which of the most important items a budget holds whole, and which only by title.

A greater budget loses none of them: what is whole or titled in a smaller budget is at least titled in a greater one,
and the number of whole items that are `counted` does not fall. Three rules see to it:

- Long items come after short ones, in steps that double: no item takes the room of several others. Within a step
  those come first that are `counted`. Of items that are not `shortest_first` only those of more than twice the usual
  length come later.
- An item that has no room is skipped. A shorter one behind it may be whole, and loses this place to the longer one in
  a greater budget. So it is whole only if its title, and those of all before it, would have room as well.
- Other items get the room that is kept for these titles only after all most important ones had their turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2
from statistics import median_low
from typing import NamedTuple

_USUAL = 2  # times the median: up to this length items come in the order of their importance


class Candidate(NamedTuple):
    """An item by its key, its length as a whole and that of its title (tokens).

    `counted` and `shortest_first` are those of its part. The titles of leading items come first.
    """

    key: str
    cost: int
    title: int
    counted: bool
    shortest_first: bool
    is_leading: bool


class Choice(NamedTuple):
    """The keys of the items that are whole, and of those that are titled instead, in the order in which they come."""

    whole: tuple[str, ...]
    titled: tuple[str, ...]


def in_turn(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they get room; `found` are they by importance."""
    usual = _USUAL * median_low([one.cost for one in found]) if found else 0

    def order(one: Candidate) -> tuple[int, bool, int, bool]:
        step = _doublings(one.cost, 1) if one.shortest_first else 0
        return _doublings(one.cost, usual), not one.shortest_first, step, not one.counted

    return sorted(found, key=order)


def _doublings(cost: int, start: int) -> int:
    """Return how often a length has to be doubled until it is not less than `cost`."""
    return max(0, ceil(log2(max(cost, 1) / max(start, 1))))


def choose(ordered: Sequence[Candidate], room: float, alone: float, for_titles: float) -> Choice:
    """Return which candidates are whole in `room` tokens, and which have a title instead.

    `ordered` are the candidates by their turn. `alone` is the room for the first item, if it has none otherwise;
    `for_titles` is the most that titles may take.
    """
    number, spent = 0, 0
    titles = sum(one.title for one in ordered)
    for one in ordered:
        most = room if number else max(room, alone)
        if spent + one.cost + min(for_titles, titles - one.title) > most:
            break
        number, spent, titles = number + 1, spent + one.cost, titles - one.title
    left = room - spent - min(for_titles, titles)
    waiting = sorted(ordered[number:], key=lambda one: not one.is_leading)
    named = list(_titled(waiting, for_titles))
    keys, fillers = {one.key for one in named}, list[str]()
    for one in ordered[number:]:
        if one.key not in keys:
            break
        if one.cost <= left:
            left -= one.cost
            fillers.append(one.key)
    whole = (*(one.key for one in ordered[:number]), *fillers)
    return Choice(whole, tuple(one.key for one in named if one.key not in fillers))


def _titled(waiting: Sequence[Candidate], room: float) -> Iterator[Candidate]:
    """Yield candidates from the first on while their titles have room together."""
    for one in waiting:
        room -= one.title
        if room < 0:
            return
        yield one
