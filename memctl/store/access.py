"""Retrieval counts: how often records were read, in a database of the Git directory that all worktrees share.

Counting there keeps the worktree clean. The database has the retrievals that the records' front matter does not count
yet; if it is deleted, only these are lost. `memctl maintain` adds the database's counts to the front matter ("folding")
and then subtracts from the database what it has added, so that retrievals in the meantime are not lost. Before that it
notes the counts to be folded, so that none counts twice if the process is killed.
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
    """Count one retrieval of each record at the time `now`; failing to write loses the count and raises nothing."""
    rows = [(memory_id, now) for memory_id in memory_ids]
    if not rows:
        return
    try:
        private.make_file(folder / _FILE)
        _add(folder / _FILE, rows)
    except sqlite3.OperationalError:
        return  # locked or read-only: a count is lost, nothing else
    except sqlite3.DatabaseError:  # the file is damaged
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
    """Return the number of retrievals and the time of the last one, by memory_id."""
    file = folder / _FILE
    if not os.path.exists(file):  # also if this user may not look
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
    """Return the records with this clone's retrievals added to their counts.

    Without a folder they are returned unchanged.
    """
    found = counts(folder) if folder is not None and records else {}
    if not found:
        return records
    return [_add_count(record, found[record.memory_id]) if record.memory_id in found else record for record in records]


def _add_count(record: Record, count: tuple[int, str]) -> Record:
    last = max(count[1], record.last_accessed or "")
    return replace(record, access_count=record.access_count + count[0], last_accessed=last)


def start_folding(folder: Path, folding: Mapping[str, tuple[int, int]]) -> bool:
    """Note which counts are about to be written into the files of records.

    `folding` has by memory_id a pair: the count to add, and the total that the record's file will then have. The counts
    stay in the database until `finish_folding`. Returns False if the note can't be written.
    """
    try:
        with _transaction(folder) as database:
            rows = [(memory_id, count, total) for memory_id, (count, total) in folding.items()]
            database.executemany("INSERT OR REPLACE INTO folding VALUES (?, ?, ?)", rows)
    except (sqlite3.DatabaseError, OSError):
        return False
    return True


def unfinished_folding(folder: Path) -> dict[str, int]:
    """Return the totals noted by a `start_folding` that no `finish_folding` has followed, by memory_id."""
    if not (folder / _FILE).exists():
        return {}
    try:
        with _transaction(folder) as database:
            return dict(database.execute("SELECT memory_id, total FROM folding"))
    except (sqlite3.DatabaseError, OSError):
        return {}


def finish_folding(folder: Path, written: Mapping[str, int], *, forget_rest: bool = False) -> None:
    """Subtract the counts that `start_folding` noted and that the records' files now include.

    `written` has by memory_id the noted total of each such file. With `forget_rest` the notes of all other records are
    deleted, too; their counts were not written to a file and stay in the database.
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
        return  # the next run finishes it


@contextmanager
def _transaction(folder: Path) -> Iterator[sqlite3.Connection]:
    """Lock the counters' database for writing during the block."""
    database = sqlite3.connect(folder / _FILE, timeout=5, isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        database.execute(_CREATE)
        database.execute(_CREATE_FOLDING)
        yield database
        database.execute("COMMIT")
    finally:
        database.close()
