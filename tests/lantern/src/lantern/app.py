"""The service: the packages of the shop behind one FastAPI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from psycopg_pool import PoolTimeout

from lantern import db
from lantern.api import product_page, routes
from lantern.checkout.orders import EmptyCart, SoldOut
from lantern.payments import events
from lantern.settings import Settings


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the pool before the first request and close it after the last."""
    await db.open_pool(app.state.settings)
    yield
    await db.close_pool()


def create_app(settings: Settings) -> FastAPI:
    """The application, for uvicorn and for tests."""
    app = FastAPI(title="lantern", lifespan=lifespan)
    app.state.settings = settings
    app.include_router(routes.router)
    app.include_router(product_page.router)
    app.include_router(events.router)
    app.add_exception_handler(EmptyCart, _refused)
    app.add_exception_handler(SoldOut, _refused)
    app.add_exception_handler(PoolTimeout, _busy)
    return app


async def _refused(request: object, error: Exception) -> JSONResponse:
    return JSONResponse({"error": type(error).__name__, "sku": str(error)}, status_code=409)


async def _busy(request: object, error: Exception) -> JSONResponse:
    return JSONResponse({"error": "busy"}, status_code=503, headers={"Retry-After": "5"})
