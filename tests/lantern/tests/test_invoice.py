"""20,000 orders of the old shop: the VAT and the total of each are the sums of its printed lines."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

from lantern.checkout import vat
from lantern.checkout.vat import Line
from lantern.money import Cents

ORDERS = Path(__file__).parent / "data" / "old_orders.csv"  # of the old shop, not in the repository


def test_each_order_adds_up() -> None:
    with open(ORDERS, newline="") as file:
        for _, rows in groupby(csv.DictReader(file), key=lambda row: row["order"]):
            lines = [Line(row["sku"], int(row["pieces"]), Cents(int(row["price"]))) for row in rows]
            printed = [vat.contained(line.gross, vat.RATES["DE"]) for line in lines]
            assert vat.of_order(lines, "DE") == sum(printed)


def test_half_a_cent_is_rounded_up() -> None:
    assert vat.contained(Cents(119), 19) == 19
    assert vat.contained(Cents(1), 100) == 1
    assert vat.contained(Cents(3), 20) == 1
