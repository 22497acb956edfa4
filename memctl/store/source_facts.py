"""What was found in the contents of the repository's files, kept in the cache by blob: a content never changes.

`name` says what else the finding depends on, such as the file's suffix or a family of models. What is kept of contents
that are gone is deleted once it is more than what is kept of those that are there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from memctl.store.cache import Cache

Key = tuple[str, str]  # blob and name
_SPARE = 5_000  # findings about contents that are gone; a branch may bring them back


def recall(cache: Cache) -> dict[Key, bytes]:
    """Return everything that was found: 10,000 files take 10 ms."""
    try:
        return {(row[0], row[1]): row[2] for row in cache.database.execute("SELECT blob, name, found FROM sources")}
    except sqlite3.Error:  # damaged, or another process is writing for long; it is found out again
        return {}


def keep(cache: Cache, found: Mapping[Key, bytes]) -> None:
    """Keep findings; if another process is writing, they are simply made again."""
    _change(cache, "INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", ((*key, value) for key, value in found.items()))


def forget(cache: Cache, known: Collection[Key], blobs: Collection[str]) -> None:
    """Delete what is known of other blobs than these, if it has become more than what is known of them."""
    gone = {key for key in known if key[0] not in blobs}
    if len(gone) > max(len(known) - len(gone), _SPARE):
        _change(cache, "DELETE FROM sources WHERE blob = ? AND name = ?", gone)


def _change(cache: Cache, statement: str, rows: Iterable[tuple[str | bytes, ...]]) -> None:
    with suppress(sqlite3.Error), cache.transaction("BEGIN IMMEDIATE"):
        cache.database.executemany(statement, rows)
