"""How often records were retrieved: counters in the Git directory that all worktrees share, so that reading never
dirties the tree. They count what came since the counts in the front matter, and can be deleted at any time.

`memctl maintain` folds them into the front matter, and then takes off what it has folded: not the rest, for readers go
on counting meanwhile. What it is about to fold is noted first, so that after a kill in between nothing counts twice.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from memctl.git import private
from memctl.record.record import Record

_FILE = "access.db"
_CREATE = "CREATE TABLE IF NOT EXISTS access (memory_id TEXT PRIMARY KEY, count INTEGER, last TEXT) WITHOUT ROWID"
_CREATE_FOLDING = (
    "CREATE TABLE IF NOT EXISTS folding (memory_id TEXT PRIMARY KEY, count INTEGER, total INTEGER) WITHOUT ROWID"
)


def count(folder: Path, memory_ids: Iterable[str], now: str) -> None:
    """Count one retrieval of each record; a folder that can't be written to is no reason to fail."""
    rows = [(memory_id, now) for memory_id in memory_ids]
    if not rows:
        return
    try:
        private.make_file(folder / _FILE)
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
    if not os.path.exists(file):  # nor where only its owner may look
        return {}
    try:
        database = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)
        try:
            return {row[0]: (row[1], row[2]) for row in database.execute("SELECT memory_id, count, last FROM access")}
        finally:
            database.close()
    except sqlite3.DatabaseError:
        return {}


def with_counts(folder: Path | None, records: list[Record]) -> list[Record]:
    """Return the records with their retrievals added; none are in None."""
    found = counts(folder) if folder is not None and records else {}
    if not found:
        return records
    return [_add_count(record, found[record.memory_id]) if record.memory_id in found else record for record in records]


def _add_count(record: Record, count: tuple[int, str]) -> Record:
    last = max(count[1], record.last_accessed or "")
    return replace(record, access_count=record.access_count + count[0], last_accessed=last)


def start_folding(folder: Path, folding: Mapping[str, tuple[int, int]]) -> bool:
    """Note which counts are about to be written into which records: by memory_id how many, and what the file will say.

    They keep counting until `finish_folding`. Returns whether that could be noted.
    """
    try:
        with _transaction(folder) as database:
            rows = [(memory_id, count, total) for memory_id, (count, total) in folding.items()]
            database.executemany("INSERT OR REPLACE INTO folding VALUES (?, ?, ?)", rows)
    except (sqlite3.DatabaseError, OSError):
        return False
    return True


def unfinished_folding(folder: Path) -> dict[str, int]:
    """Return what the files of records were to say when somebody began to fold their counts and was interrupted."""
    if not (folder / _FILE).exists():
        return {}
    try:
        with _transaction(folder) as database:
            return dict(database.execute("SELECT memory_id, total FROM folding"))
    except (sqlite3.DatabaseError, OSError):
        return {}


def finish_folding(folder: Path, written: Mapping[str, int], *, forget_rest: bool = False) -> None:
    """Take the counts off that records have now, by memory_id and what their files say; what came since stays.

    With `forget_rest` nothing else is being folded any more: its counts go on as if nobody had begun.
    """
    try:
        with _transaction(folder) as database:
            rows = list(written.items())
            database.executemany(
                "UPDATE access SET count = count - coalesce((SELECT folding.count FROM folding"
                " WHERE folding.memory_id = access.memory_id AND total = ?2), 0) WHERE memory_id = ?1",
                rows,
            )
            database.executemany("DELETE FROM folding WHERE memory_id = ? AND total = ?", rows)
            if forget_rest:
                database.execute("DELETE FROM folding")
            database.execute("DELETE FROM access WHERE count <= 0")
    except (sqlite3.DatabaseError, OSError):
        return  # the next run finds it unfinished


@contextmanager
def _transaction(folder: Path) -> Iterator[sqlite3.Connection]:
    """The counters, with nobody else writing meanwhile."""
    database = sqlite3.connect(folder / _FILE, timeout=5, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        database.execute(_CREATE)
        database.execute(_CREATE_FOLDING)
        yield database
        database.execute("COMMIT")
    finally:
        database.close()
