"""What every reader of a supplier's file does: rows in, products or reasons out."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lantern.money import Cents, from_supplier


class Product(NamedTuple):
    """A product as a supplier describes it."""

    sku: str
    name: str
    description: str
    price: Cents
    on_hand: int


class RejectedRow(NamedTuple):
    """A row that can't be imported, and why."""

    line: int
    reason: str


def normalise_sku(text: str) -> str:
    """The one form in which a SKU enters the shop; the table refuses every other (LRN-2025-09-19-001)."""
    sku = text.strip().upper()
    if not sku:
        raise ValueError("the SKU is empty")
    return sku


class Reader:
    """Reads CSV files; a supplier's own reader says which columns mean what."""

    supplier = ""
    encoding = "utf-8-sig"
    delimiter = ";"
    columns: tuple[str, str, str, str, str] = ("sku", "name", "description", "price", "stock")

    def rows(self, path: Path) -> Iterator[Product | RejectedRow]:
        with open(path, encoding=self.encoding, newline="") as file:
            for line, row in enumerate(csv.DictReader(file, delimiter=self.delimiter), 2):
                try:
                    sku, name, description, price, stock = (row[column] for column in self.columns)
                    yield Product(normalise_sku(sku), name.strip(), description, from_supplier(price), int(stock))
                except (KeyError, ValueError, ArithmeticError) as error:
                    yield RejectedRow(line, str(error))
