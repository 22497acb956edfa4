"""Folding: `memctl maintain` moves retrieval counts from their database into the front matter of records.

First it notes in the database which counts it is about to move, so that none counts twice if the process is killed.
Then it adds them to the front matter. At the end it subtracts the moved counts from those in the database: to set these
to 0 would lose retrievals that were counted meanwhile.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memctl.store.retrieval_counts import CREATE, FILE

_CREATE_FOLDING = (
    "CREATE TABLE IF NOT EXISTS folding (memory_id TEXT PRIMARY KEY, count INTEGER, total INTEGER) WITHOUT ROWID"
)


def start(folder: Path, folding: Mapping[str, tuple[int, int]]) -> bool:
    """Note in the database in `folder` which counts are about to be written into the files of records.

    `folding` maps the memory_id of each record to a pair: the count to add to the record's file, and the total that the
    file will then have, such as (2, 9). The counts stay in the database until `finish`. Returns False if the note can't
    be written.
    """
    try:
        with _transaction(folder) as database:
            rows = [(memory_id, count, total) for memory_id, (count, total) in folding.items()]
            database.executemany("INSERT OR REPLACE INTO folding VALUES (?, ?, ?)", rows)
    except (sqlite3.DatabaseError, OSError):
        return False
    return True


def unfinished(folder: Path) -> dict[str, int]:
    """Return the totals noted by a `start` that was not followed by `finish`, by memory_id.

    `folder` has the database with the notes. The result is empty if the database can't be read.
    """
    if (folder / FILE).exists():
        with suppress(sqlite3.DatabaseError, OSError), _transaction(folder) as database:
            return dict(database.execute("SELECT memory_id, total FROM folding"))
    return {}


def finish(folder: Path, written: Mapping[str, int], *, forget_rest: bool = False) -> None:
    """Subtract the counts that `start` noted, and that the records' files now have, from the database in `folder`.

    `written` maps the memory_id of each record whose file was written to the total that `start` noted for it. With
    `forget_rest` the notes about all other records are deleted, but the counts of these records stay in the database,
    since no file has them. If the database can't be written, nothing is raised: the next run subtracts the counts.
    """
    with suppress(sqlite3.DatabaseError, OSError), _transaction(folder) as database:  # else the next run finishes it
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


@contextmanager
def _transaction(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / FILE, timeout=5, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(CREATE)
        database.execute(_CREATE_FOLDING)
        yield database
        database.execute("COMMIT")
