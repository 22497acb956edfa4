"""All that the product page shows, in one answer that the proxy keeps for a minute."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Response

from lantern.api.routes import rows

router = APIRouter()


@router.get("/page/product/{sku}")
async def product_page(sku: str, response: Response) -> dict[str, Any]:
    """Product, stock badge, pictures and what goes with it; one request in place of five (DEC-2025-10-01-001)."""
    found = await rows("SELECT * FROM api.product_page WHERE sku = %(sku)s", sku=sku)
    if not found:
        raise HTTPException(404)
    # The badge may be a minute old; the reservation at the checkout is what counts (ISS-2025-10-20-001).
    response.headers["Cache-Control"] = "public, max-age=60"
    return found[0]
