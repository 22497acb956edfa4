"""The system's lock on a file: it goes with its process, and with the descriptor that it was taken by.

No more than this is here, and nothing is imported for it: a hook after every tool call may need it.
"""

from __future__ import annotations

import os

if os.name == "nt":  # pragma: no cover  # not run by the suite, which has no such machine
    import msvcrt

    def attempt(descriptor: int) -> bool:
        """Lock the file that a descriptor is of, if no other process has; whether it is locked now."""
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
        """Lock the file that a descriptor is of, if no other process has; whether it is locked now."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            return False
