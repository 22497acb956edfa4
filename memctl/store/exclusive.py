"""A file lock of the operating system. It ends when its process ends, or when the descriptor that took it is closed.

This module is small and imports nothing else, because a hook may need it after every tool call.
"""

from __future__ import annotations

import os

if os.name == "nt":  # pragma: no cover  # not run by the suite, which has no such machine
    import msvcrt

    def attempt(descriptor: int) -> bool:
        """Try to lock the file of an open descriptor, and return whether that worked; another process may hold it."""
        try:
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(descriptor, 0, os.SEEK_SET)
            return True
        except OSError:
            return False

else:
    import fcntl

    def attempt(descriptor: int) -> bool:
        """Try to lock the file of an open descriptor, and return whether that worked; another process may hold it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            return False
