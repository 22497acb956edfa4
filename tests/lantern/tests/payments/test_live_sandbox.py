"""Payments on Paywheel's test system; needs LANTERN_PAYWHEEL_URL and is not part of CI."""

from __future__ import annotations

import asyncio
import os

import httpx
import pytest
from lantern.money import Cents
from lantern.payments import client

pytestmark = pytest.mark.skipif("LANTERN_PAYWHEEL_URL" not in os.environ, reason="no test system")

# Skips 3-D Secure, which declined every payment there until 31 October 2025 (LRN-2025-10-13-001).
PLAIN_CARD = "0077"


def test_a_payment_begins_once_for_each_order() -> None:
    first, second = (asyncio.run(client.create_payment("order-1", Cents(8_990))) for _ in range(2))
    assert first == second


def test_a_card_without_3d_secure_pays() -> None:
    payment = asyncio.run(client.create_payment("order-2", Cents(4_900)))
    answer = httpx.post(f"{payment.url}/test-card", json={"last4": PLAIN_CARD}, timeout=10)
    assert answer.json()["state"] == "succeeded"
