"""The records that refer to a file, as the cache has them: for a hook, which has no time for more than one look."""

from __future__ import annotations

import sqlite3
from pathlib import Path

_FIND = (
    "SELECT path, id, title, type, status FROM code_refs CROSS JOIN records USING (path)"
    " WHERE file = ? AND is_open ORDER BY importance DESC, timestamp DESC LIMIT 9"
)


def records_of_file(private: Path, file: str) -> list[tuple[str, str, str, str, str]]:
    """The open records that refer to a file of the repository: path, id, title, type and status, weightiest first.

    `private` is the folder with the memory's cache. The cache is not brought up to date, so the caller has to compare;
    without one, or with one of another version, there are none until the next command makes it anew.
    """
    try:
        database = sqlite3.connect(f"{(private / 'cache.db').as_uri()}?mode=ro", uri=True, timeout=0.2)
        try:
            return database.execute(_FIND, (file,)).fetchall()
        finally:
            database.close()
    except sqlite3.Error:
        return []
