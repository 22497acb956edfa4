"""The repository's own files (level 4 of the hierarchy, without the memory): their names and contents."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache

from memctl.git import git, index, trees
from memctl.git.repository import Repository
from memctl.git.status import marks, parse
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.memory_root import FOLDER

_TICK = 10_000_000  # ns by which the clock of a file system may be behind
_LARGE = 1_000_000  # bytes of a file from which on Git is faster than hashing here, which takes 3 ms
_CHECKSUM = 20  # bytes; of a longer one, these tell two apart


@lru_cache(maxsize=4)
def _shared(names: frozenset[str]) -> frozenset[str]:
    """Caches that have sets as keys would compare all members of equal sets."""
    return names


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

    def tree(self, known: tuple[str, str] = ("", "")) -> tuple[str, str]:
        """Return a pair that identifies the files, as `FilesOnDisk.tree` does; here both texts are the commit's id."""
        return self._commit, self._commit

    def differing(self) -> dict[str, bool]:
        """Return {}: a commit, or Git's index, has no uncommitted changes."""
        return {}

    def blobs_here(self) -> dict[str, str]:
        """Return the blob ids of all files, by path."""
        return self.blobs(self._names)

    def is_settled(self, path: str) -> bool:
        """Return True: a commit does not change."""
        return True

    def size(self, path: str) -> int:
        """Return the same for every file: one byte more than `read` reads by default. Only Git knows the real size.

        It is asked about files that `read` has left out, so these count as too large.
        """
        return files.MAX_BYTES + 1

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        wanted = self.blobs(paths)
        contents = trees.blobs(self._repository, wanted.values(), files.MAX_BYTES if limit is None else limit)
        return {path: content for path, blob in wanted.items() if (content := contents[blob]) is not None}

    read_listed = read

    @cached_property
    def _names(self) -> frozenset[str]:
        return _shared(frozenset(self._entries))

    @cached_property
    def _entries(self) -> dict[str, trees.TreeEntry]:
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
        """Return the blob ids of all files of the worktree, by path; "" for a file that is changed, staged or new."""
        return self._current_blobs

    def is_settled(self, path: str) -> bool:
        """Return whether a file is unchanged since Git was asked about the worktree, so that Git's answer still holds.

        The time of the file's last change decides. Returns False if the file does not exist.
        """
        try:
            return os.lstat(self._repository.top / path).st_mtime_ns < self._asked - _TICK
        except OSError:
            return False

    def tree(self, known: tuple[str, str] = ("", "")) -> tuple[str, str]:
        """Return two texts that identify the tracked files: the checksum in Git's index file, and a digest.

        The digest covers the files' paths and blob ids, and which of them a sparse checkout leaves out. `known` is an
        earlier result. If it has the present checksum, it is returned, since Git then need not list the files.
        """
        from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

        checksum = _index_checksum(self._repository)
        if checksum and checksum == known[0] and "_state" not in vars(self):
            self._asked = time.time_ns()
            self._state = _query_git(self._repository, lists=False)
            return known
        return checksum, blake2b(self._state[0], digest_size=16).hexdigest()

    def differing(self) -> dict[str, bool]:
        """Return the paths that differ from the index or HEAD, each with whether a regular file is there now."""
        return self._state[1]

    def blobs_here(self) -> dict[str, str]:
        """Return the same as `unchanged`, but without the files that a sparse checkout leaves out."""
        skipped = (path for path in index.skipped(self._entries) if not os.path.lexists(self._repository.top / path))
        return {path: self._current_blobs[path] for path in self._current_blobs.keys() - set(skipped)}

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
        readable = [path for path in plain if os.access(new[path], os.R_OK)]
        fast_ones = [path for path in readable if os.path.getsize(new[path]) <= _LARGE]
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
        return self.read_listed(self._blobs_from_git(list(paths)), limit)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes, 0 if it does not exist."""
        try:
            return os.lstat(self._repository.top / path).st_size
        except OSError:
            return 0

    def read_listed(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        """Return the same as `read`, for paths known to be files of the repository, so that Git is not asked."""
        most = files.MAX_BYTES if limit is None else limit
        result = {}
        for path in paths:
            file = self._repository.top / path
            if not file.is_symlink() and file.is_file():
                with open(file, "rb") as stream:
                    content = stream.read(most + 1)
                if len(content) <= most:
                    result[path] = content
        return result

    def _blobs_from_git(self, paths: list[str]) -> dict[str, str]:
        """For a few paths Git is asked about these alone, which is faster than a list of all files."""
        new = [path for path in paths if path not in self._answers]
        alone = "_current_blobs" not in vars(self) and len(new) <= trees.BATCH_SIZE and all(map(_is_literal, new))
        if alone and (not new or self._query_files(new)):
            return {path: blob for path in paths if (blob := self._answers[path]) is not None}
        return {path: self._current_blobs[path] for path in paths if path in self._current_blobs}

    def _query_files(self, paths: Sequence[str]) -> bool:
        with suppress(git.GitFailed):
            answers = _current_blobs(*_query_git(self._repository, paths))
            self._answers |= {path: answers.get(path) for path in paths}
            return True
        return False

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._current_blobs)

    @cached_property
    def _current_blobs(self) -> dict[str, str]:
        return _current_blobs(self._entries, self._state[1])

    @property
    def _entries(self) -> bytes:
        return self._state[0] or index.read(self._repository, without=FOLDER)

    @cached_property
    def _state(self) -> tuple[bytes, dict[str, bool]]:
        self._asked = time.time_ns()
        return _query_git(self._repository)


def _query_git(
    repository: Repository, paths: Sequence[str] = (), *, lists: bool = True
) -> tuple[bytes, dict[str, bool]]:
    """Return what Git says of the files at some paths (none: all): those in its index, and those that differ.

    The first is an output of `index.read`; the others are paths, with whether the worktree has a regular file there.
    Without `lists` the first is b"". Raises GitFailed.
    """
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
    args += ["--", *paths] if paths else index.pathspecs_without(FOLDER)
    status = git.start(args, repository.top, None if paths else {"GIT_LITERAL_PATHSPECS": "0"})
    try:
        entries = index.read(repository, *paths, without="" if paths else FOLDER) if lists else b""
    except BaseException:
        git.end(status)
        raise
    differing: dict[str, bool] = {}
    for fields, path in parse(git.finish(status, args).split(b"\0")):
        is_regular = fields[0] != b"1" or fields[4] in trees.REGULAR or fields[1] == b".A"
        file = f"{repository.top}/{path}"
        # A link on the way may lead out of the worktree.
        differing[path] = is_regular and _is_plain(file, path) and os.path.realpath(file) == file
    return entries, differing


def _index_checksum(repository: Repository) -> str:
    """Return the checksum at the end of the worktree's index file; "" if there is none, or if Git uses another one."""
    with suppress(OSError), open(repository.git_dir / "index", "rb") as file:
        file.seek(-_CHECKSUM, os.SEEK_END)
        return "" if repository.index_in_use() else file.read().strip(b"\0").hex()  # zeros: index.skipHash
    return ""


