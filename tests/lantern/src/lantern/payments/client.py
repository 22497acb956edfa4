"""What we ask of Paywheel."""

from __future__ import annotations

from typing import NamedTuple

import httpx

from lantern.money import Cents
from lantern.settings import Settings


class Payment(NamedTuple):
    """A payment that was begun; both texts are empty while we don't know whether it was."""

    id: str
    url: str


UNKNOWN = Payment("", "")


async def create_payment(token: str, amount: Cents) -> Payment:
    """Begin the payment of an order; UNKNOWN after a timeout.

    The token is the idempotency key: asked twice, Paywheel answers with the same payment.
    """
    settings = Settings.read()
    # Connecting takes Paywheel 40 ms; a second that answers slowly beats one that never does (ISS-2025-10-28-001).
    timeout = httpx.Timeout(settings.paywheel_read, connect=settings.paywheel_connect)
    async with httpx.AsyncClient(base_url=settings.paywheel_url, timeout=timeout) as http:
        try:
            answer = await http.post(
                "/payments",
                json={"reference": token, "amount": amount, "currency": "EUR"},
                headers={"Idempotency-Key": token},
            )
        except httpx.TimeoutException:
            return UNKNOWN
        answer.raise_for_status()
        found = answer.json()
        return Payment(found["id"], found["checkout_url"])
