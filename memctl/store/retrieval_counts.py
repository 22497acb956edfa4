"""Retrieval counts: how often records were read, in a database of the Git directory that all worktrees share.

Counting there keeps the worktree clean. The database has only the retrievals since the last `memctl maintain`, which
adds them to the records' front matter (`retrieval_folding`); if the database is deleted, only these are lost.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from memctl.git import private_files
from memctl.record.record import Record

FILE = "access.db"
_ADD = (
    "INSERT INTO access VALUES (?, 1, ?) ON CONFLICT (memory_id) DO UPDATE SET count = count + 1, last = excluded.last"
)
CREATE = "CREATE TABLE IF NOT EXISTS access (memory_id TEXT PRIMARY KEY, count INTEGER, last TEXT) WITHOUT ROWID"


def count(folder: Path, memory_ids: Iterable[str], now: str) -> None:
    """Add one retrieval, at the canonical time `now`, to the count of each of the records `memory_ids`.

    `folder` has the database of counts. If it can't be written, the retrieval is not counted, and nothing is raised.
    """
    rows = [(memory_id, now) for memory_id in memory_ids]
    if not rows:
        return
    try:
        private_files.make_file(folder / FILE)
        with closing(sqlite3.connect(folder / FILE, timeout=1)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            database.execute(CREATE)
            database.executemany(_ADD, rows)
    except (sqlite3.OperationalError, OSError):
        return  # locked or read-only: the retrieval is not counted
    except sqlite3.DatabaseError:  # the file is damaged
        (folder / FILE).unlink(missing_ok=True)


def counts(folder: Path) -> dict[str, tuple[int, str]]:
    """Return how often each record was retrieved, and the canonical time of its last retrieval, by memory_id.

    A value is a pair such as (3, "2025-11-04T14:32:00Z"). The counts are read from the database in `folder`; the result
    is empty if the database is missing or damaged.
    """
    file = folder / FILE
    if not os.path.exists(file):  # or this user may not see it
        return {}
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            return {row[0]: (row[1], row[2]) for row in database.execute("SELECT memory_id, count, last FROM access")}
    except sqlite3.DatabaseError:
        return {}


def with_counts(totals: Mapping[str, tuple[int, str]], records: list[Record]) -> list[Record]:
    """Return `records` with an `access_count` that includes the retrievals in `totals`, which `counts` returned.

    `last_accessed` of a record becomes the time of its last retrieval. The given records are not changed.
    """
    if not totals:
        return records
    pairs = ((record, totals.get(record.memory_id)) for record in records)
    return [_add_count(record, count) if count else record for record, count in pairs]


def _add_count(record: Record, count: tuple[int, str]) -> Record:
    last = max(count[1], record.last_accessed or "")
    return replace(record, access_count=record.access_count + count[0], last_accessed=last)
