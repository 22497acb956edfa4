"""Choose which of the most important items of a pack are included whole, and which only by title.

A larger budget never loses an item: an item that is whole or titled in a smaller budget is at least titled in a larger
one, and the number of whole items that are `counted` falls only where a leading item has become whole
(`draft.PackPart` explains `counted` and `shortest_first`). Four rules ensure this:

- Leading items come first, the weightiest before the others. Items without text come last: their title says it all.
- Short items get room before long ones, so that no item takes the room of several others. Lengths are compared by
  steps that double; within a step, `counted` items come first. An item that leads, or is not `shortest_first`, comes
  later only if it is longer than twice the median of the items with text.
- An item that does not fit is skipped, and a shorter item after it may be whole. In a larger budget the longer item may
  take that room. So the shorter item is whole only if its title and the titles of all items before it would fit, too.
- The room for these titles is given to other items only after all of the most important items had their turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2
from statistics import median_low
from typing import NamedTuple

_USUAL = 2  # times the median: up to this length items come in the order of their importance


class Candidate(NamedTuple):
    """An item that may be included: its key, and the tokens of the whole item (`cost`) and of its title (`title`).

    `counted` and `shortest_first` are the fields of the item's `PackPart`; an item without text is not counted. `lead`
    is the item's weight if the item comes before all parts of the pack (`draft.PackDraft.leading`), and otherwise 0.
    Both whole and by title, the item with the greatest `lead` comes first. `has_text` says whether it has a body.
    """

    key: str
    cost: int
    title: int
    counted: bool
    shortest_first: bool
    lead: int
    has_text: bool


class Choice(NamedTuple):
    """The keys of the items that a pack includes whole, and of the items that it only names by title, in order."""

    whole: tuple[str, ...]
    titled: tuple[str, ...]


def in_turn(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they get room: mostly the short ones first.

    `found` are the candidates, the most important first. The rules of the order are at the top of this module.
    """
    usual = _USUAL * median_low([one.cost for one in found if one.has_text] or [0])

    def order(one: Candidate) -> tuple[bool, int, int, bool, int, bool]:
        step = _doublings(one.cost, 1) if one.shortest_first and not one.lead else 0
        length = _doublings(one.cost, usual)
        return not one.has_text, length, -one.lead, not (one.lead or one.shortest_first), step, not one.counted

    return sorted(found, key=order)


def _doublings(cost: int, start: int) -> int:
    """Return how often a length has to be doubled until it is not less than `cost`."""
    return max(0, ceil(log2(max(cost, 1) / max(start, 1))))


def choose(
    ordered: Sequence[Candidate], later: Sequence[Candidate], room: float, alone: float, for_titles: float
) -> Choice:
    """Return which candidates are included whole, in at most `room` tokens, and which only by title.

    `ordered` are the candidates in the order of `in_turn`, and `later` those that only need a title here. The first one
    may take up to `alone` tokens if that is more than `room`. All titles together take at most `for_titles` tokens.
    """
    number, spent = 0, 0
    titles = sum(one.title for one in (*ordered, *later))
    for one in ordered:
        most = room if number else max(room, alone)
        if spent + one.cost + min(for_titles, titles - one.title) > most:
            break
        number, spent, titles = number + 1, spent + one.cost, titles - one.title
    left = room - spent - min(for_titles, titles)
    waiting = sorted((*ordered[number:], *later), key=lambda one: (-one.lead, one.lead > 0 and not one.counted))
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
