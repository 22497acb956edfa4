"""VAT: contained in every price, computed and rounded half up line by line (DEC-2025-09-15-001)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lantern.money import Cents

# Standard rates in percent of the countries whose buyers we charge VAT, as of 1 September 2025.
RATES = {
    "AT": 20,
    "BE": 21,
    "CZ": 21,
    "DE": 19,
    "DK": 25,
    "FR": 20,
    "IT": 22,
    "LU": 17,
    "NL": 21,
    "PL": 23,
    "SE": 25,
}


class Line(NamedTuple):
    """A line of an order: a product, pieces, and what one piece costs with VAT."""

    sku: str
    pieces: int
    price: Cents

    @property
    def gross(self) -> Cents:
        return Cents(self.pieces * self.price)


def contained(gross: Cents, rate: int) -> Cents:
    """The VAT in a price, rounded half up, by whole numbers alone."""
    return Cents((2 * gross * rate + 100 + rate) // (2 * (100 + rate)))


def of_order(lines: Iterable[Line], country: str) -> Cents:
    """The VAT of an order: the sum of its lines, so that a printed invoice adds up."""
    rate = RATES.get(country, 0)
    return Cents(sum(contained(line.gross, rate) for line in lines))
