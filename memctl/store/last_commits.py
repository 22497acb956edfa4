"""The commits that last changed the texts of records, stored in a table of the cache.

The table covers the history of the commit that was HEAD at the last query: each text that a record ever had, with the
commit that introduced the text. The next query reads only the commits made since, mostly one or two, and adds their
texts to the table. Without the table, Git would take 0.3 s to read all commits of a memory that has 10,000.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, trees
from memctl.git.introductions import Introduction, introductions
from memctl.record.kinds import BY_FOLDER, KINDS
from memctl.record.record_form import differs_only_in_retrievals
from memctl.store import files, load
from memctl.store.cache import Cache
from memctl.store.memory import Memory

_HEAD = "introductions"  # the key under which the cache's state has the commit whose history is in the table
_INSERT = """
INSERT INTO introductions VALUES (:path, :blob, :id, :seconds, :before, :actor, :author) ON CONFLICT DO UPDATE
SET id = excluded.id, seconds = excluded.seconds, before = excluded.before, actor = excluded.actor,
author = excluded.author WHERE excluded.seconds >= seconds
"""
_SIGNING = {"commit", *(kind.verb for kind in KINDS.values())}  # operations whose actor is the author of new records
_SELECT = "SELECT path, blob, id, seconds, before FROM introductions"
_Find = Callable[[str, str], Introduction | None]  # by path and blob
_Read = Callable[[str], str]  # by path the blob id of the text in the cache, "" if no commit introduced this text


class LastCommit(msgspec.Struct, frozen=True):
    """The commit that last changed the text of a record, and its date in Unix seconds.

    `is_edited` says that the record has uncommitted changes in the worktree. `is_boundary` says that the commit is the
    oldest that a shallow clone has, so that an earlier commit may have introduced the text.
    """

    commit: str
    is_edited: bool = False
    is_boundary: bool = False
    seconds: int = 0


def last_commits(memory: Memory, paths: Collection[str], at: str | None = None) -> dict[str, LastCommit]:
    """Return, for each of the records at `paths`, the commit that introduced the record's present text.

    With `at` it is the text that the record had at this revision. Records without a commit are left out. A change of
    nothing but retrieval counts does not count as a change of the text. Raises GitFailed if Git can't answer, as in a
    clone that lacks folders of old commits (`--filter=tree:0`) and can't reach its remote.
    """
    repository = memory.repository
    head = repository.resolve(at) if at is not None else repository.branch()[1]
    if not head:
        return {}
    result, edited = dict[str, Introduction](), set[str]()
    if at is not None:
        find = _history_lookup(memory, paths, head)
    else:
        find, read = _head_lookup(memory, paths, head)
        top = os.fspath(repository.top)  # paths are strings: with Path this took four times as long
        on_disk = [path for path in paths if os.path.isfile(f"{top}/{path}")]
        result = _find_introductions(memory, _worktree_blobs(memory, on_disk, head, read), find)
        edited = {path for path in paths if path not in result}
    if others := [path for path in paths if path not in result]:
        result |= _find_introductions(memory, trees.blob_ids(repository, head, others), find)
    ends = repository.shallow()
    return {
        path: LastCommit(introduction.commit, path in edited, introduction.commit in ends, introduction.seconds)
        for path, introduction in result.items()
    }


def _worktree_blobs(memory: Memory, paths: Iterable[str], head: str, read: _Read) -> dict[str, str]:
    """If a record does not differ from HEAD, the cache has its blob id, and Git need not compute it."""
    commit, differing = memory.differing
    blobs, others = dict[str, str](), list[str]()
    for path in paths:
        blob = read(path) if commit == head and path not in differing else ""
        if blob:
            blobs[path] = blob
        else:
            others.append(path)
    return blobs | trees.worktree_blob_ids(memory.repository, others)


def _find_introductions(memory: Memory, blobs: Mapping[str, str], find: _Find) -> dict[str, Introduction]:
    """A text that differs from the one before only in retrieval counts has the introduction of that earlier text."""
    by_path = {path: introduction for path, blob in blobs.items() if (introduction := find(path, blob)) is not None}
    open_ones = {path: introduction for path, introduction in by_path.items() if introduction.before}
    seen = {(path, introduction.blob) for path, introduction in open_ones.items()}
    while open_ones:
        wanted = [blob for introduction in open_ones.values() for blob in (introduction.blob, *introduction.before)]
        try:
            texts = trees.blobs(memory.repository, wanted, files.MAX_BYTES)
        except MemctlError:  # a partial clone lacks the older text, so changed counts count as a changed text
            break
        following = {}
        for path, introduction in open_ones.items():
            before = next((blob for blob in introduction.before if _is_same(texts[blob], texts[introduction.blob])), "")
            earlier = find(path, before) if before and (path, before) not in seen else None
            if earlier is not None:
                by_path[path] = following[path] = earlier
                seen.add((path, before))
        open_ones = {path: introduction for path, introduction in following.items() if introduction.before}
    return by_path


def _is_same(before: bytes | None, now: bytes | None) -> bool:
    if before is None or now is None:  # of a size that no record has
        return False
    return differs_only_in_retrievals(before.decode(errors="replace"), now.decode(errors="replace"))


def _history_lookup(memory: Memory, paths: Iterable[str], head: str) -> _Find:
    wanted = sorted(set(paths))
    result = _by_text(introductions(memory.repository, wanted, head) if wanted else ())
    return lambda path, blob: result.get((path, blob))


def _by_text(introductions: Iterable[Introduction]) -> dict[tuple[str, str], Introduction]:
    result: dict[tuple[str, str], Introduction] = {}
    for introduction in introductions:
        result.setdefault((introduction.path, introduction.blob), introduction)
    return result


def _head_lookup(memory: Memory, paths: Collection[str], head: str) -> tuple[_Find, _Read]:
    with suppress(sqlite3.DatabaseError):  # the cache is damaged or locked for too long
        cache = load.open_cache(memory)
        if _update_table(memory, cache, head):
            return _cache_lookup(memory, cache, paths)
    return _history_lookup(memory, paths, head), lambda _: ""


def _cache_lookup(memory: Memory, cache: Cache, paths: Collection[str]) -> tuple[_Find, _Read]:
    result: dict[str, dict[str, Introduction]] = {}
    read: dict[str, str] = {}
    for some in trees.batched(list(paths)):
        among = f"WHERE path IN ({', '.join('?' * len(some))})"
        short = [path[len(memory.prefix) + 1 :] for path in some]
        known = cache.database.execute(f"SELECT path, blob FROM records {among}", short)
        read.update((memory.tracked(path), blob) for path, blob in known)
        rows = cache.database.execute(f"{_SELECT} {among}", some)
        for path, blob, commit, seconds, before in rows:
            result.setdefault(path, {})[blob] = Introduction(path, blob, commit, seconds, tuple(before.split()))

    def find(path: str, blob: str) -> Introduction | None:
        return result.get(path, {}).get(blob)

    return find, lambda path: blob if find(path, blob := read.get(path, "")) else ""


def _update_table(memory: Memory, cache: Cache, head: str) -> bool:
    now = (head, ",".join(sorted(memory.repository.shallow())))
    before = _stored_head(cache)
    if before == now:
        return True
    from memctl.git import history  # mostly the table is up to date

    start = before[0] if before[1] == now[1] else ""
    start = start if start and history.is_ancestor(memory.repository, start, head) else ""
    revisions = f"{start}..{head}" if start else head
    folders = [memory.tracked(folder) for folder in BY_FOLDER]
    result = _by_text(introductions(memory.repository, folders, revisions))
    with cache.transaction("BEGIN IMMEDIATE"):
        known = _stored_head(cache)
        if start and known not in (before, now):  # another process has updated the table meanwhile
            return False
        if not start:
            cache.database.execute("DELETE FROM introductions")
        cache.database.executemany(_INSERT, map(_row, result.values()))
        cache.database.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_HEAD, " ".join(now)))
    return True


def _row(introduction: Introduction) -> dict[str, str | int]:
    values = {
        **msgspec.structs.asdict(introduction),
        "id": introduction.commit,
        "before": " ".join(introduction.before),
    }
    says = not introduction.operations or not _SIGNING.isdisjoint(introduction.operations.split(","))
    values["actor"] = introduction.actor if says else ""
    values["author"] = "" if introduction.operations or introduction.actor else introduction.author
    return values


def signatures(memory: Memory, paths: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return who made each of the records at `paths`: the actor that the trailer of its first commit names, or else "",
    and if that commit has no trailer, the commit's author.

    Both are "" for an import and the like, which bring records of others. Records without a commit are left out, and so
    are those of the oldest commit of a shallow clone, and all if the cache can't be used.
    """
    head, found = memory.repository.branch()[1], dict[str, tuple[str, str]]()
    with suppress(sqlite3.DatabaseError, git.GitFailed):
        cache = load.open_cache(memory)
        if head and _update_table(memory, cache, head):
            ends = memory.repository.shallow()
            for some in trees.batched(list(paths)):
                among = f"path IN ({', '.join('?' * len(some))})"
                statement = (
                    f"SELECT path, actor, author, id, MIN(seconds) FROM introductions WHERE {among} GROUP BY path"
                )
                rows = cache.database.execute(statement, some)
                found |= {path: (actor, author) for path, actor, author, commit, _ in rows if commit not in ends}
    return found


