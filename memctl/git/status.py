"""What differs from HEAD below a folder, asked of Git ahead of time: it looks while Python goes on."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path

from memctl.git import git

_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind")
_ALL = ("--untracked-files=all", "--ignored", "--no-renames", "--")
_COMMIT = b"# branch.oid "
_UPSTREAM = b"# branch.upstream "
_FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10, b"?": 1, b"!": 1}  # git-status(1), porcelain format version 2


class StatusProcess:
    """A git command under way: which commit HEAD is, and which files below a folder differ from it."""

    def __init__(self, top: Path, prefix: str) -> None:
        self.started = time.time_ns()
        self._args = [*_STATUS, *_ALL, prefix]
        self._process = git.start(self._args, top)

    def commit(self) -> str:
        """Return the commit that HEAD is, "" before the first one."""
        told = [item for item in self._said if item.startswith(_COMMIT)]
        name = told[0].removeprefix(_COMMIT).decode() if told else ""
        return name if name.isalnum() else ""

    def has_upstream(self) -> bool:
        """Return whether the branch follows another one."""
        return any(item.startswith(_UPSTREAM) for item in self._said)

    def differing(self, *, ignored: bool = True) -> list[str]:
        """Return the files that differ from HEAD, untracked ones too, and so are ignored ones."""
        found = []
        for item in self._said:
            if not ignored and item[:1] == b"!":
                continue
            count = _FIELDS_BEFORE_PATH.get(item[:1])
            if count is not None:
                found.append(git.name(item.split(b" ", count)[count]))
        return found

    @cached_property
    def _said(self) -> list[bytes]:
        return git.finish(self._process, self._args).split(b"\0")
