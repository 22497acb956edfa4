"""Distances between spellings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.words import distance, nearest


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("pool", "pool", 0),
        ("pol", "pool", 1),
        ("tiemout", "timeout", 1),
        ("cahce", "cache", 1),
        ("", "ab", 2),
        ("abc", "ca", 3),
    ],
)
def test_distance_is_the_number_of_typing_errors(one: str, other: str, apart: int) -> None:
    assert distance(one, other, 5) == distance(other, one, 5) == apart


def plainly(one: str, other: str) -> int:
    """Optimal string alignment as it is defined."""
    if not one or not other:
        return len(one) + len(other)
    best = min(
        plainly(one[:-1], other) + 1,
        plainly(one, other[:-1]) + 1,
        plainly(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    )
    if len(one) > 1 and len(other) > 1 and one[-2:] == other[-2:][::-1]:
        best = min(best, plainly(one[:-2], other[:-2]) + 1)
    return best


@given(st.text(alphabet="abc", max_size=5), st.text(alphabet="abc", max_size=5), st.integers(0, 3))
def test_distance_is_exact_up_to_its_limit(one: str, other: str, limit: int) -> None:
    assert distance(one, other, limit) == min(plainly(one, other), limit + 1)


def test_nearest_returns_only_the_closest_words() -> None:
    assert nearest("resrvation", ["reservations", "reservation", "preservation"]) == ["reservation"]
    assert nearest("leter", ["letter", "later", "latter"]) == ["letter", "later"]


def test_nearest_allows_one_error_in_short_words() -> None:
    assert nearest("reveal", ["repeat"]) == []
    assert nearest("certficaet", ["certificate"]) == ["certificate"]


def test_replaced_letter_can_count_as_two_errors() -> None:
    assert nearest("weak", ["week"]) == ["week"]
    assert nearest("weak", ["week"], 2) == []
    assert nearest("sqlcypher", ["sqlcipher"], 2) == ["sqlcipher"]
    assert distance("weak", "week", 2, 2) == 2
