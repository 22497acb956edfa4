"""One pool of connections per process, and transactions on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool

from lantern.settings import Settings

_pools: list[AsyncConnectionPool] = []


async def open_pool(settings: Settings) -> None:
    """Open the process's pool; the second call of a process is a mistake and fails."""
    assert not _pools
    pool = AsyncConnectionPool(settings.database, max_size=settings.pool_size, timeout=settings.pool_wait, open=False)
    await pool.open(wait=True)
    _pools.append(pool)


async def close_pool() -> None:
    """Wait for what is under way, then close."""
    await _pools.pop().close()


@asynccontextmanager
async def transaction() -> AsyncIterator[AsyncConnection]:
    """A connection with a transaction: committed at the end of the block, rolled back by an exception.

    Await nothing but the database inside: the connection is held all the while (LRN-2025-10-31-001).
    """
    async with _pools[0].connection() as connection:
        yield connection


async def heard(channel: str, wait: float) -> AsyncIterator[bool]:
    """Whether a NOTIFY came on a channel, again and again, after `wait` seconds at the latest.

    Keeps one of the pool's connections for itself, which PgBouncer would not allow (DEC-2025-10-30-001).
    """
    async with _pools[0].connection() as connection:
        await connection.set_autocommit(True)
        await connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
        while True:
            yield bool([notice async for notice in connection.notifies(timeout=wait, stop_after=1)])
