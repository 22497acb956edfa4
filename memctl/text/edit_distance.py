"""How far apart two words are spelled."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST = 4  # letters; a shorter word has too many neighbours to guess from
_TWO_SLIPS = 8  # letters from which on two slips are forgiven; measured on bench/labelled against 6 and 7


def nearest(word: str, candidates: Iterable[str]) -> list[str]:
    """The candidates spelled most like a word, if any is near enough: one slip, or two in a word of 8 letters."""
    limit = 1 if len(word) < _TWO_SLIPS else 2
    found: list[str] = []
    for candidate in candidates:
        apart = distance(word, candidate, limit)
        if apart < limit:
            limit, found = apart, []
        if apart == limit:
            found.append(candidate)
    return found


def distance(one: str, other: str, limit: int) -> int:
    """How many letters must be put in, left out, changed or swapped with the next (optimal string alignment).

    More than `limit` is told as `limit + 1`, and found out sooner.
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    far = limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [min(i, far)] + [far] * len(other)
        for j in range(max(1, i - limit), min(len(other), i + limit) + 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other[j - 1]))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other[j - 1]:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(row) > limit:
            return far
    return min(row[-1], far)
