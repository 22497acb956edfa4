"""Paywheel, the payment provider: what we ask it, and what it tells us."""
