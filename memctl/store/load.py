"""Reading a Snapshot: from the disk through the cache, from the index, or at a revision.

For the disk, Git says what changed: the cache is good for the tree that HEAD has at `.memory/`, plus those files that
`git status` names. That takes Git 20 ms for 10,000 records, in a process of its own while Python imports; a stat of
each file from Python takes 30 ms more.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec

from memctl.journal import git, history
from memctl.model.kinds import BY_FOLDER
from memctl.model.record import Fault, InvalidRecord, Record, parse
from memctl.model.snapshot import Hit, Snapshot
from memctl.store import access, files
from memctl.store.cache import Cache, Parsed
from memctl.store.memory import Memory

Progress = Callable[[int, int], None]  # called with how many files are read, and of how many
_RACY = 2_000_000_000  # ns: a file written so short a time ago may change again without showing it
_STEP = 250
_TRIES = 3  # to bring the cache up to date before doing without it
_GONE, _UNREADABLE = "gone", "unreadable"


def disk(memory: Memory, progress: Progress | None = None) -> Snapshot:
    """The memory as it is in the worktree, with the access counts of this clone added."""
    cache, (records, faults) = _read(memory, progress)
    counts = access.counts(memory.repository.shared)
    if counts:
        records = [_counted(r, counts[r.memory_id]) if r.memory_id in counts else r for r in records]
    read = partial(files.read, memory.folder)
    return Snapshot("disk", memory.config, records, faults, read, cache.match)


def revision(memory: Memory, name: str) -> Snapshot:
    """The memory at a revision; raises MemctlError if there is no such revision."""
    commit = memory.repository.resolve(name)
    return _from_git(memory, name, history.tree(memory.repository, commit, memory.prefix))


def open_cache(memory: Memory) -> Cache:
    return Cache.open(memory.private / "cache.db")


def _read(memory: Memory, progress: Progress | None) -> tuple[Cache, tuple[list[Record], list[Fault]]]:
    cache = open_cache(memory)
    with suppress(sqlite3.DatabaseError):  # damaged, or in use for too long: do without it this time
        for _ in range(_TRIES):
            if (found := _current(memory, cache, progress)) is not None:
                return cache, found
    cache = Cache.open(None)
    found = _current(memory, cache, progress)
    assert found is not None  # nobody else writes to this one
    return cache, found


def _current(memory: Memory, cache: Cache, progress: Progress | None) -> tuple[list[Record], list[Fault]] | None:
    """The records and faults of the cache, brought up to what is on the disk; None if another process came between."""
    asked = memory.ask()
    view = cache.view()
    records, faults = view.records(), view.faults()  # most likely they are right; Git is still looking meanwhile
    head = (asked.tree(), _sparse(memory))
    dirty = {short for path in asked.differing() if (short := _below(path, memory.prefix))}
    stale = _changed_paths(memory, cache, view.head, head) | (set(view.differing) - dirty)
    stale |= {path for path in dirty if _stat(memory, path) != view.differing.get(path)}
    if not stale and head == view.head:
        return records, faults
    parsed, removed = _parse_files(memory, stale, dirty, asked.started, progress)
    if not cache.update(parsed, removed, view.head, head):
        return None
    view = cache.view()
    return view.records(), view.faults()


def _sparse(memory: Memory) -> str:
    """A mark of which files are checked out at all: for Git those that are not are unchanged."""
    marks = []
    for name in ("info/sparse-checkout", "config.worktree"):
        try:
            marks.append(str(os.stat(memory.repository.git_dir / name).st_mtime_ns))
        except OSError:
            marks.append("")
    return ":".join(marks)


def _parse_files(
    memory: Memory, stale: set[str], dirty: set[str], started: int, progress: Progress | None
) -> tuple[list[Parsed], list[str]]:
    """Read the files that may have changed: what they came to, and which are gone."""
    parsed: list[Parsed] = []
    removed: list[str] = []
    for number, path in enumerate(sorted(stale)):
        if progress and number % _STEP == 0:
            progress(number, len(stale))
        item = _parse_file(memory, path, path in dirty, started)
        if item is None:
            removed.append(path)
        else:
            parsed.append(item)
    if progress and stale:
        progress(len(stale), len(stale))
    return parsed, removed


def _parse_file(memory: Memory, path: str, is_dirty: bool, started: int) -> Parsed | None:
    """What the file at a path comes to now; None if there is none, and HEAD has none either."""
    stat = _stat(memory, path)
    if stat == _GONE and "\\x" in path:
        return Parsed(path, _GONE, None, "", [Fault(path, 1, "", "the file's name is not UTF-8 text")])
    if stat == _GONE:  # if HEAD has it, that must be remembered: it may come back without anything else changing
        return Parsed(path, _GONE, None, "", []) if is_dirty else None
    racy = stat == _UNREADABLE or int(stat.split(":")[0]) > started - _RACY
    mark = stat if is_dirty or racy else ""
    try:
        text = files.read(memory.folder, path)
        record, body = parse(text, path)
        return Parsed(path, mark, record, body, [])
    except InvalidRecord as error:
        return Parsed(path, mark, None, "", error.faults)
    except OSError as error:
        return Parsed(path, stat, None, "", [Fault(path, 1, "", f"the file can't be read: {error.strerror}")])


def _stat(memory: Memory, path: str) -> str:
    try:
        status = os.lstat(memory.folder / path)
    except (FileNotFoundError, NotADirectoryError):
        return _GONE
    except OSError:
        return _UNREADABLE
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"


def _below(path: str, prefix: str) -> str:
    """A record's path below `.memory/`; "" for any other file."""
    short = path[len(prefix) + 1 :]
    return short if files.is_record_path(short, BY_FOLDER) else ""


