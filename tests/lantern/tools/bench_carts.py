"""Measure reads and writes of carts: 200 a second for some minutes, against each store that is named."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Awaitable, Callable

import psycopg
import redis.asyncio

CARTS = 1_200_000  # as many as 14 days would bring
CART = json.dumps({"RF-200": 1, "BW-7714": 2})

Query = Callable[[str], Awaitable[object]]


async def stores(database: str) -> dict[str, tuple[Query, Query]]:
    """For each store how to read a cart and how to write one."""
    cache = redis.asyncio.Redis()
    connection = await psycopg.AsyncConnection.connect(database, autocommit=True)
    read = "SELECT lines FROM {} WHERE visitor_id = %s"
    write = "INSERT INTO {} VALUES (%s, %s) ON CONFLICT (visitor_id) DO UPDATE SET lines = excluded.lines"

    def table(name: str) -> tuple[Query, Query]:
        return (
            lambda key: connection.execute(read.format(name), (key,)),
            lambda key: connection.execute(write.format(name), (key, CART)),
        )

    return {
        "redis": (lambda key: cache.hgetall(key), lambda key: cache.hset(key, "lines", CART)),
        "postgresql": table("checkout.cart"),
        "unlogged": table("bench.cart_unlogged"),
    }


async def timed(query: Query, seconds: float) -> list[float]:
    """How many milliseconds each of 200 queries a second takes."""
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        await query(f"visitor-{random.randrange(CARTS)}")
        taken.append((time.perf_counter() - start) * 1_000)
        await asyncio.sleep(1 / 200)
    return taken


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", default="postgresql://lantern@localhost/lantern")
    parser.add_argument("--minutes", type=float, default=10)
    given = parser.parse_args()
    for name, queries in (await stores(given.database)).items():
        for what, query in zip(("read", "write"), queries, strict=True):
            marks = statistics.quantiles(await timed(query, given.minutes * 60), n=20)
            print(f"{name:12} {what:6} p50 {marks[9]:.1f} ms  p95 {marks[18]:.1f} ms")


if __name__ == "__main__":
    asyncio.run(main())
