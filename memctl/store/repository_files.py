"""The repository's own files, level 4 of the hierarchy: their names and their contents."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property

from memctl.git import git, index, trees
from memctl.git.repository import Repository
from memctl.git.status import marks
from memctl.git.trees import TreeEntry
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.place import FOLDER

_TICK = 10_000_000  # ns by which the clock of a file system may lag behind
_LARGE = 1_000_000  # bytes of a file from which asking Git is faster than hashing, which takes 3 ms
_FIELDS_BEFORE_PATH = {"1": 8, "u": 10, "?": 1}  # git-status(1), porcelain format version 2


class FilesInGit:
    """The files of a revision, or with the revision "" of the index; `record.source.Files` describes the methods."""

    def __init__(self, memory: Memory, commit: str) -> None:
        self._repository = memory.repository
        self._commit = commit

    def names(self) -> frozenset[str]:
        return self._names

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        return self._names.intersection(paths)

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        return self._names

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._entries[path].blob for path in paths if path in self._entries}

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        return self.blobs(paths)

    def mark(self, paths: Iterable[str]) -> bytes:
        return self._commit.encode()

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        wanted = self.blobs(paths)
        contents = trees.blobs(self._repository, wanted.values(), files.MAX_BYTES if limit is None else limit)
        return {path: content for path, blob in wanted.items() if (content := contents[blob]) is not None}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._entries)

    @cached_property
    def _entries(self) -> dict[str, TreeEntry]:
        commit, repository = self._commit, self._repository
        return _own(trees.entries(repository, commit) if commit else index.entries(repository, without=FOLDER))


class FilesOnDisk:
    """The files of the worktree: tracked and present, or untracked and not ignored.

    `record.source.Files` describes the methods.
    """

    def __init__(self, memory: Memory) -> None:
        self._repository = memory.repository
        self._hashed: dict[str, str] = {}
        self._looked: dict[str, str | None] = {}  # Git's answers about single files
        self._asked = 0  # when Git was asked, in ns

    def names(self) -> frozenset[str]:
        return self._names

    def unchanged(self) -> dict[str, str]:
        """Return for each file, by path, the blob id that Git has of it, "" if the file is changed, staged or new."""
        return self._current_blobs

    def is_settled(self, path: str) -> bool:
        """Return whether a file was last written before Git was asked, so that Git's answer still holds."""
        try:
            return os.lstat(self._repository.top / path).st_mtime_ns < self._asked - _TICK
        except OSError:
            return False

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(self._known_of(list(dict.fromkeys(paths))))

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        if "_current_blobs" in vars(self) or not texts or not all(map(_is_askable, texts)):
            return self._names if texts else frozenset()
        found = _own(index.entries(self._repository, *map(_pattern, texts), without=FOLDER))
        return frozenset(path for path in found if _is_plain(f"{self._repository.top}/{path}", path))

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        known = self._known_of(list(dict.fromkeys(paths)))
        unknown = [path for path, blob in known.items() if not blob and path not in self._hashed]
        self._hashed |= trees.worktree_blob_ids(self._repository, unknown)
        return {path: blob or self._hashed[path] for path, blob in known.items()}

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        asked, top = list(dict.fromkeys(paths)), os.fspath(self._repository.top)
        new = {path: f"{top}/{path}" for path in asked if path not in self._hashed and _is_askable(path)}
        folders = {os.path.dirname(file) for file in new.values()}
        real = {folder for folder in folders if os.path.realpath(folder) == folder}
        there = [path for path, file in new.items() if os.path.dirname(file) in real and _is_plain(file, path)]
        soon_read = [path for path in there if _is_soon_read(new[path])]
        self._hashed |= {path: blob for path in soon_read if (blob := _blob(new[path], likely)) in likely}
        unlike = [path for path in soon_read if path not in self._hashed]
        self._hashed |= trees.worktree_blob_ids(self._repository, unlike)
        others = self.blobs(path for path in there if path not in self._hashed)
        found = {path: self._hashed.get(path) or others.get(path) for path in asked}
        return {path: blob for path, blob in found.items() if blob}

    def mark(self, paths: Iterable[str]) -> bytes:
        top = self._repository.top
        return marks([self._repository.git_dir / "index", *(top / path for path in paths)])

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        most = files.MAX_BYTES if limit is None else limit
        found = {}
        for path in self._known_of(list(paths)):
            file = self._repository.top / path
            if not file.is_symlink() and file.is_file():
                with open(file, "rb") as stream:
                    content = stream.read(most + 1)
                if len(content) <= most:
                    found[path] = content
        return found

    def _known_of(self, paths: list[str]) -> dict[str, str]:
        """Return what is known of some files.

        Of a few Git is asked alone, which spares it the look at all the others.
        """
        new = [path for path in paths if path not in self._looked]
        alone = "_current_blobs" not in vars(self) and len(new) <= trees.BATCH_SIZE and all(map(_is_askable, new))
        if alone and (not new or self._look_at(new)):
            return {path: blob for path in paths if (blob := self._looked[path]) is not None}
        return {path: self._current_blobs[path] for path in paths if path in self._current_blobs}

    def _look_at(self, paths: Sequence[str]) -> bool:
        """Take in what Git says of some files; False if one of them is a path that it takes for none of its own."""
        with suppress(git.GitFailed):
            found = _look(self._repository, paths)
            self._looked |= {path: found.get(path) for path in paths}
            return True
        return False

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._current_blobs)

    @cached_property
    def _current_blobs(self) -> dict[str, str]:
        """The blob of each file by path, "" where it must be looked at."""
        self._asked = time.time_ns()
        return _look(self._repository)


