"""The packing list: a slip for each parcel that is to be packed."""

from __future__ import annotations

from psycopg import AsyncConnection

# Several slips for an order are right: what is on hand goes first (partial shipments).
_ADD = """
INSERT INTO fulfilment.packing (order_id, lines)
SELECT order_id, jsonb_object_agg(sku, pieces) FROM checkout.order_line WHERE order_id = %s GROUP BY order_id
"""
_OPEN = "SELECT id, order_id, lines FROM fulfilment.packing WHERE packed_at IS NULL ORDER BY id"


async def add_slip(connection: AsyncConnection, order_id: int) -> None:
    """Put a paid order on the packing list, in the transaction that marks it as paid."""
    await connection.execute(_ADD, (order_id,))


async def open_slips(connection: AsyncConnection) -> list[tuple[int, int, dict[str, int]]]:
    """What is still to be packed, oldest first."""
    return await (await connection.execute(_OPEN)).fetchall()
