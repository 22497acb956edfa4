"""Find the file, line or folder that a person names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import history, trees
from memctl.pages.repository_paths import files_below, possible_paths, refuse_memory, unknown_path_error
from memctl.record.pages import refuse_line_zero
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.lazy_regex import lazy_regex

_WITH_LINE = lazy_regex(r"(.+):([0-9]{1,9})")


class FileQuery(msgspec.Struct, frozen=True):
    """A file or folder to explain: its path below the worktree's top; that of a folder ends with a slash.

    `line` is a line of the file (from 1), None for the whole file. If the file no longer exists, `last` is its last
    version, otherwise None.
    """

    path: str
    line: int | None = None
    last: history.LastState | None = None

    @property
    def exists(self) -> bool:
        """Return whether there is such a file now."""
        return self.last is None

    @property
    def is_folder(self) -> bool:
        """Return whether the path is that of a folder."""
        return self.path.endswith("/")


def start_revision(memory: Memory, at: str) -> str:
    """Return the revision at which to start reading history: `at`, or "HEAD" if `at` is "".

    The result is "" in a repository without commits.
    """
    return at or ("HEAD" if memory.repository.has_head() else "")


def locate(memory: Memory, snapshot: Snapshot, folder: Path, place: str, at: str) -> FileQuery:
    """Return the file, and perhaps the line, that a person names as PATH or PATH:LINE, or the folder.

    PATH is relative to `folder` or to the worktree's top. It may also be a deleted file in the history of the commit
    `at` ("" for HEAD). Raises MemctlError if Git knows no such file (the hint has similar names), or if the reader may
    not read it.
    """
    texts: list[tuple[str, int | None]] = [(place, None)]
    if match := _WITH_LINE.fullmatch(place):
        texts.append((match[1], int(match[2])))
    start = start_revision(memory, at)
    candidates = [(path, line) for text, line in texts for path in possible_paths(memory.repository.top, folder, text)]
    present = snapshot.files.existing(path for path, _ in candidates)
    for path, line in candidates:
        if path in present:
            refuse_line_zero([f"{path}:{line}"] if line is not None else ())
            return FileQuery(path, line)
    for path, line in candidates:
        refuse_memory(path)
        snapshot.withheld.refuse_file(path)
        if start and (last := history.last_state(memory.repository, path, start)) is not None:
            if not last.is_file:
                break
            return FileQuery(path, line, last)
    names = snapshot.files.names()
    for path, line in candidates:
        if below := files_below(names, path):
            if path != "." and line is None:
                return FileQuery(f"{path}/")
            raise MemctlError(f"{place} is a folder", f"give a file in the folder, such as {below[0]}", USAGE)
    _refuse_submodule(memory, [path for path, _ in candidates], start)
    raise unknown_path_error(names, texts[-1][0])


def _refuse_submodule(memory: Memory, paths: Iterable[str], start: str) -> None:
    for path in paths:
        parts = path.split("/")
        folders = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        for folder in trees.submodules(memory.repository, start, folders) if start else ():
            inner = path[len(folder) + 1 :]
            hint = f"`git -C {folder} log{f' -- {inner}' if inner else ''}` shows its history"
            raise MemctlError(f"{folder} is a submodule, whose history is in a repository of its own", hint, USAGE)
