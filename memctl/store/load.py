"""Reading Snapshots: from the disk through the cache, and through `git_source` from the index or a revision.

The cache describes the files of HEAD, and `git status` names the files that differ from HEAD. With 10,000 records Git
takes 20 ms for `git status`, during which Python imports modules; to stat each file from Python would take 30 ms more.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.status import parse
from memctl.record.config import Config
from memctl.record.errors import Fault
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files, retrieval_counts, sessions_ref
from memctl.store.cache import FILE, Cache, CacheState
from memctl.store.memory import Memory

if TYPE_CHECKING:
    from memctl.record.source import Texts
    from memctl.store.cache_update import Progress
    from memctl.store.catalogue import StoredCatalogue
    from memctl.store.git_source import InGit, Overlay
    from memctl.store.repository_files import FilesOnDisk
    from memctl.store.search_views import SearchSource

_TRIES = 3  # attempts to update the cache before a temporary one in memory is used


def sparse_note(memory: Memory) -> str:
    """Return a sentence that says how many records and pages a sparse checkout leaves out; "" if it leaves out none."""
    paths = _sparse_paths(memory)
    if not paths:
        return ""
    from memctl.record.pages import kind_at

    number = sum(files.is_record_path(path) or kind_at(path) is not None for path in paths)
    what = "record or page of HEAD is" if number == 1 else "records and pages of HEAD are"
    return f"{number:,} {what} not checked out here (sparse checkout)" if number else ""


def _sparse_paths(memory: Memory) -> list[str]:
    if not (memory.repository.git_dir / "info" / "sparse-checkout").exists():
        return []
    from memctl.git import index

    return [path[len(memory.prefix) + 1 :] for path in index.sparse_paths(memory.repository, memory.prefix)]


def disk(
    memory: Memory,
    progress: Progress | None = None,
    *,
    written: Collection[str] = (),
    instead: Mapping[str, str | None] | None = None,
    whole: bool = False,
) -> Snapshot:
    """Return the memory in the worktree, with the retrieval counts of this clone.

    - `progress` is called while files are parsed, with the number of parsed files and the number of all.
    - `written` are paths below `.memory/` that the caller has written since it started `git status`, which misses them.
    - `instead` maps paths to texts that the snapshot has in place of the texts on the disk; None leaves the file out.
    - With `whole` the snapshot also has the files that a sparse checkout leaves out of the worktree, as the index has
      them; searches do not find these.
    """
    source = _Disk(memory, progress, tuple(written))
    absent = [path for path in _sparse_paths(memory) if path not in written] if whole else []
    if not instead and not absent:
        return Snapshot(_WithSessions(memory, source))
    from memctl.store import git_source  # only a sparse checkout and documents beside uncommitted edits need it

    texts = {**git_source.index_texts(memory, absent), **(instead or {})}
    return Snapshot(_WithSessions(memory, git_source.Overlay(source, texts)))


def index(memory: Memory) -> Snapshot:
    """Return the memory that is staged in Git's index."""
    from memctl.store import git_source

    return Snapshot(git_source.from_index(memory, lambda: _differing_from_index(memory)))


def revision(memory: Memory, name: str) -> Snapshot:
    """Return the memory at a revision; raises MemctlError if there is no such revision."""
    from memctl.store import git_source

    return Snapshot(_WithSessions(memory, git_source.at_revision(memory, name), name))


def open_cache(memory: Memory) -> Cache:
    """Open the cache of a memory as it is, without updating it."""
    return Cache.open(memory.private / FILE)


