"""The repository's own files (level 4 of the hierarchy, without the memory): their names and contents."""

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
from memctl.store.memory_root import FOLDER

_TICK = 10_000_000  # ns by which the clock of a file system may be behind
_LARGE = 1_000_000  # bytes of a file from which on Git is faster than hashing here, which takes 3 ms
_FIELDS_BEFORE_PATH = {"1": 8, "u": 10, "?": 1}  # git-status(1), porcelain format version 2


class FilesInGit:
    """The repository's files at a commit, or in Git's index if `commit` is "".

    `record.source.Files` describes the methods.
    """

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

    def stamp(self, paths: Iterable[str]) -> bytes:
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
        return _own_files(trees.entries(repository, commit) if commit else index.entries(repository, without=FOLDER))


class FilesOnDisk:
    """The files of the worktree: tracked and present, or untracked and not ignored.

    `record.source.Files` describes the methods.
    """

    def __init__(self, memory: Memory) -> None:
        self._repository = memory.repository
        self._hashed: dict[str, str] = {}
        self._answers: dict[str, str | None] = {}  # Git's answers about single files
        self._asked = 0  # when Git was asked, in ns

    def names(self) -> frozenset[str]:
        return self._names

    def unchanged(self) -> dict[str, str]:
        """Return, by path, the blob id of each file of the worktree that is as in HEAD.

        A file that is changed, staged or new is in the result, too, with "".
        """
        return self._current_blobs

    def is_settled(self, path: str) -> bool:
        """Return whether a file is unchanged since Git was asked about the worktree, so that Git's answer still holds.

        The time of the file's last change decides. Returns False if the file does not exist.
        """
        try:
            return os.lstat(self._repository.top / path).st_mtime_ns < self._asked - _TICK
        except OSError:
            return False

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        return frozenset(self._blobs_from_git(list(dict.fromkeys(paths))))

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        if "_current_blobs" in vars(self) or not texts or not all(map(_is_literal, texts)):
            return self._names if texts else frozenset()
        entries = _own_files(index.entries(self._repository, *map(_pattern, texts), without=FOLDER))
        return frozenset(path for path in entries if _is_plain(f"{self._repository.top}/{path}", path))

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        known = self._blobs_from_git(list(dict.fromkeys(paths)))
        unknown = [path for path, blob in known.items() if not blob and path not in self._hashed]
        self._hashed |= trees.worktree_blob_ids(self._repository, unknown)
        return {path: blob or self._hashed[path] for path, blob in known.items()}

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        wanted, top = list(dict.fromkeys(paths)), os.fspath(self._repository.top)
        new = {path: f"{top}/{path}" for path in wanted if path not in self._hashed and _is_literal(path)}
        folders = {os.path.dirname(file) for file in new.values()}
        real = {folder for folder in folders if os.path.realpath(folder) == folder}
        plain = [path for path, file in new.items() if os.path.dirname(file) in real and _is_plain(file, path)]
        fast_ones = [path for path in plain if _is_fast_to_hash(new[path])]
        self._hashed |= {path: blob for path in fast_ones if (blob := _hash_file(new[path], likely)) in likely}
        unlike = [path for path in fast_ones if path not in self._hashed]
        self._hashed |= trees.worktree_blob_ids(self._repository, unlike)
        others = self.blobs(path for path in plain if path not in self._hashed)
        contents = {path: self._hashed.get(path) or others.get(path) for path in wanted}
        return {path: blob for path, blob in contents.items() if blob}

    def stamp(self, paths: Iterable[str]) -> bytes:
        top = self._repository.top
        return marks([self._repository.git_dir / "index", *(top / path for path in paths)])

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        most = files.MAX_BYTES if limit is None else limit
        result = {}
        for path in self._blobs_from_git(list(paths)):
            file = self._repository.top / path
            if not file.is_symlink() and file.is_file():
                with open(file, "rb") as stream:
                    content = stream.read(most + 1)
                if len(content) <= most:
                    result[path] = content
        return result

    def _blobs_from_git(self, paths: list[str]) -> dict[str, str]:
        """Return the blob ids of those of some files that exist, by path; "" for a changed, staged or new file.

        For a few paths Git is asked about these alone, which is faster than a list of all files.
        """
        new = [path for path in paths if path not in self._answers]
        alone = "_current_blobs" not in vars(self) and len(new) <= trees.BATCH_SIZE and all(map(_is_literal, new))
        if alone and (not new or self._query_files(new)):
            return {path: blob for path in paths if (blob := self._answers[path]) is not None}
        return {path: self._current_blobs[path] for path in paths if path in self._current_blobs}

    def _query_files(self, paths: Sequence[str]) -> bool:
        """Ask Git about some files, and store its answers; return False if Git refuses one of the paths."""
        with suppress(git.GitFailed):
            answers = _query_git(self._repository, paths)
            self._answers |= {path: answers.get(path) for path in paths}
            return True
        return False

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._current_blobs)

    @cached_property
    def _current_blobs(self) -> dict[str, str]:
        """The blob id of each file by path; "" for a changed, staged or new file."""
        self._asked = time.time_ns()
        return _query_git(self._repository)


