"""The records that refer to files, found by one query of the cache, since a hook has no time for more."""

from __future__ import annotations

import _sqlite3  # the package around it imports what takes 2 ms more
from collections.abc import Iterable, Iterator
from pathlib import Path

PROPOSED = "proposed"  # the status of a decision that nobody has accepted yet
# Days for which a proposed decision is shown for its files; later it is done, dropped or accepted. In half of the
# sessions of `bench/file_recall.py`, older ones were never of use for the work.
PROPOSED_DAYS = 7
_FIND = (
    "SELECT file, path, id, title, type, status FROM code_refs CROSS JOIN records USING (path)"
    " WHERE file IN ({}) AND is_open AND (expires_at IS NULL OR expires_at > ?)"
    f" AND (status <> '{PROPOSED}' OR timestamp > strftime('%Y-%m-%dT%H:%M:%SZ', ?, '-{PROPOSED_DAYS} days'))"
    " ORDER BY importance DESC, timestamp DESC LIMIT 90"
)


class FileRecord:
    """An open record and the file or folder that it refers to.

    It is a plain class and no msgspec struct: to define a struct takes time, and most hooks find no record.
    """

    __slots__ = ("file", "id", "path", "status", "title", "type")

    def __init__(self, file: str, path: str, identifier: str, title: str, type_: str, status: str) -> None:
        self.file, self.path, self.id = file, path, identifier
        self.title, self.type, self.status = title, type_, status


def records_of_files(private: Path, names: Iterable[str], now: str) -> dict[str, list[FileRecord]]:
    """Return, for each of the files `names`, the open records that refer to the file or to a folder above it.

    The records of a file are sorted by importance, the highest first; a file without records is left out. Records that
    have expired at the canonical time `now`, and decisions still proposed after 7 days, do not count.

    `private` is the folder with the memory's cache, which may be out of date: the caller has to check that a record
    still refers to the file. The result is empty if there is no cache, or if another version of memctl made it.
    """
    asked = {name: tuple(_places(name)) for name in names}
    places = {place for known in asked.values() for place in known}
    try:
        database = _sqlite3.connect(f"{(private / 'cache.db').as_uri()}?mode=ro", uri=True, timeout=0.2)
        try:
            rows = database.execute(_FIND.format(", ".join("?" * len(places))), (*places, now, now)).fetchall()
        finally:
            database.close()
    except _sqlite3.Error:
        return {}
    found = (
        {name: [FileRecord(*row) for row in rows if row[0] in known] for name, known in asked.items()} if rows else {}
    )
    return {name: records for name, records in found.items() if records}


def _places(name: str) -> Iterator[str]:
    """Yield a file, and the folders above it as code references name them: `a/b.py`, `a`, `a/`."""
    yield name
    while name := name.rpartition("/")[0]:
        yield name
        yield f"{name}/"