class _Disk:
    """The worktree as a Source. The first query that needs the cache updates it."""

    name = "disk"

    def __init__(self, memory: Memory, progress: Progress | None, written: tuple[str, ...]) -> None:
        self._memory, self.prefix = memory, memory.prefix
        self._progress = progress
        self._written = written
        self._cache: Cache | None = None
        self._reader = files.FolderReader(memory.folder)
        self.read = self._reader.readable

    @property
    def config(self) -> Config:
        return self._memory.config

    def records(self, *, only_open: bool = False) -> tuple[list[Record], list[Fault]]:
        parsed = _read(self._memory, self._cache, self._progress, self._written, only_open=only_open)
        self._cache, (records, faults) = parsed
        return retrieval_counts.with_counts(retrieval_counts.counts(self._memory.repository.shared), records), faults

    def names(self, folder: str) -> list[str]:
        return files.names(files.list_files(self._memory.folder, folder) if folder else self._file_names)

    def last_id(self) -> str:
        return self._memory.last_id

    def leftovers(self) -> list[str]:
        return files.leftovers(self._memory.folder, self._file_names)

    @cached_property
    def _file_names(self) -> list[str]:
        return files.list_files(self._memory.folder)

    def searched(self) -> SearchSource:
        from memctl.store import search_views

        cache, read = self.current_cache(), self._reader.read
        ids = [self._memory.repository.null_id]

        def read_as(path: str, blob: str) -> str:
            from memctl.git import trees  # only new texts are read

            text = read(path)
            if trees.compute_blob_id(text.encode(), ids) != blob:
                raise FileNotFoundError(path)  # it changed a moment ago; the next snapshot has it
            return text

        return search_views.SearchSource(search_views.of_checkout(self._memory), cache.token(), cache, read_as)

    def catalogue(self) -> StoredCatalogue:
        from memctl.store.catalogue import StoredCatalogue

        renew = partial(current_cache, self._memory, self._progress, self._written)
        return StoredCatalogue(self.current_cache(), self._memory.repository.shared, renew)

    def files(self) -> FilesOnDisk:
        from memctl.store.repository_files import FilesOnDisk

        return FilesOnDisk(self._memory)

    def current_cache(self) -> Cache:
        if self._cache is None:
            self._cache = current_cache(self._memory, self._progress, self._written)
        return self._cache


class _WithSessions:
    """A Source that also has the files of refs/memctl/sessions, as they are now or were at the time of a revision."""

    def __init__(self, memory: Memory, source: _Disk | InGit | Overlay, revision: str = "") -> None:
        self._memory = memory
        self._source = source
        self._revision = revision
        self.name, self.prefix = source.name, source.prefix
        self.records, self.catalogue = source.records, source.catalogue
        self.files, self.leftovers, self.last_id = source.files, source.leftovers, source.last_id

    @property
    def config(self) -> Config:
        return self._source.config

    def texts(self) -> Texts:
        from memctl.store.text_search import StoredTexts

        return StoredTexts(self._memory, self._searched())

    def _searched(self) -> SearchSource:
        own = self._source.searched()
        if not self._commit:
            return own

        def read(path: str, blob: str) -> str:
            return (
                sessions.read(path)
                if (sessions := self._sessions) and sessions.blobs().get(path) == blob
                else own.read(path, blob)
            )

        def others() -> dict[str, str]:
            return {} if self._sessions is None else self._sessions.blobs()

        return msgspec.structs.replace(own, token=f"{own.token} {self._commit}", read=read, others=others)

    def read(self, path: str) -> str:
        try:
            return self._source.read(path)
        except (FileNotFoundError, NotADirectoryError):
            if not path.startswith(sessions_ref.FOLDERS) or self._sessions is None:
                raise
            return self._sessions.read(path)

    def names(self, folder: str) -> list[str]:
        names = self._source.names(folder)
        if (folder and not f"{folder}/".startswith(sessions_ref.FOLDERS)) or self._sessions is None:
            return names
        return sorted(
            {*names, *(path for path in self._sessions.names(folder) if path.startswith(sessions_ref.FOLDERS))}
        )

    @cached_property
    def _commit(self) -> str:
        try:
            return (
                sessions_ref.as_of(self._memory, self._revision) if self._revision else sessions_ref.head(self._memory)
            )
        except MemctlError as error:  # the ref is broken; all other files can be read
            self._warn(error)
            return ""

    @cached_property
    def _sessions(self) -> InGit | None:
        if not self._commit:
            return None
        from memctl.store import git_source  # which imports the cache

        try:
            return git_source.at(self._memory, sessions_ref.REF, self._commit, git_source.empty_cache)
        except MemctlError as error:
            self._warn(error)
            return None

    def _warn(self, error: MemctlError) -> None:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        self._memory.remarks.append(f"warning: some session pages can't be read: {error.message}{hint}")


