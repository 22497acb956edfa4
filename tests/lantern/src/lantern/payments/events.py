"""Where Paywheel's events come in: stored by their id, answered, and nothing else (DEC-2025-10-17-001)."""

from __future__ import annotations

import hashlib
import hmac
import os

from fastapi import APIRouter, HTTPException, Request, Response
from psycopg.types.json import Jsonb

from lantern import db

router = APIRouter()

_STORE = """
INSERT INTO payments.event (id, type, body) VALUES (%s, %s, %s)
    ON CONFLICT (id) DO NOTHING
"""


@router.post("/paywheel/events")
async def receive(request: Request) -> Response:
    """Keep an event and say so. Paywheel repeats what is not answered within 2 s."""
    raw = await request.body()
    if not is_signed(raw, request.headers.get("Paywheel-Signature", "")):
        raise HTTPException(400, "the signature is wrong")
    event = await request.json()
    async with db.transaction() as connection:
        await connection.execute(_STORE, (event["id"], event["type"], Jsonb(event)))
        await connection.execute("NOTIFY payment_event")
    return Response(status_code=200)


def is_signed(raw: bytes, signature: str) -> bool:
    """Whether Paywheel has signed a body, by the secret that only it and we have."""
    key = os.environ["LANTERN_PAYWHEEL_SECRET"].encode()
    return hmac.compare_digest(hmac.new(key, raw, hashlib.sha256).hexdigest(), signature)
