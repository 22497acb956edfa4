"""What a command does before it imports click: fix its standard streams, find its directory, start a process of Git.

This process looks for the memory's files that differ from HEAD. It takes about as long as Python to import click and
the command, so both are done at the same time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.errors import MemctlError

if TYPE_CHECKING:
    from memctl.git.status import StatusProcess
    from memctl.store.memory import Memory

# Commands that do not need to know which files of the memory differ from HEAD.
_NOT_ASKING = (
    "init", "demo", "completion", "tokens", "log", "diff", "install", "merge-file", "event", "sync", "window", "hook",
    "mcp", "help",
)  # fmt: skip
_GROUPS = {"page", "context", "team"}
_WITH_SETTINGS = ("status", "search")  # commands that need settings of memctl which Git can list meanwhile
_WITHOUT = {"--at", "-h", "--help"}  # options with which no command needs to know it


class Start:
    """What is known when a command starts.

    - `folder`: the folder in which the command works.
    - `asked`: a process of Git that was started early, to compare the memory's files with HEAD while Python imports the
      command; None if the command needs none.
    - `memory`: the memory, once the command has opened it.
    - `serve_tools`: a function that runs the server of `memctl mcp`. `__main__` sets it, since the command line may not
      import the server (CONTRIBUTING.md has the rule).
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        _open_closed_streams()
        self.folder = Path(os.environ.get("MEMCTL_DIR") or ".")
        self.asked: StatusProcess | None = None
        self.memory: Memory | None = None
        self.serve_tools: Callable[[Path], None] | None = None
        rest = list(arguments)
        while rest[:1] == ["-C"] and rest[1:]:
            self.folder, rest = Path(rest[1]), rest[2:]
        rest = rest[1:] if rest[:1] and rest[0] in _GROUPS else rest
        if rest and not rest[0].startswith("-") and rest[0] not in _NOT_ASKING and _WITHOUT.isdisjoint(rest):
            self._ask(settings=rest[0] in _WITH_SETTINGS)

    def _ask(self, *, settings: bool) -> None:
        from memctl.store import memory_root

        with suppress(MemctlError, OSError):  # the command meets the same error and reports it
            self.asked = memory_root.ask(self.folder, settings=settings)

    def work_in(self, folder: Path | None) -> None:
        """Set the folder in which the command works.

        It is `folder`, the value of option -C. If that is None, it is MEMCTL_DIR, or else the current directory. The
        process of Git that was started before the options were parsed is no longer used if it runs in another folder.
        """
        folder = folder or Path(os.environ.get("MEMCTL_DIR") or ".")
        if folder != self.folder:
            self.folder, self.asked = folder, None

    @staticmethod
    def finish_jobs(root: Path) -> bool:
        """Finish the jobs that agents' hooks have queued; return whether none is left.

        `root` is the folder in which hooks keep their data (`Memory.hooks`).
        """
        from memctl.hooks import jobs  # not loaded by commands that read, unless jobs are left

        return jobs.settle_all(root, os.environ)


def _open_closed_streams() -> None:
    """Open closed standard streams on /dev/null, since the next file to be opened would get their numbers.

    Writing to a closed standard output then fails, so that nobody takes the missing answer for an empty one.
    """
    for name, mode, access in (("stdin", "r", os.O_RDWR), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_RDWR)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))
