"""The texts of the `.sql` files that lie beside the code which runs them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def sql(path: str) -> str:
    """The statement in a file such as `checkout/reserve.sql`."""
    return (files("lantern") / path).read_text(encoding="utf-8")