def _changed_paths(memory: Memory, cache: Cache, known: tuple[str, str], head: tuple[str, str]) -> set[str]:
    """The record paths that may differ between the HEAD that the cache is for and the one there is."""
    if known == head:
        return set()
    top = memory.repository.top
    before, tree = known[0], head[0]
    try:
        if before and tree and known[1] == head[1]:
            out = git.read(["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, tree], top)
            names = {git.name(name) for name in out.split(b"\0") if name}
            return {name for name in names if files.is_record_path(name, BY_FOLDER)}
    except git.GitFailed:
        pass  # the older tree is no longer there
    names = cache.paths()
    if tree:
        names |= {
            git.name(name)
            for name in git.read(["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree], top).split(b"\0")
        }
    return {name for name in names if files.is_record_path(name, BY_FOLDER)}


def _counted(record: Record, count: tuple[int, str]) -> Record:
    last = max(count[1], record.last_accessed or "")
    return msgspec.structs.replace(record, access_count=record.access_count + count[0], last_accessed=last)


def _from_git(memory: Memory, source: str, entries: list[history.Entry]) -> Snapshot:
    """A Snapshot of files that Git has; its text index is made when it is first asked for."""
    wanted = {path: entry for entry in entries if (path := _below(entry.path, memory.prefix))}
    contents = history.blobs(memory.repository, [e.blob for e in wanted.values() if e.is_regular], files.MAX_BYTES)
    items = [_parse_blob(path, entry, contents) for path, entry in sorted(wanted.items())]
    indexes: list[Cache] = []

    def match(query: str) -> list[Hit]:
        if not indexes:
            indexes.append(Cache.open(None))
            indexes[0].update(items, [], ("", ""), ("", ""))
        return indexes[0].match(query)

    def read(path: str) -> str:
        content = contents.get(wanted[path].blob) if path in wanted else None
        if content is None:
            raise FileNotFoundError(path)
        return files.decode(content, path)

    records = [item.record for item in items if item.record is not None]
    faults = [fault for item in items for fault in item.faults]
    return Snapshot(source, memory.config, records, faults, read, match)


def _parse_blob(path: str, entry: history.Entry, contents: dict[str, bytes | None]) -> Parsed:
    try:
        if not entry.is_regular:
            raise files.not_regular(path)
        content = contents[entry.blob]
        if content is None:
            raise files.too_large(path, files.MAX_BYTES + 1)
        record, body = parse(files.decode(content, path), path)
        return Parsed(path, "", record, body, [])
    except InvalidRecord as error:
        return Parsed(path, "", None, "", error.faults)