def _current_blobs(entries: bytes, differing: Mapping[str, bool]) -> dict[str, str]:
    known = {path: entry.blob for path, entry in _own_files(index.parse(entries)).items()}
    changed = {path: "" for path, is_there in differing.items() if is_there}
    return {path: blob for path, blob in known.items() if path not in differing} | changed


def _is_plain(file: str, path: str) -> bool:
    is_file = os.path.isfile(file) and not os.path.islink(file)
    return is_file and not path.endswith("/") and "\n" not in path and not _is_memory(path)


def _hash_file(file: str, likely: Collection[str]) -> str:
    if likely:
        with suppress(OSError), open(file, "rb") as stream:
            return trees.compute_blob_id(stream.read(), likely)
    return ""


def _is_literal(path: str) -> bool:
    """A backslash may stand for a byte that is not UTF-8."""
    return bool(path) and "\\" not in path and "\0" not in path


def _pattern(text: str) -> str:
    return f"*{re.sub(r'[*?[]', lambda match: f'[{match[0]}]', text).replace('.', '[./]')}*"


def _own_files(entries: Iterable[trees.TreeEntry]) -> dict[str, trees.TreeEntry]:
    return {entry.path: entry for entry in entries if entry.is_regular and not _is_memory(entry.path)}


def _is_memory(path: str) -> bool:
    return path.startswith(f"{FOLDER}/") or f"/{FOLDER}/" in path
