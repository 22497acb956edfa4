"""Which commit last changed each file of the memory, kept in the cache: in a memory of 10,000 commits asking Git for 30
files takes 0.3 s, and what is new since the last time mostly is a commit or two.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress

from memctl.journal import git, history
from memctl.store import load
from memctl.store.cache import Cache
from memctl.store.memory import Memory

_HEAD = "commits"  # the key of the state under which the commit stands that the table is for


def last_commits(memory: Memory, paths: Iterable[str]) -> dict[str, str]:
    """The commit of HEAD's history that last changed each of some files of the memory; those in none are left out."""
    _, head = memory.repository.branch()
    if not head:
        return {}
    cache, wanted = load.open_cache(memory), list(paths)
    with suppress(sqlite3.DatabaseError):  # damaged, or in use for too long: do without it this time
        if _synced(memory, cache, head):
            return _read(cache, wanted)
    return history.last_commits(memory.repository, wanted, head)


def _synced(memory: Memory, cache: Cache, head: str) -> bool:
    """Bring the table up to a commit; returns whether it is."""
    before = _known(cache)
    if before == head:
        return True
    found = _changed(memory, before, head)
    if found is None:
        before, found = "", _changed(memory, "", head) or {}
    return _kept(cache, before, head, found)


def _known(cache: Cache) -> str:
    row = cache.database.execute("SELECT value FROM state WHERE key = ?", (_HEAD,)).fetchone()
    return row[0] if row else ""


def _changed(memory: Memory, before: str, head: str) -> dict[str, str] | None:
    """The last commit of each file that a commit since `before` touched; None if `before` is no part of the history."""
    repository = memory.repository
    if before:
        try:
            git.read(["merge-base", "--is-ancestor", before, head], repository.top)
        except git.GitFailed:
            return None
    revision = f"{before}..{head}" if before else head
    found: dict[str, str] = {}
    for commit, path in history.touched_paths(repository, memory.prefix, revision):
        found.setdefault(path, commit)
    return found


def _kept(cache: Cache, before: str, head: str, found: dict[str, str]) -> bool:
    """Put what was found into the cache, if that still is for `before`; returns whether it is for `head` now."""
    with cache.transaction("BEGIN IMMEDIATE"):
        known = _known(cache)
        if known == head:
            return True
        if known == before or not before:
            if not before:
                cache.database.execute("DELETE FROM commits")
            cache.database.executemany("INSERT OR REPLACE INTO commits VALUES (?, ?)", found.items())
            cache.database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_HEAD, head))
            return True
    return False


def _read(cache: Cache, paths: Iterable[str]) -> dict[str, str]:
    found = {}
    for path in paths:
        row = cache.database.execute("SELECT id FROM commits WHERE path = ?", (path,)).fetchone()
        if row:
            found[path] = row[0]
    return found
