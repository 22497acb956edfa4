"""The lock that every write takes: one for all worktrees of a clone, released by the system when a process dies.

filelock, the usual library, costs 40 ms to import, as much as everything else at the start of a command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memctl.errors import MemctlError
from memctl.journal.commits import committing
from memctl.store import exclusive

_PATIENCE = 60.0  # seconds; a write takes about a tenth of one


@contextmanager
def hold(file: Path, patience: float = _PATIENCE) -> Iterator[int]:
    """Hold the lock; gives when somebody last held it (ns since the epoch, by the file system's clock).

    Raises MemctlError if another process does not let go of it in time.
    """
    if _held_above(file):
        yield time.time_ns()
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        deadline = time.monotonic() + patience
        pause = 0.002
        while not exclusive.attempt(descriptor):
            if time.monotonic() > deadline:
                owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip() if hasattr(os, "pread") else "?"
                raise MemctlError(
                    f"another memctl (process {owner}) has held the lock for {patience:.0f} s ({file})",
                    "wait for it to end, or end it; the lock goes with its process",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        last_held = os.fstat(descriptor).st_mtime_ns
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield last_held
        os.utime(descriptor) if os.utime in os.supports_fd else None
    finally:
        os.close(descriptor)


def _held_above(file: Path) -> bool:
    """Whether this runs in a hook of a commit that the holder of the lock is making: it waits until we are done."""
    try:
        return committing() == file.read_text().strip() != ""
    except OSError:
        return False
