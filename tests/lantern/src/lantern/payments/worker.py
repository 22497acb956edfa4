"""The worker: acts on stored payment events, each one once, and does the jobs of the clock."""

from __future__ import annotations

from time import monotonic
from typing import Any

from psycopg import AsyncConnection

from lantern import db
from lantern.checkout import cart_store, orders
from lantern.fulfilment import packing
from lantern.settings import Settings

_NEXT = """
SELECT id, body FROM payments.event WHERE done_at IS NULL
 ORDER BY received_at LIMIT 1 FOR UPDATE SKIP LOCKED
"""
_DONE = "UPDATE payments.event SET done_at = now() WHERE id = %s"
_PAID = "UPDATE checkout.placed_order SET status = 'paid' WHERE token = %s AND status = 'pending' RETURNING id"
_FORGET = "DELETE FROM payments.event WHERE done_at < now() - interval '90 days'"


async def handle_next() -> bool:
    """Act on one event, in one transaction with the mark that it is done; False if there is none."""
    async with db.transaction() as connection:
        found = await (await connection.execute(_NEXT)).fetchone()
        if found is None:
            return False
        event_id, event = found
        await act(connection, event)
        await connection.execute(_DONE, (event_id,))
        return True


async def act(connection: AsyncConnection, event: dict[str, Any]) -> None:
    """What an event means for its order. It goes by the state that the event names, not by what came before it."""
    payment = event["payment"]
    if payment["state"] == "succeeded":
        paid = await (await connection.execute(_PAID, (payment["reference"],))).fetchone()
        if paid is not None:
            await packing.add_slip(connection, paid[0])


async def run(settings: Settings) -> None:
    """Handle events as they come, and once a minute what is due."""
    await db.open_pool(settings)
    last = 0.0
    async for _ in db.heard("payment_event", wait=1):
        while await handle_next():
            pass
        if monotonic() - last >= 60:
            last = monotonic()
            await orders.release_expired()
            await cart_store.expire()
            async with db.transaction() as connection:
                await connection.execute(_FORGET)