def _query_git(repository: Repository, paths: Sequence[str] = ()) -> dict[str, str]:
    """Return the blob ids of the worktree's files at some paths (none: all), by path.

    The id is "" for a changed, staged or new file. Raises GitFailed.
    """
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
    args += ["--", *paths] if paths else index.pathspecs_without(FOLDER)
    status = git.start(args, repository.top, None if paths else {"GIT_LITERAL_PATHSPECS": "0"})
    try:
        entries = index.entries(repository, *paths) if paths else index.entries(repository, without=FOLDER)
    except BaseException:
        git.end(status)
        raise
    known = {path: entry.blob for path, entry in _own_files(entries).items()}
    for item in git.finish(status, args).decode("utf-8", "backslashreplace").split("\0"):
        count = _FIELDS_BEFORE_PATH.get(item[:1])
        if count is None:
            continue
        path = item.split(" ", count)[count]
        file = f"{repository.top}/{path}"
        if (
            not _is_plain(file, path) or os.path.realpath(file) != file
        ):  # a link on the way may lead out of the worktree
            known.pop(path, None)
        elif path in known or item[0] in "?u":
            known[path] = ""
    return known


def _is_plain(file: str, path: str) -> bool:
    is_file = os.path.isfile(file) and not os.path.islink(file)
    return is_file and not path.endswith("/") and "\n" not in path and not _is_memory(path)


def _is_fast_to_hash(file: str) -> bool:
    """Return whether a file can be read and is small enough to be hashed here."""
    return os.access(file, os.R_OK) and os.path.getsize(file) <= _LARGE


def _hash_file(file: str, likely: Collection[str]) -> str:
    """Return the blob id of a file's bytes, in the hash that the ids `likely` have; "" without these or the file."""
    if likely:
        with suppress(OSError), open(file, "rb") as stream:
            return trees.compute_blob_id(stream.read(), likely)
    return ""


def _is_literal(path: str) -> bool:
    """Return whether a path can be passed to Git as it is: a backslash may stand for a byte that is not UTF-8."""
    return bool(path) and "\\" not in path and "\0" not in path


def _pattern(text: str) -> str:
    """Return Git's pathspec for all paths that contain a text, in which a dot also matches a slash."""
    return f"*{re.sub(r'[*?[]', lambda match: f'[{match[0]}]', text).replace('.', '[./]')}*"


def _own_files(entries: Iterable[TreeEntry]) -> dict[str, TreeEntry]:
    """Return the regular files among some entries that belong to no memory."""
    return {entry.path: entry for entry in entries if entry.is_regular and not _is_memory(entry.path)}


def _is_memory(path: str) -> bool:
    return path.startswith(f"{FOLDER}/") or f"/{FOLDER}/" in path