def _stored_head(cache: Cache) -> tuple[str, str]:
    row = cache.database.execute("SELECT value FROM state WHERE key = ?", (_HEAD,)).fetchone()
    commit, _, depth = (row[0] if row else "").partition(" ")
    return commit, depth


class CommitsBetween:
    """The commits of HEAD's history between two times (Unix seconds) that changed texts of records, from the cache.

    `commits` maps the id of each of these commits to its date in Unix seconds. It is empty if the cache can't be used.
    """

    def __init__(self, memory: Memory, first: int, last: int) -> None:
        self._cache: Cache | None = None
        self.commits: dict[str, int] = {}  # with their dates
        with suppress(sqlite3.DatabaseError, git.GitFailed):
            cache = load.open_cache(memory)
            head = memory.repository.branch()[1]
            if head and _update_table(memory, cache, head):
                statement = "SELECT DISTINCT id, seconds FROM introductions WHERE seconds BETWEEN ? AND ?"
                self.commits = dict(cache.database.execute(statement, (first, last)))
                self._cache = cache

    def paths(self, commits: Collection[str]) -> list[str]:
        """Return the paths of the records that at least one of `commits` (ids) changed, sorted."""
        if self._cache is None or not commits:
            return []
        wanted = f"id IN ({', '.join('?' * len(commits))})"
        statement = f"SELECT DISTINCT path FROM introductions WHERE {wanted} ORDER BY path"
        return [path for (path,) in self._cache.database.execute(statement, list(commits))]
