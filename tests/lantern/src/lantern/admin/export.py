"""The orders of a month as the tax adviser wants them: CSV, one line an order."""

from __future__ import annotations

import csv
from datetime import date
from typing import TextIO

from lantern import db

COLUMNS = ("invoice_number", "placed_at", "country", "total", "vat")
_MONTH = """
SELECT invoice_number, placed_at, country, total, vat FROM admin.order_list
 WHERE status = 'paid' AND placed_at >= %(first)s AND placed_at < %(first)s::date + interval '1 month'
"""


async def export_month(month: date, file: TextIO) -> int:
    """Write the paid orders of the month that begins on a day; how many there are. Amounts are in cents."""
    writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
    writer.writerow(COLUMNS)
    async with db.transaction() as connection:
        rows = await (await connection.execute(_MONTH, {"first": month})).fetchall()
    writer.writerows(reversed(rows))
    return len(rows)
