"""500 buyers, 20 lamps: exactly 20 orders, and no deadlock (DEC-2025-09-22-001)."""

from __future__ import annotations

import asyncio
import sys

import httpx

ADDRESS = {"email": "load@lantern.example", "country": "DE", "postcode": "10997"}
SKU = "TEST-20-LAMPS"  # on hand: 20, set up on staging before each run


async def buy(http: httpx.AsyncClient, number: int) -> int:
    cookies = {"visitor": f"last-lamp-{number}"}
    await http.put(f"/cart/lines/{SKU}", params={"pieces": 1}, cookies=cookies)
    return (await http.post("/orders", json=ADDRESS, cookies=cookies)).status_code


async def main() -> None:
    async with httpx.AsyncClient(base_url=sys.argv[1], timeout=60) as http:
        answers = await asyncio.gather(*(buy(http, number) for number in range(500)))
    assert answers.count(200) == 20, answers.count(200)
    assert answers.count(409) == 480, answers.count(409)


if __name__ == "__main__":
    asyncio.run(main())
