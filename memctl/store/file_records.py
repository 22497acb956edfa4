"""The records that refer to files, as the cache has them: for a hook, which has no time for more than one look."""

from __future__ import annotations

import _sqlite3  # the package around it imports what takes 2 ms more
from collections.abc import Sequence
from pathlib import Path

_FIND = (
    "SELECT file, path, id, title, type, status FROM code_refs CROSS JOIN records USING (path)"
    " WHERE file IN ({}) AND is_open AND status <> 'proposed' ORDER BY importance DESC, timestamp DESC LIMIT 90"
)

Row = tuple[str, str, str, str, str, str]


def records_of_files(private: Path, files: Sequence[str]) -> list[Row]:
    """Return the records in force that refer to some files of the repository: file, path, id, title, type and status,
    the weightiest first.

    `private` is the folder with the memory's cache. The cache is not brought up to date, so the caller has to compare;
    without one, or with one of another version, there are none until the next command makes it anew.
    """
    try:
        database = _sqlite3.connect(f"{(private / 'cache.db').as_uri()}?mode=ro", uri=True, timeout=0.2)
        try:
            return database.execute(_FIND.format(", ".join("?" * len(files))), tuple(files)).fetchall()
        finally:
            database.close()
    except _sqlite3.Error:
        return []
