"""Letting the cache follow HEAD over a commit of memctl's own: the next command need not ask what that changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress

from memctl.store import files, load
from memctl.store.memory import Memory

_MANY = 100  # paths; after a commit of more the next command looks for itself


def follow(memory: Memory, paths: Iterable[str], before: str, after: str) -> None:
    """Let a cache that is for the commit `before` be for `after`, if it has seen the records in which they differ.

    It has seen those that it keeps with a stat. As they differ from HEAD no longer, they are read once more.
    """
    known = [path for path in paths if files.is_cached_path(path)]
    if len(known) > _MANY:
        return
    seen = f"SELECT count(*) FROM records WHERE stat <> '' AND path IN ({', '.join('?' * len(known))})"
    with suppress(sqlite3.Error):  # another process is writing; the next command looks for itself
        database = load.open_cache(memory).database
        database.execute(
            f"UPDATE state SET value = ? WHERE key = 'commit' AND value = ? AND ({seen}) = ?",
            (after, before, *known, len(known)),
        )
        database.close()
