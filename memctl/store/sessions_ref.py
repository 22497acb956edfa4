"""Pages of sessions and checkpoints on a ref of their own, refs/memctl/sessions: on no branch, in no worktree or index.

All memories of a clone share the ref. Its commits are a chain of their own, with the same messages and trailers as
those of the branch, and their trees have the files under the paths that they would have in the worktree. Readers find
files in both places; what is in the worktree comes first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.record.kinds import CHECKPOINTS, SESSIONS
from memctl.store.memory import Memory

if TYPE_CHECKING:
    from memctl.record.config import Config
    from memctl.record.errors import Fault
    from memctl.record.record import Record
    from memctl.record.source import Catalogue, Files, Source, Texts
    from memctl.store.objects import InGit
    from memctl.store.search_views import SearchSource

    class SearchedSource(Source, Protocol):
        """A source that says what of it is searched."""

        def searched(self) -> SearchSource: ...


REF = "refs/memctl/sessions"
FOLDERS = (f"{SESSIONS}/", f"{CHECKPOINTS}/")


def remote_ref(remote: str) -> str:
    """Return where memctl keeps what it has fetched of a remote's."""
    return REF.replace("refs/memctl/", f"refs/memctl/remotes/{remote}/", 1)


def now(memory: Memory) -> str:
    """Return the commit that the ref is at, "" if there is none. Files say so."""

    return memory.repository.tip(REF)


def as_of(memory: Memory, revision: str) -> str:
    """Return the last commit of the ref that is no later than a revision; "" if there is none."""
    tip = now(memory)
    if not tip:
        return ""
    commit = memory.repository.resolve(revision)
    moment = git.read(["log", "-1", "--no-show-signature", "--format=%ct", commit], memory.repository.top)
    args = ["rev-list", "--max-count=1", f"--min-age={moment.decode().strip()}", tip]
    return git.read(args, memory.repository.top).decode().strip()


def has(memory: Memory, path: str) -> bool:
    """Return whether the memory has a file, in the worktree or on the ref."""
    if os.path.lexists(memory.folder / path):
        return True
    tip = now(memory)
    return bool(tip) and memory.repository.objects.read([f"{tip}:{memory.tracked(path)}"])[0] is not None


class Both:
    """A source with the files of the ref beside its own: as they are now, or as they were at a revision."""

    def __init__(self, memory: Memory, source: SearchedSource, revision: str = "") -> None:
        self._memory = memory
        self._source = source
        self._revision = revision
        self.name = source.name
        self.prefix = source.prefix

    @property
    def config(self) -> Config:
        return self._source.config

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        return self._source.records(only_open=only_open)

    def texts(self) -> Texts:
        from memctl.store.stored_texts import StoredTexts

        return StoredTexts(self._memory, self._searched())

    def _searched(self) -> SearchSource:
        """Return what there is to be searched, with the pages of sessions and the checkpoints of the ref."""
        own = self._source.searched()
        if not self._commit:
            return own

        def read(path: str, blob: str) -> str:
            return (
                there.read(path) if (there := self._there) and there.blobs().get(path) == blob else own.read(path, blob)
            )

        def others() -> dict[str, str]:
            return {} if self._there is None else self._there.blobs()

        return msgspec.structs.replace(own, token=f"{own.token} {self._commit}", read=read, others=others)

    def catalogue(self) -> Catalogue:
        return self._source.catalogue()

    def files(self) -> Files:
        return self._source.files()

    def read(self, path: str) -> str:
        try:
            return self._source.read(path)
        except (FileNotFoundError, NotADirectoryError):
            if self._there is None or not path.startswith(FOLDERS):
                raise
            return self._there.read(path)

    def names(self, folder: str) -> list[str]:
        found = self._source.names(folder)
        if (folder and not f"{folder}/".startswith(FOLDERS)) or self._there is None:
            return found
        return sorted({*found, *(path for path in self._there.names(folder) if path.startswith(FOLDERS))})

    @cached_property
    def _commit(self) -> str:
        """The commit of the ref, "" if there is none."""
        try:
            return as_of(self._memory, self._revision) if self._revision else now(self._memory)
        except MemctlError as error:  # the ref is broken: that keeps nobody from the rest
            self._remark(error)
            return ""

    @cached_property
    def _there(self) -> InGit | None:
        if not self._commit:
            return None
        from memctl.store import objects  # which imports the cache

        try:
            return objects.at(self._memory, REF, self._commit, objects.nothing)
        except MemctlError as error:
            self._remark(error)
            return None

    def _remark(self, error: MemctlError) -> None:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        self._memory.remarks.append(f"warning: pages of sessions can't all be read: {error.message}{hint}")
