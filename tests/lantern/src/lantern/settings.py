"""What differs between machines, read once from the environment when the service starts."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of one process; a name in capitals with `LANTERN_` in front is its variable."""

    database: str
    pool_size: int = 5
    pool_wait: float = 5.0  # seconds until a request without a connection fails
    paywheel_url: str = "https://api.paywheel.example/v2"
    paywheel_connect: float = 2.0
    paywheel_read: float = 8.0
    smtp_host: str = "localhost"

    @classmethod
    def read(cls) -> Settings:
        """The settings of this machine; KeyError if it does not say where the database is."""
        given = {name: os.environ.get(f"LANTERN_{name.upper()}") for name in cls.__dataclass_fields__}
        if given["database"] is None:
            raise KeyError("LANTERN_DATABASE")
        kinds = {"pool_size": int, "pool_wait": float, "paywheel_connect": float, "paywheel_read": float}
        return cls(**{name: kinds.get(name, str)(value) for name, value in given.items() if value is not None})
