"""The 14 JSON routes of the storefront: eight that read a view, six with code of their own."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Cookie, HTTPException
from psycopg.rows import dict_row

from lantern import db
from lantern.checkout import cart_store, orders

router = APIRouter()

# Path, and the statement on a view of the schema `api` that answers it.
READS = {
    "/products": "SELECT * FROM api.product ORDER BY name",
    "/products/{key}": "SELECT * FROM api.product WHERE sku = %(key)s",
    "/categories": "SELECT * FROM api.category ORDER BY name",
    "/categories/{key}": "SELECT * FROM api.product WHERE category = %(key)s ORDER BY name",
    "/brands": "SELECT * FROM api.brand ORDER BY name",
    "/stock/{key}": "SELECT * FROM api.stock WHERE sku = %(key)s",
    "/delivery/{key}": "SELECT * FROM api.delivery WHERE country = %(key)s",
    "/orders/{key}": "SELECT * FROM api.placed_order WHERE token = %(key)s",
}


async def rows(statement: str, **values: Any) -> list[dict[str, Any]]:
    """What a statement finds, as JSON can carry it."""
    async with db.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(statement, values)
        return await cursor.fetchall()


def _read(path: str, statement: str) -> None:
    @router.get(path, name=path)
    async def read(key: str = "") -> list[dict[str, Any]]:
        found = await rows(statement, key=key)
        if "{key}" in path and not found:
            raise HTTPException(404)
        return found


for _path, _statement in READS.items():
    _read(_path, _statement)


@router.get("/search")
async def search(q: str) -> list[dict[str, Any]]:
    return await rows(db.sql("catalogue/search.sql"), words=q)


@router.get("/cart")
async def cart(visitor: str = Cookie()) -> dict[str, int]:
    return await cart_store.read(visitor)


@router.put("/cart/lines/{sku}")
async def put_line(sku: str, pieces: int, visitor: str = Cookie()) -> None:
    await cart_store.put(visitor, sku, pieces)


@router.delete("/cart/lines/{sku}")
async def remove_line(sku: str, visitor: str = Cookie()) -> None:
    await cart_store.put(visitor, sku, 0)


@router.post("/orders")
async def place(address: orders.Address, visitor: str = Cookie()) -> orders.Placed:
    return await orders.place_order(visitor, address)


@router.post("/orders/{token}/cancel")
async def cancel(token: str) -> None:
    await orders.cancel(token)
