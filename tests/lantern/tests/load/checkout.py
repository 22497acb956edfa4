"""Buyers who order at the same time: `checkout.py --buyers 60 --minutes 10 --paywheel stub`."""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time

import httpx

ADDRESS = {"email": "load@lantern.example", "country": "DE", "postcode": "10997"}
STUB = "http://paywheel-stub:9000"  # answers with latencies recorded on 20 October: p50 0.9 s, p95 3.1 s


async def buy(http: httpx.AsyncClient, sku: str) -> tuple[bool, float]:
    """Put a lamp into a fresh cart and order it: whether it worked, and the seconds that the order took."""
    cookies = {"visitor": f"load-{random.getrandbits(64):x}"}
    await http.put(f"/cart/lines/{sku}", params={"pieces": 1}, cookies=cookies)
    start = time.perf_counter()
    answer = await http.post("/orders", json=ADDRESS, cookies=cookies)
    return answer.is_success, time.perf_counter() - start


async def keep_buying(http: httpx.AsyncClient, skus: list[str], until: float) -> list[tuple[bool, float]]:
    """One buyer, order after order."""
    done = []
    while time.monotonic() < until:
        done.append(await buy(http, random.choice(skus)))
        await asyncio.sleep(random.expovariate(1 / 5))
    return done


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shop", default="https://staging.lantern.example")
    parser.add_argument("--buyers", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--paywheel", choices=("stub", "sandbox"), default="stub")
    given = parser.parse_args()
    headers = {"Lantern-Paywheel": STUB} if given.paywheel == "stub" else {}
    async with httpx.AsyncClient(base_url=given.shop, headers=headers, timeout=30) as http:
        skus = [product["sku"] for product in (await http.get("/products")).json()]
        until = time.monotonic() + given.minutes * 60
        buyers = await asyncio.gather(*(keep_buying(http, skus, until) for _ in range(given.buyers)))
    orders = [order for done in buyers for order in done]
    failed = sum(not worked for worked, _ in orders)
    p95 = statistics.quantiles((seconds for _, seconds in orders), n=20)[18]
    rate = (len(orders) - failed) / (given.minutes * 60)
    print(
        f"orders {len(orders) - failed:,}  failed {failed:,} ({100 * failed / len(orders):.1f} %)"
        f"  p95 {p95:.1f} s  {rate:.1f} orders/s"
    )


if __name__ == "__main__":
    asyncio.run(main())
