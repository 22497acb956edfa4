"""Facts computed from the repository's own files, such as token counts, stored in the cache by blob id.

A blob never changes, so a fact about it stays right. A key is a pair of the blob id and a name, which says what else
the fact depends on, such as the file's suffix or a tokenizer. Facts about old blobs, which no file has any more, are
deleted once they outnumber the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from memctl.store.cache import Cache

Key = tuple[str, str]  # blob and name
_SPARE = 5_000  # facts to keep about blobs that no file has, since another branch may have them


def recall(cache: Cache) -> dict[Key, bytes]:
    """Return all facts about the repository's files that are stored in the cache, by blob id and name of the fact.

    For 10,000 files this takes 10 ms. If the cache can't be read, the result is {}.
    """
    try:
        return {(row[0], row[1]): row[2] for row in cache.database.execute("SELECT blob, name, found FROM sources")}
    except sqlite3.Error:  # damaged, or locked for long; the facts are computed again
        return {}


def keep(cache: Cache, facts: Mapping[Key, bytes]) -> None:
    """Store facts in the cache: `facts` maps the key of each to the fact as bytes.

    If another process is writing, they are not stored and have to be computed again.
    """
    _change(cache, "INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", ((*key, value) for key, value in facts.items()))


def forget(cache: Cache, known: Collection[Key], blobs: Collection[str]) -> None:
    """Delete from the cache the facts of blobs that no file has any more.

    Nothing is deleted unless there are more than 5,000 such facts, and more of them than of all others. `known` are the
    keys of all stored facts, and `blobs` the ids of the blobs that files have.
    """
    if len(known) <= _SPARE or len(known) <= 2 * len(blobs):  # each of these blobs has facts
        return
    gone = {key for key in known if key[0] not in blobs}
    if len(gone) > max(len(known) - len(gone), _SPARE):
        _change(cache, "DELETE FROM sources WHERE blob = ? AND name = ?", gone)


def _change(cache: Cache, statement: str, rows: Iterable[tuple[str | bytes, ...]]) -> None:
    with suppress(sqlite3.Error), cache.transaction("BEGIN IMMEDIATE"):
        cache.database.executemany(statement, rows)
