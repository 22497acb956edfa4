"""Letting the cache follow HEAD over a commit of memctl's own: the next command need not ask what that changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress

from memctl.git import trees
from memctl.store import files, load
from memctl.store.memory import Memory

_MANY = 100  # paths; after a commit of more the next command looks for itself
_NOTHING: Mapping[str, bytes | None] = {}


def follow(
    memory: Memory, paths: Iterable[str], before: str, after: str, contents: Mapping[str, bytes | None] = _NOTHING
) -> None:
    """Let a cache that is for the commit `before` be for `after`, if it has seen the records in which they differ.

    It has seen those that it keeps with a stat. What it has read of a file is as in `after` if it comes to the same
    blob as the `contents` that were committed, by Git's paths; any other file is read once more.
    """
    known = [path for path in paths if files.is_cached_path(path)]
    if len(known) > _MANY:
        return
    like = [memory.repository.null_id]
    blobs = {path: trees.blob_of(data, like) for path in known if (data := contents.get(memory.tracked(path)))}
    seen = f"SELECT count(*) FROM records WHERE stat <> '' AND path IN ({', '.join('?' * len(known))})"
    with suppress(sqlite3.Error):  # another process is writing; the next command looks for itself
        cache = load.open_cache(memory)
        with cache.transaction("BEGIN IMMEDIATE"):
            moved = cache.database.execute(
                f"UPDATE state SET value = ? WHERE key = 'commit' AND value = ? AND ({seen}) = ?",
                (after, before, *known, len(known)),
            )
            if moved.rowcount:
                cache.database.executemany("UPDATE records SET stat = '' WHERE path = ? AND blob = ?", blobs.items())
        cache.database.close()
