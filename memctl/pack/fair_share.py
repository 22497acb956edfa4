"""Choose which of the most important items of a pack are included whole, and which only by title.

A person who gives a larger budget must not lose an item: what a smaller budget names, a larger one names at least by
title. Four rules ensure this:

- Items that belong to the front of the pack (`Candidate.lead`) mostly come first. Items without text come last, since
  their titles say everything.
- Of the other items, short ones mostly come before long ones, so that no item takes the room of several others.
- An item that does not fit is skipped, and a shorter item after it may be whole. But it is whole only if there is also
  room for the titles of all items before it, because a larger budget may give its room to the skipped item.
- The room for these titles is given to other items only after all of the most important items had their turn.
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
    - `shortest_first` says that the item gets room before longer ones. `counted` says that it is one of the items of
      which a larger budget must not include fewer whole. Both are settings of the item's part (PackPart), but `counted`
      is False for an item without text.
    - `lead` is the item's weight if the item belongs to the front of the pack, and otherwise 0. Items with a greater
      `lead` mostly get room first.
    - `has_text` says whether the item has more than a title.
    """

    key: str
    cost: int
    title: int
    counted: bool
    shortest_first: bool
    lead: int
    has_text: bool


class Choice(NamedTuple):
    """The keys of the items that a pack includes whole, and of those that it only names by title, each in order."""

    whole: tuple[str, ...]
    titled: tuple[str, ...]


def in_turn(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates in the order in which they get room in a pack.

    The given `candidates` have the most important first. In the result, leading items come first, short items mostly
    come before long ones, and items without text come last.
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
    """Return which candidates are included whole, in at most `room` tokens, and which only by title.

    `ordered` are the candidates in the order of `in_turn`. `later` are items that may get other room
    later; here they only get room for their titles, in case they are left out then. All titles together take at most
    `for_titles` tokens. If the first candidate does not fit into `room` tokens, it may take up to `alone` tokens.
    """
    number, spent = 0, 0
    titles = sum(candidate.title for candidate in (*ordered, *later))
    for candidate in ordered:
        most = room if number else max(room, alone)
        if spent + candidate.cost + min(for_titles, titles - candidate.title) > most:
            break
        number, spent, titles = number + 1, spent + candidate.cost, titles - candidate.title
    left = room - spent - min(for_titles, titles)
    waiting = sorted(
        (*ordered[number:], *later),
        key=lambda candidate: (-candidate.lead, candidate.lead > 0 and not candidate.counted),
    )
    named = list(_titled(waiting, for_titles))
    keys, fillers = {candidate.key for candidate in named}, list[str]()
    for candidate in ordered[number:]:
        if candidate.key not in keys:
            break
        if candidate.cost <= left:
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
