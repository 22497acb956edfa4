"""How often records were retrieved: counters in the Git directory that all worktrees share, so that reading never
dirties the tree. They count what came since the counts in the front matter, and can be deleted at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

_FILE = "access.db"
_CREATE = "CREATE TABLE IF NOT EXISTS access (memory_id TEXT PRIMARY KEY, count INTEGER, last TEXT) WITHOUT ROWID"


def count(folder: Path, memory_ids: Iterable[str], now: str) -> None:
    """Count one retrieval of each record; a folder that can't be written to is no reason to fail."""
    rows = [(memory_id, now) for memory_id in memory_ids]
    if not rows:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _add(folder / _FILE, rows)
    except sqlite3.OperationalError:
        return  # locked or read-only: a count is lost, nothing else
    except sqlite3.DatabaseError:  # not a database any more
        (folder / _FILE).unlink(missing_ok=True)
    except OSError:
        return


def _add(file: Path, rows: list[tuple[str, str]]) -> None:
    database = sqlite3.connect(file, timeout=1)
    try:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(_CREATE)
        database.executemany(
            "INSERT INTO access VALUES (?, 1, ?)"
            " ON CONFLICT (memory_id) DO UPDATE SET count = count + 1, last = excluded.last",
            rows,
        )
        database.commit()
    finally:
        database.close()


def counts(folder: Path) -> dict[str, tuple[int, str]]:
    """Retrievals and the time of the last one, by memory_id."""
    file = folder / _FILE
    if not file.exists():
        return {}
    try:
        database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return {row[0]: (row[1], row[2]) for row in database.execute("SELECT memory_id, count, last FROM access")}
        finally:
            database.close()
    except sqlite3.DatabaseError:
        return {}
