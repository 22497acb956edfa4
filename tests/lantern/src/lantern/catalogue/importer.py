"""The nightly import: one supplier's file, one transaction, all of it or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lantern import db
from lantern.catalogue.readers.base import Product, Reader, RejectedRow

# A file with fewer rows than this share of the last one is taken for a broken export.
_SMALLEST_SHARE = 0.8

_STAGE = "COPY staging.product (supplier, sku, name, description, price, on_hand) FROM STDIN"
_COUNT = "SELECT count(*) FROM catalogue.product WHERE supplier = %s"


class SuspiciousFile(Exception):
    """A file that looks so unlike the last one that a person has to look at it."""


@dataclass
class Report:
    """What became of a file, for the mail in the morning."""

    supplier: str
    imported: int = 0
    rejected: list[RejectedRow] = field(default_factory=list)

    def text(self) -> str:
        """The report as the body of a mail."""
        lines = [f"{self.supplier}: {self.imported} products, {len(self.rejected)} rows rejected"]
        return "\n".join([*lines, *(f"  line {row.line}: {row.reason}" for row in self.rejected)])


async def import_file(reader: Reader, path: Path) -> Report:
    """Read a supplier's file into `catalogue.product`; a file that fails changes nothing.

    Raises SuspiciousFile if it has far fewer products than the supplier had before.
    """
    report = Report(reader.supplier)
    products = list(_good(reader, path, report))
    async with db.transaction() as connection:
        cursor = await connection.execute(_COUNT, (reader.supplier,))
        before = (await cursor.fetchone())[0]
        if len(products) < before * _SMALLEST_SHARE:
            raise SuspiciousFile(f"{path.name}: {len(products)} products where there were {before}")
        await connection.execute("TRUNCATE staging.product")
        async with connection.cursor().copy(_STAGE) as copy:
            for product in products:
                await copy.write_row((reader.supplier, *product))
        report.imported = (await connection.execute(db.sql("catalogue/upsert.sql"))).rowcount
    return report


def _good(reader: Reader, path: Path, report: Report) -> list[Product]:
    """The rows of a file that can be taken; the others go into the report."""
    products: dict[str, Product] = {}
    for row in reader.rows(path):
        if isinstance(row, RejectedRow):
            report.rejected.append(row)
        else:
            products[row.sku] = row  # of two rows with one SKU the later one is right, says every supplier
    return list(products.values())
