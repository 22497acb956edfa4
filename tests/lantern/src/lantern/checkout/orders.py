"""Placing an order: stock reserved and order written, then Paywheel asked, then its answer kept."""

from __future__ import annotations

import secrets
from email.message import EmailMessage

import aiosmtplib
from psycopg import AsyncConnection
from pydantic import BaseModel

from lantern import db
from lantern.checkout import cart_store, shipping, vat
from lantern.checkout.vat import Line
from lantern.money import Cents, shown
from lantern.payments import client
from lantern.settings import Settings

_PRICES = "SELECT sku, price, grams, has_battery FROM catalogue.product WHERE sku = ANY(%s)"
_WRITE = """
INSERT INTO checkout.placed_order (token, email, country, postcode, shipping, vat, total, status, expires_at)
VALUES (%(token)s, %(email)s, %(country)s, %(postcode)s, %(shipping)s, %(vat)s, %(total)s, 'pending',
        now() + make_interval(mins => %(minutes)s))
RETURNING id
"""
_WRITE_LINE = "INSERT INTO checkout.order_line (order_id, sku, pieces, price) VALUES (%s, %s, %s, %s)"
_KEEP_PAYMENT = "UPDATE checkout.placed_order SET payment_id = %s WHERE id = %s"
_GIVE_BACK = """
WITH gone AS (
    UPDATE checkout.placed_order SET status = 'expired'
     WHERE status = 'pending' AND expires_at <= now()
    RETURNING id
), freed AS (
    SELECT sku, sum(pieces) AS pieces FROM checkout.order_line JOIN gone ON order_id = gone.id GROUP BY sku
)
UPDATE stock SET reserved = reserved - freed.pieces FROM freed WHERE stock.sku = freed.sku
"""
_CANCEL = "UPDATE checkout.placed_order SET expires_at = now() WHERE token = %s AND status = 'pending'"
_RESERVED_MINUTES = 30


class EmptyCart(Exception):
    """There is nothing to order."""


class SoldOut(Exception):
    """A line of the cart of which there are not enough pieces; its text is the SKU."""


class Address(BaseModel):
    email: str
    country: str
    postcode: str


class Placed(BaseModel):
    """An order as its buyer sees it; `pay_at` is empty while we wait for the bank."""

    token: str
    total: int
    pay_at: str = ""


async def place_order(visitor: str, address: Address) -> Placed:
    """Turn a visitor's cart into an order, and begin its payment.

    Raises EmptyCart, or SoldOut with nothing reserved and the cart as it was. When Paywheel does not answer in time,
    the order stays pending: an event settles it, or `release_expired` gives the stock back.
    """
    async with db.transaction() as connection:
        lines = await _reserve(connection, await cart_store.take(connection, visitor))
        order_id, order = await _write(connection, lines, address)
    # No connection is held here: Paywheel takes 1 s on average and 3.1 s at times.
    payment = await client.create_payment(order.token, Cents(order.total))
    async with db.transaction() as connection:
        await connection.execute(_KEEP_PAYMENT, (payment.id or None, order_id))
        await send_confirmation(address.email, order)
    return order.model_copy(update={"pay_at": payment.url})


async def release_expired() -> int:
    """Give back the stock of orders that were not paid in time; of how many products."""
    async with db.transaction() as connection:
        return (await connection.execute(_GIVE_BACK)).rowcount


async def cancel(token: str) -> None:
    """Have a pending order expire with the next run of `release_expired`."""
    async with db.transaction() as connection:
        await connection.execute(_CANCEL, (token,))


async def send_confirmation(email: str, order: Placed) -> None:
    """Tell the buyer that the order has come in; 0.18 s over SMTP."""
    message = EmailMessage()
    message["From"], message["To"] = "shop@lantern.example", email
    message["Subject"] = f"Your order {order.token}"
    message.set_content(f"We have your order, {shown(Cents(order.total))} in all. You hear from us once it is paid.")
    await aiosmtplib.send(message, hostname=Settings.read().smtp_host)


async def _reserve(connection: AsyncConnection, cart: dict[str, int]) -> list[tuple[Line, int, bool]]:
    """Reserve each line, in the order of the SKUs: two orders then never wait for each other in a circle."""
    if not cart:
        raise EmptyCart
    found = await (await connection.execute(_PRICES, (list(cart),))).fetchall()
    lines = []
    for sku, price, grams, has_battery in sorted(found):
        changed = await connection.execute(db.sql("checkout/reserve.sql"), {"sku": sku, "pieces": cart[sku]})
        if changed.rowcount == 0:
            raise SoldOut(sku)
        lines.append((Line(sku, cart[sku], Cents(price)), grams * cart[sku], has_battery))
    return lines


async def _write(
    connection: AsyncConnection, reserved: list[tuple[Line, int, bool]], address: Address
) -> tuple[int, Placed]:
    """The order with its lines, pending."""
    lines = [line for line, _, _ in reserved]
    parcel = shipping.Parcel(sum(grams for _, grams, _ in reserved), any(battery for _, _, battery in reserved))
    goods = Cents(sum(line.gross for line in lines))
    offer = shipping.cheapest(parcel, address.country, address.postcode)
    postage = Cents(0) if shipping.is_free(parcel, address.country, goods) else offer.price
    order = Placed(token=secrets.token_urlsafe(12), total=goods + postage)
    tax = vat.of_order([*lines, Line("postage", 1, postage)], address.country)
    values = {"token": order.token, "total": order.total, "shipping": postage, "vat": tax, "minutes": _RESERVED_MINUTES}
    values |= address.model_dump()
    order_id = (await (await connection.execute(_WRITE, values)).fetchone())[0]
    async with connection.cursor() as cursor:
        await cursor.executemany(_WRITE_LINE, [(order_id, *line) for line in lines])
    return order_id, order
