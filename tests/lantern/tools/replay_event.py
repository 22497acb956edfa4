"""Send a stored event of Paywheel to a shop, once or many times: `replay_event.py EVENT.json --times 50 --parallel`."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import os
from pathlib import Path

import httpx


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("event", type=Path)
    parser.add_argument("--shop", default="http://localhost:8000")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--parallel", action="store_true")
    given = parser.parse_args()
    raw = given.event.read_bytes()
    key = os.environ["LANTERN_PAYWHEEL_SECRET"].encode()
    headers = {"Paywheel-Signature": hmac.new(key, raw, hashlib.sha256).hexdigest()}

    async with httpx.AsyncClient(base_url=given.shop, headers=headers) as http:

        async def send() -> None:
            answer = await http.post("/paywheel/events", content=raw)
            print(answer.status_code, answer.reason_phrase)

        if given.parallel:
            await asyncio.gather(*(send() for _ in range(given.times)))
        else:
            for _ in range(given.times):
                await send()


if __name__ == "__main__":
    asyncio.run(main())
