"""The files below a folder that differ from HEAD, by a `git status` that runs in the background.

Among 100,000 files Git finds the changed ones in 0.15 s and the untracked ones in 0.11 s more. To save these 0.11 s,
Git's list of untracked names is stored with stamps (times and sizes) of the index and of all folders. The list can
change only if a folder or the index does, so it is valid until one of the stamps changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property

from memctl.git import git, private_files
from memctl.git.repository import Repository

_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames")
_ALL, _TRACKED = ("--untracked-files=all", "--ignored", "--"), ("--untracked-files=no", "--")
_COMMIT = b"# branch.oid "
_UPSTREAM = b"# branch.upstream "
_UP_TO_DATE = b"# branch.ab +0 -0"
_FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10, b"?": 1, b"!": 1}  # git-status(1), porcelain format version 2
# Bytes of an index of about 7,000 files, from which on storing the names pays. On some file systems a folder's times do
# not change with its files, which is why Git's own cache of this kind is off (git-update-index(1), "Untracked cache").
_LARGE_INDEX = 1_000_000
RACY = 2_000_000_000  # ns: a file changed less than this ago may change again and keep its time of change


class StatusProcess:
    """A running git command that prints HEAD's commit and the files below the folder `prefix` that differ from it.

    With `settings` it also prints those settings of memctl that `git.traced_settings` reads, which saves a second
    process. The methods wait until the command has ended.
    """

    def __init__(self, repository: Repository, prefix: str, *, settings: bool = False) -> None:
        self.started = time.time_ns()
        self.repository, self.prefix = repository, prefix
        self._names = UntrackedNames(repository, prefix)
        self._untracked = self._names.recall()
        self._args = [*_STATUS, *(_ALL if self._untracked is None else _TRACKED), prefix]
        self._settings: dict[str, str] | None = None
        self._traced: Mapping[str, str] = {}
        if settings:
            from memctl.git import traced_settings

            self._traced = traced_settings.variables()
            repository.traced = self.settings
        self._process = git.start(self._args, repository.top, self._traced)

    def commit(self) -> str:
        """Return HEAD's commit, "" before the first one."""
        name = next((item.removeprefix(_COMMIT) for item in self._items if item.startswith(_COMMIT)), b"")
        return name.decode() if name.isalnum() else ""

    def upstream(self) -> tuple[str, bool]:
        """Return HEAD's upstream, such as "origin/main" ("" if none), and whether it is at HEAD's commit."""
        name = next((item.removeprefix(_UPSTREAM) for item in self._items if item.startswith(_UPSTREAM)), b"")
        return name.decode(errors="replace").strip(), _UP_TO_DATE in self._items

    def settings(self) -> Mapping[str, str] | None:
        """Return memctl's settings in Git's configuration, by key, such as {"memctl.commits": "batch"}.

        `git status` prints them along with its answer, in the trace that `git.traced_settings` switches on. Settings
        that are not set are left out. The result is None if there is no trace.
        """
        return self._settings if self._items else None

    def differing(self, *, ignored: bool = True) -> list[str]:
        """Return the paths of the files that differ from HEAD or are untracked, relative to the worktree's top.

        With `ignored` the result also has the files that Git ignores.
        """
        items = self._items
        if self._untracked and not ignored:  # a .gitignore outside of the folder may have changed which are ignored
            items = git.read([*_STATUS, *_ALL, self.prefix], self.repository.top).split(b"\0")
        return [path for fields, path in parse(items) if ignored or fields[0] != b"!"]

    @cached_property
    def _items(self) -> list[bytes]:
        items = self._answer().split(b"\0")
        if self._untracked is None:
            self._names.keep([item for item in items if item[:1] in (b"?", b"!")], self.started)
        return [*items, *(self._untracked or ())]

    def _answer(self) -> bytes:
        if not self._traced:
            return git.finish(self._process, self._args)
        out, err = self._process.communicate()
        if self._process.returncode:  # Git 2.39 crashes when it lists a setting without a value
            return git.read(self._args, self.repository.top)
        from memctl.git import traced_settings

        self._settings = traced_settings.read(err)
        return out