def _look(repository: Repository, paths: Sequence[str] = ()) -> dict[str, str]:
    """Return the blob of each of some files of the worktree, or of all, by path, "" where it must be looked at.

    Raises GitFailed.
    """
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
    args += ["--", *paths] if paths else index.pathspecs_without(FOLDER)
    status = git.start(args, repository.top, None if paths else {"GIT_LITERAL_PATHSPECS": "0"})
    try:
        entries = index.entries(repository, *paths) if paths else index.entries(repository, without=FOLDER)
    except BaseException:
        git.end(status)
        raise
    known = {path: entry.blob for path, entry in _own(entries).items()}
    for item in git.finish(status, args).decode("utf-8", "backslashreplace").split("\0"):
        count = _FIELDS_BEFORE_PATH.get(item[:1])
        if count is None:
            continue
        path = item.split(" ", count)[count]
        file = f"{repository.top}/{path}"
        if not _is_plain(file, path) or os.path.realpath(file) != file:  # a link may lead to it, or out of here
            known.pop(path, None)
        elif path in known or item[0] in "?u":
            known[path] = ""
    return known


def _is_plain(file: str, path: str) -> bool:
    is_file = os.path.isfile(file) and not os.path.islink(file)
    return is_file and not path.endswith("/") and "\n" not in path and not _is_memory(path)


def _is_soon_read(file: str) -> bool:
    """Return whether a file can be read, and in no time."""
    return os.access(file, os.R_OK) and os.path.getsize(file) <= _LARGE


def _blob(file: str, likely: Collection[str]) -> str:
    """Return the blob of the very bytes of a file, as long as the ids that it may have; "" without any, and
    of no file."""
    if likely:
        with suppress(OSError), open(file, "rb") as stream:
            return trees.compute_blob_id(stream.read(), likely)
    return ""


def _is_askable(path: str) -> bool:
    """Return whether Git takes a path literally. A backslash may be an escape of a byte that is no UTF-8."""
    return bool(path) and "\\" not in path and "\0" not in path


def _pattern(text: str) -> str:
    """Return Git's pathspec for all paths that contain a text, in which a dot also matches a slash."""
    return f"*{re.sub(r'[*?[]', lambda found: f'[{found[0]}]', text).replace('.', '[./]')}*"


def _own(entries: Iterable[TreeEntry]) -> dict[str, TreeEntry]:
    """Return the regular files among some entries that belong to no memory."""
    return {entry.path: entry for entry in entries if entry.is_regular and not _is_memory(entry.path)}


def _is_memory(path: str) -> bool:
    return path.startswith(f"{FOLDER}/") or f"/{FOLDER}/" in path
