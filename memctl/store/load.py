"""Reading a Snapshot: from the disk through the cache, and with `objects` from the index or at a revision.

For the disk, Git says what changed: the cache is good for the tree that HEAD has at `.memory/`, plus those files that
`git status` names. That takes Git 20 ms for 10,000 records, in a process of its own while Python imports; a stat of
each file from Python takes 30 ms more.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from memctl.git import git
from memctl.record.config import Config
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.kinds import BY_FOLDER
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import access, files
from memctl.store.cache import Cache, CacheState, ParsedFile
from memctl.store.memory import Memory
from memctl.store.sessions_ref import Both

if TYPE_CHECKING:
    from memctl.store.catalogue import StoredCatalogue
    from memctl.store.repository_files import FilesOnDisk
    from memctl.store.search_views import Searched
    from memctl.store.stored_texts import StoredTexts

Progress = Callable[[int, int], None]  # called with how many files are read, and of how many
_RACY = 2_000_000_000  # ns: a file written so short a time ago may change again without showing it
_STEP = 250
_TRIES = 3  # to bring the cache up to date before doing without it
_GONE, _UNREADABLE = "gone", "unreadable"


def left_out(memory: Memory) -> str:
    """Say how many records and pages a sparse checkout leaves out, which nothing that reads the disk can show; "" if
    none."""
    if not (memory.repository.git_dir / "info" / "sparse-checkout").exists():
        return ""
    from memctl.git import index
    from memctl.record.pages import kind_at

    start = len(memory.prefix) + 1
    paths = [path[start:] for path in index.not_checked_out(memory.repository, memory.prefix)]
    number = sum(files.is_record_path(path, BY_FOLDER) or kind_at(path) is not None for path in paths)
    what = "record or page of HEAD is" if number == 1 else "records and pages of HEAD are"
    return f"{number:,} {what} not checked out (sparse checkout)" if number else ""


def disk(memory: Memory, progress: Progress | None = None, *, written: Iterable[str] = ()) -> Snapshot:
    """The memory as it is in the worktree, with the access counts of this clone added.

    `written` are files that have changed since Git was asked what differs.
    """
    return Snapshot(Both(memory, _Disk(memory, progress, tuple(written))))


def index(memory: Memory) -> Snapshot:
    """The memory as it is staged."""
    from memctl.store import objects

    return Snapshot(objects.from_index(memory, lambda: _unlike_the_index(memory)))


def revision(memory: Memory, name: str) -> Snapshot:
    """The memory at a revision; raises MemctlError if there is no such revision."""
    from memctl.store import objects

    return Snapshot(Both(memory, objects.at_revision(memory, name), name))


def alike(memory: Memory, commit: str) -> Snapshot:
    """The memory of a commit or tree, by its id, that is much like the worktree: what both have is of the cache."""
    from memctl.store import objects

    return Snapshot(objects.at(memory, commit, commit, lambda: _unlike_revision(memory, commit)))


def open_cache(memory: Memory) -> Cache:
    return Cache.open(memory.private / "cache.db")


class _Disk:
    """The worktree as a source. The cache is brought up to date by the first question that needs it."""

    name = "disk"

    def __init__(self, memory: Memory, progress: Progress | None, written: tuple[str, ...]) -> None:
        self._memory = memory
        self._progress = progress
        self._written = written
        self._cache: Cache | None = None

    @property
    def config(self) -> Config:
        return self._memory.config

    @property
    def prefix(self) -> str:
        return self._memory.prefix

    def records(self, *, only_open: bool = False) -> tuple[list[Record], list[Fault]]:
        found = _read(self._memory, self._cache, self._progress, self._written, only_open=only_open)
        self._cache, (records, faults) = found
        return access.counted(self._memory.repository.shared, records), faults

    def read(self, path: str) -> str:
        return files.read(self._memory.folder, path)

    def names(self, folder: str) -> list[str]:
        return files.names(self._memory.folder, folder)

    def texts(self) -> StoredTexts:
        from memctl.store.stored_texts import StoredTexts  # what only reads records need not wait for it

        return StoredTexts(self._memory, self.searched())

    def searched(self) -> Searched:
        """What there is to be searched."""
        from memctl.store import search_views

        cache, read = self._current(), files.FolderReader(self._memory.folder).read
        ids = [self._memory.repository.null_id]

        def read_as(path: str, blob: str) -> str:
            from memctl.git import trees

            text = read(path)
            if trees.blob_of(text.encode(), ids) != blob:
                raise FileNotFoundError(path)  # it changed just now, which is seen next time
            return text

        return search_views.Searched(search_views.of_checkout(self._memory), cache.token(), cache, read_as)

    def catalogue(self) -> StoredCatalogue:
        from memctl.store.catalogue import StoredCatalogue

        return StoredCatalogue(self._current(), self._memory.repository.shared)

    def files(self) -> FilesOnDisk:
        from memctl.store.repository_files import FilesOnDisk

        return FilesOnDisk(self._memory)

    def _current(self) -> Cache:
        if self._cache is None:
            self._cache = synced(self._memory, self._progress, self._written)
        return self._cache


def synced(memory: Memory, progress: Progress | None = None, written: tuple[str, ...] = ()) -> Cache:
    """The cache, brought up to what is on the disk, without reading the records out of it."""
    cache = open_cache(memory)
    with suppress(sqlite3.DatabaseError):  # damaged, or in use for too long: do without it this time
        for _ in range(_TRIES):
            if _sync(memory, cache, cache.state(), progress, written) is not None:
                return cache
    return _afresh(memory, progress, written)


def _unlike_the_index(memory: Memory) -> tuple[Cache, set[str]]:
    """The cache of the worktree, and the files there that have other contents in the index."""
    cache = synced(memory)
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--", memory.prefix]
    out = git.read(args, memory.repository.top, extra=memory.repository.index_in_use())
    differing = set()
    for item in out.split(b"\0"):
        if item[:1] == b"u" or (item[:1] == b"1" and item[3:4] != b"."):  # "1 XY …": Y tells of the worktree
            differing.add(git.name(item.split(b" ", 10 if item[:1] == b"u" else 8)[-1])[len(memory.prefix) + 1 :])
    return cache, differing


def _unlike_revision(memory: Memory, name: str) -> tuple[Cache, set[str]]:
    """The cache of the worktree, and the files there that have other contents at a revision."""
    cache = synced(memory)
    args = ["diff-index", "-z", "--name-only", "--no-renames", name, "--", memory.prefix]
    out = git.read(args, memory.repository.top)
    return cache, {git.name(path)[len(memory.prefix) + 1 :] for path in out.split(b"\0") if path}


def _read(
    memory: Memory, known: Cache | None, progress: Progress | None, written: tuple[str, ...], *, only_open: bool
) -> tuple[Cache, tuple[list[Record], list[Fault]]]:
    """The cache, brought up to what is on the disk, and the records, or the open ones, and faults in it."""
    if known is not None:
        view = known.view(only_open=only_open)
        return known, view.decoded()
    cache = open_cache(memory)
    with suppress(sqlite3.DatabaseError):
        for _ in range(_TRIES):
            memory.asked = memory.ask()
            view = cache.view(only_open=only_open)
            found = view.decoded()  # most likely they are right; Git is still looking meanwhile
            was_right = _sync(memory, cache, view.state, progress, written)
            if was_right:
                return cache, found
            if was_right is not None:
                view = cache.view(only_open=only_open)
                return cache, view.decoded()
    cache = _afresh(memory, progress, written)
    view = cache.view(only_open=only_open)
    return cache, view.decoded()


def _afresh(memory: Memory, progress: Progress | None, written: tuple[str, ...]) -> Cache:
    cache = Cache.open(None)
    _sync(memory, cache, cache.state(), progress, written)
    return cache


def _sync(
    memory: Memory, cache: Cache, state: CacheState, progress: Progress | None, written: tuple[str, ...]
) -> bool | None:
    """Bring a cache in a known state up to what is on the disk.

    Returns whether it was right before; None if another process came between.
    """
    asked = memory.ask()
    head = (asked.commit(), _sparse(memory))
    dirty = {short for path in asked.differing() if (short := _below(path, memory.prefix))}
    dirty |= {path for path in written if files.is_cached_path(path)}
    memory.differing = head[0], frozenset(map(memory.tracked, dirty))
    stale = _changed_paths(memory, cache, state.head, head) | (set(state.differing) - dirty)
    stale |= {path for path in dirty if _stat(memory, path) != state.differing.get(path)}
    if not stale and head == state.head:
        return True
    parsed, removed = _parse_files(memory, stale, dirty, asked.started, progress)
    return not stale if cache.update(parsed, removed, state.head, head) else None


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
) -> tuple[list[ParsedFile], list[str]]:
    """Read the files that may have changed: what they came to, and which are gone."""
    reader = files.FolderReader(memory.folder)
    parsed: list[ParsedFile] = []
    removed: list[str] = []
    for number, path in enumerate(sorted(stale)):
        if progress and number % _STEP == 0:
            progress(number, len(stale))
        item = _parse_file(reader, memory, path, path in dirty, started)
        if item is None:
            removed.append(path)
        else:
            parsed.append(item)
    if progress and stale:
        progress(len(stale), len(stale))
    return parsed, removed


def _parse_file(
    reader: files.FolderReader, memory: Memory, path: str, is_dirty: bool, started: int
) -> ParsedFile | None:
    """What the file at a path comes to now; None if there is none, and HEAD has none either."""
    from memctl.git import trees  # mostly no file has changed
    from memctl.store import objects

    status = _status(memory, path)
    if status == _GONE and "\\x" in path:
        return objects.broken(path, [Fault(path, 1, "", "the file's name is not UTF-8 text")], _GONE)
    if status == _GONE:  # if HEAD has it, that must be remembered: it may come back without anything else changing
        return objects.broken(path, [], _GONE) if is_dirty else None
    racy = isinstance(status, str) or status.st_mtime_ns > started - _RACY
    mark = _mark(status) if is_dirty or racy else ""
    try:
        text = reader.read(path, None if isinstance(status, str) else status)
        return objects.parsed(text, path, mark, trees.blob_of(text.encode(), [memory.repository.null_id]))
    except InvalidRecord as error:
        return objects.broken(path, error.faults, mark)
    except OSError as error:
        fault = Fault(path, 1, "", f"the file can't be read: {error.strerror}")
        return objects.broken(path, [fault], _mark(status))


def _stat(memory: Memory, path: str) -> str:
    return _mark(_status(memory, path))


def _status(memory: Memory, path: str) -> os.stat_result | str:
    try:
        return os.lstat(f"{memory.folder}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return _GONE
    except OSError:
        return _UNREADABLE


def _mark(status: os.stat_result | str) -> str:
    if isinstance(status, str):
        return status
    return f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"


def _below(path: str, prefix: str) -> str:
    """The path below `.memory/` of a file that the cache knows; "" for any other."""
    short = path[len(prefix) + 1 :]
    return short if files.is_cached_path(short) else ""


def _changed_paths(memory: Memory, cache: Cache, known: tuple[str, str], head: tuple[str, str]) -> set[str]:
    """The paths that may differ between the HEAD that the cache is for and the one there is."""
    if known == head:
        return set()
    top = memory.repository.top
    before, now = (f"{commit}:{memory.prefix}" if commit else "" for commit in (known[0], head[0]))
    try:
        if before and now and known[1] == head[1]:
            out = git.read(["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, now], top)
            names = {git.name(name) for name in out.split(b"\0") if name}
            return {name for name in names if files.is_cached_path(name)}
    except git.GitFailed:
        pass  # the older commit is no longer there, or one of them has no memory
    names = cache.paths()
    with suppress(git.GitFailed):  # HEAD has no memory
        listed = git.read(["ls-tree", "-r", "-z", "--name-only", "--full-tree", now], top) if now else b""
        names |= set(map(git.name, listed.split(b"\0")))
    return {name for name in names if files.is_cached_path(name)}