def parse(items: Iterable[bytes]) -> Iterator[tuple[list[bytes], str]]:
    """Yield the fields and the path of each file among the items that `git status --porcelain=v2 -z` printed.

    The first field is `1` or `u` (in conflict) for a tracked file, `?` for an untracked and `!` for an ignored one.
    """
    for item in items:
        count = _FIELDS_BEFORE_PATH.get(item[:1])
        if count is not None:
            *fields, path = item.split(b" ", count)
            yield fields, git.decode_path(path)


class UntrackedNames:
    """The stored names of the files below the folder `prefix` that Git does not track.

    `prefix` is relative to the worktree's top. The names are stored in the file `file`, with stamps (times, size and
    inode) of the index and of every folder below `prefix`. The names are outdated as soon as one stamp has changed.
    """

    def __init__(self, repository: Repository, prefix: str) -> None:
        self._top, self._prefix = os.fsencode(repository.top), os.fsencode(prefix)
        self._index = os.fsencode(repository.git_dir / "index")
        self.file = repository.private_of(prefix) / "untracked"
        self._stored_stamps: dict[bytes, bytes] = {}  # the folders' stamps in the file, by path

    def recall(self) -> list[bytes] | None:
        """Return the stored lines of `git status` for untracked and ignored files, such as b"? notes.md".

        The result is None if no lines are stored, or if they are outdated.
        """
        with suppress(OSError, ValueError):  # there is none yet, or it is damaged, or a folder is gone
            if os.path.getsize(self._index) < _LARGE_INDEX:
                return None
            index, items, folders = self.file.read_bytes().split(b"\0\0")
            pairs = (item.split(b" ", 1) for item in folders.split(b"\0"))
            self._stored_stamps = {path: before for before, path in pairs}
            same = (mark(os.path.join(self._top, path))[0] == before for path, before in self._stored_stamps.items())
            if mark(self._index)[0] == index and all(same):
                return items.split(b"\0") if items else []
        return None

    def keep(self, items: Iterable[bytes], asked_at: int) -> None:
        """Store the lines `items` of `git status` for untracked and ignored files, such as b"? notes.md".

        `asked_at` is the time at which Git was asked, in nanoseconds since 1970. Nothing is stored if the index or a
        folder was changed after that time or in the 2 s before, since the lines may then be outdated. Nothing is stored
        either if the index is smaller than 1 MB, since Git is fast then.
        """
        with suppress(OSError):
            index, latest = mark(self._index)
            stored: dict[bytes, list[bytes]] = {path: [] for path in self._stored_stamps}
            for path in stored:
                stored.get(os.path.dirname(path), []).append(path)
            folders, waiting = [], [self._prefix] if os.path.getsize(self._index) >= _LARGE_INDEX else []
            while waiting and latest < asked_at - RACY:
                path = waiting.pop()
                now, changed = mark(os.path.join(self._top, path))
                latest = max(latest, changed)
                folders.append(now + b" " + path)
                waiting += stored[path] if self._stored_stamps.get(path) == now else self._folders_below(path)
            if folders and latest < asked_at - RACY:
                private_files.replace_file(self.file, b"\0\0".join((index, b"\0".join(items), b"\0".join(folders))))

    def _folders_below(self, path: bytes) -> list[bytes]:
        with os.scandir(os.path.join(self._top, path)) as entries:
            return [os.path.join(path, entry.name) for entry in entries if entry.is_dir(follow_symlinks=False)]


def marks(paths: Iterable[str | os.PathLike[str]]) -> bytes:
    """Return one stamp of several files, which changes if one of them does; b"" if no reliable stamp can be made.

    Missing files are allowed. A stamp is unreliable if a file was changed within the last 2 s: the file may change
    once more and keep the same time of change.
    """
    before, found = time.time_ns() - RACY, []
    for path in paths:
        try:
            now, changed = mark(path)
        except OSError:
            now, changed = b"", 0
        if changed >= before:
            return b""
        found.append(now)
    return b"\n".join(found)


def mark(path: str | bytes | os.PathLike[str]) -> tuple[bytes, int]:
    """Return a stamp of a file or folder, and the time of its last change.

    The stamp is a text of its times, size and inode, so it changes when the file or folder does. The time is in
    nanoseconds since 1970. Raises OSError.
    """
    status = os.lstat(path)
    result = f"{status.st_mtime_ns}:{status.st_ctime_ns}:{status.st_size}:{status.st_ino}"
    return result.encode(), max(status.st_mtime_ns, status.st_ctime_ns)
