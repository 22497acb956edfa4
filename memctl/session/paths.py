"""Paths out of a transcript, as seen from the worktree's top. Nothing on the disk is followed on their account."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Places:
    """What a transcript's paths mean: below `root`, where the repository was for the session, or outside of it.

    `root` is the worktree's top here if the session worked in it, else the folder that the session began in: it ran
    in another clone, or on another machine.
    """

    def __init__(self, top: Path, cwd: str) -> None:
        self._top = top.as_posix()
        self.root = _root(self._top, _slashes(cwd))

    @property
    def is_elsewhere(self) -> bool:
        """Whether the session did not work in this worktree."""
        return os.path.realpath(self.root) != os.path.realpath(self._top)

    def locate(self, path: str, cwd: str) -> tuple[str, bool]:
        """A path below the root, and True; or the whole path of something outside of it, and False."""
        path, cwd = _slashes(path), _slashes(cwd) or self.root
        if path.startswith("~") or _has_scheme(path):
            return path, False
        whole = posixpath.normpath(path if _is_absolute(path) else posixpath.join(cwd, path))
        for root in (self.root, self._top):
            if whole.startswith(root.rstrip("/") + "/"):
                return whole[len(root.rstrip("/")) + 1 :], True
        return whole, False


def _root(top: str, cwd: str) -> str:
    if not cwd or cwd == top or cwd.startswith(top.rstrip("/") + "/"):
        return top
    real = os.path.realpath(cwd) if posixpath.isabs(cwd) else cwd
    if real == top:
        return cwd
    below = real.removeprefix(top.rstrip("/") + "/")
    if below != real and cwd.endswith("/" + below):
        return cwd[: -len(below) - 1]  # the session knew the worktree by another name, through a link
    return cwd


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or _DRIVE.match(path) is not None


def _has_scheme(path: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]+://", path) is not None