def current_cache(memory: Memory, progress: Progress | None = None, written: tuple[str, ...] = ()) -> Cache:
    """Return the cache of a memory, updated to the files on the disk.

    `progress` is called while files are parsed, with the number of parsed files and the number of all. `written` are
    paths below `.memory/` that the caller has written since it started `git status`, which misses them.
    """
    cache = open_cache(memory)
    with suppress(sqlite3.DatabaseError):  # the cache is damaged or locked for too long
        for _ in range(_TRIES):
            if _sync(memory, cache, cache.state(), progress, written) is not None:
                return cache
    return _new_cache(memory, progress, written)


def _differing_from_index(memory: Memory) -> tuple[Cache, set[str]]:
    cache = current_cache(memory)
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--", memory.prefix]
    out = git.read(args, memory.repository.top, extra=memory.repository.index_in_use())
    # The second letter of the second field is the state of the worktree.
    paths = (path for fields, path in parse(out.split(b"\0")) if fields[0] == b"u" or fields[1][1:] != b".")
    return cache, {path[len(memory.prefix) + 1 :] for path in paths}


def _read(
    memory: Memory, known: Cache | None, progress: Progress | None, written: tuple[str, ...], *, only_open: bool
) -> tuple[Cache, tuple[list[Record], list[Fault]]]:
    if known is not None:
        return known, known.view(only_open=only_open)[1]
    cache = open_cache(memory)
    with suppress(sqlite3.DatabaseError):
        for _ in range(_TRIES):
            memory.asked = memory.ask()
            # Git is still running meanwhile, and most likely nothing has changed.
            state, contents = cache.view(only_open=only_open)
            was_current = _sync(memory, cache, state, progress, written)
            if was_current:
                return cache, contents
            if was_current is not None:
                return cache, cache.view(only_open=only_open)[1]
    cache = _new_cache(memory, progress, written)
    return cache, cache.view(only_open=only_open)[1]


def _new_cache(memory: Memory, progress: Progress | None, written: tuple[str, ...]) -> Cache:
    cache = Cache.open(None)
    _sync(memory, cache, cache.state(), progress, written)
    return cache


def _sync(
    memory: Memory, cache: Cache, state: CacheState, progress: Progress | None, written: tuple[str, ...]
) -> bool | None:
    """Return whether the cache was up to date before; None if another process changed it meanwhile."""
    status = memory.ask()
    commit, differing = status.commit(), status.differing()
    head = (commit, _sparse(memory))
    start = len(memory.prefix) + 1
    dirty = set(filter(files.is_cached_path, (*written, *(path[start:] for path in differing))))
    memory.differing = head[0], frozenset(map(memory.tracked, dirty))
    if head == state.head and not dirty and not state.differing:
        return True
    from memctl.store import cache_update

    disk_state = cache_update.Disk(head, frozenset(dirty), status.started)
    return cache_update.update_from_disk(memory, cache, state, disk_state, progress)


def _sparse(memory: Memory) -> str:
    """Git reports the files that a sparse checkout leaves out as unchanged."""
    marks = []
    for name in ("info/sparse-checkout", "config.worktree"):
        try:
            marks.append(str(os.stat(memory.repository.git_dir / name).st_mtime_ns))
        except OSError:
            marks.append("")
    return ":".join(marks)
