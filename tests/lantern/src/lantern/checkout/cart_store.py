"""Carts: one row for each visitor, in PostgreSQL since 10 October 2025 (DEC-2025-10-08-001)."""

from __future__ import annotations

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from lantern import db

KEPT_DAYS = 14
_BATCH = 5_000  # rows that one statement deletes, so that no lock lasts

_READ = "SELECT lines FROM checkout.cart WHERE visitor_id = %s"
_WRITE = """
INSERT INTO checkout.cart AS old (visitor_id, lines, touched_at) VALUES (%s, %s, now())
    ON CONFLICT (visitor_id) DO UPDATE SET lines = excluded.lines, touched_at = now()
"""
_EXPIRE = """
DELETE FROM checkout.cart WHERE visitor_id IN (
    SELECT visitor_id FROM checkout.cart WHERE touched_at < now() - make_interval(days => %s) LIMIT %s
)
"""


async def read(visitor: str) -> dict[str, int]:
    """Pieces by SKU; a visitor without a cart has an empty one."""
    async with db.transaction() as connection:
        return await _lines(connection, visitor)


async def put(visitor: str, sku: str, pieces: int) -> None:
    """Have so many pieces of a product in the cart; 0 takes it out."""
    async with db.transaction() as connection:
        lines = await _lines(connection, visitor)
        lines = {**lines, sku: pieces} if pieces > 0 else {key: n for key, n in lines.items() if key != sku}
        await connection.execute(_WRITE, (visitor, Jsonb(lines)))


async def take(connection: AsyncConnection, visitor: str) -> dict[str, int]:
    """The cart that becomes an order, emptied in the order's own transaction."""
    lines = await _lines(connection, visitor)
    await connection.execute("DELETE FROM checkout.cart WHERE visitor_id = %s", (visitor,))
    return lines


async def expire() -> int:
    """Delete the carts that nobody touched for 14 days; how many there were."""
    deleted = 0
    while True:
        async with db.transaction() as connection:
            count = (await connection.execute(_EXPIRE, (KEPT_DAYS, _BATCH))).rowcount
        deleted += count
        if count < _BATCH:
            return deleted


async def _lines(connection: AsyncConnection, visitor: str) -> dict[str, int]:
    row = await (await connection.execute(_READ, (visitor,))).fetchone()
    return row[0] if row else {}
