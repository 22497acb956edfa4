"""Money is whole euro cents, everywhere and always (DEC-2025-09-15-001)."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import NewType

Cents = NewType("Cents", int)


def from_supplier(text: str) -> Cents:
    """A price such as `12,345` or `12.35` from a supplier's file, rounded half up to a cent."""
    amount = Decimal(text.strip().replace(",", "."))
    return Cents(int((amount * 100).quantize(Decimal(1), ROUND_HALF_UP)))


def shown(amount: Cents) -> str:
    """An amount as it is printed: `1.234,50 €`."""
    whole, cents = divmod(amount, 100)
    return f"{whole:,}".replace(",", ".") + f",{cents:02} €"
