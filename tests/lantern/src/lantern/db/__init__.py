"""The way to PostgreSQL: `db.transaction()` and the texts of the `.sql` files."""

from lantern.db.pool import close_pool, heard, open_pool, transaction
from lantern.db.statements import sql

__all__ = ["close_pool", "heard", "open_pool", "sql", "transaction"]
