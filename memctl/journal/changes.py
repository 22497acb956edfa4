"""What differs from HEAD below a folder, asked of Git ahead of time: it looks while Python goes on."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path

from memctl.journal import git

_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored", "--no-renames", "--")
_FIELDS_BEFORE_PATH = {b"1": 8, b"u": 10, b"?": 1, b"!": 1}  # git-status(1), porcelain format version 2


class Asked:
    """Two git commands under way: which tree HEAD has at the folder, and which files differ from it."""

    def __init__(self, top: Path, prefix: str) -> None:
        self.started = time.time_ns()
        self._tree_args = ["rev-parse", "--verify", "--quiet", f"HEAD:{prefix}"]
        self._status_args = [*_STATUS, prefix]
        self._asked_tree = git.start(self._tree_args, top)
        self._asked_status = git.start(self._status_args, top)

    def tree(self) -> str:
        """The tree of the folder in HEAD, "" if HEAD does not have it."""
        return self._tree

    def differing(self) -> list[str]:
        """The files that differ from HEAD, ignored and untracked ones too."""
        return self._differing

    @cached_property
    def _tree(self) -> str:
        try:
            return git.finish(self._asked_tree, self._tree_args).decode().strip()
        except git.GitFailed:
            return ""

    @cached_property
    def _differing(self) -> list[str]:
        found = []
        for item in git.finish(self._asked_status, self._status_args).split(b"\0"):
            count = _FIELDS_BEFORE_PATH.get(item[:1])
            if count is not None:
                found.append(git.name(item.split(b" ", count)[count]))
        return found
