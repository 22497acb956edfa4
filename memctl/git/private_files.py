"""memctl's own folders and files in the Git directory, which hold texts of people and agents, and locks on such files.

Only the owner of the clone can read them: folders have mode 0700 and files 0600, whatever the umask. In a repository
that Git shares with a group (`core.sharedRepository`), whose folders are set-group-ID and writable by the group, the
group has the same access as the owner.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_GROUP_BITS = stat.S_ISGID | stat.S_IWGRP


def make_folder(folder: Path) -> None:
    """Create a private folder, and missing folders above it. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        folder.chmod(_folder_mode(folder.parent))


def open_file(file: Path, flags: int) -> int:
    """Open a file and return its descriptor; `flags` are those of os.open.

    With os.O_CREAT a missing file is created as a private one, and so are missing folders above it. Raises OSError.
    """
    is_new = bool(flags & os.O_CREAT) and not os.path.lexists(file)
    try:
        descriptor = os.open(file, flags, 0o600)
    except FileNotFoundError:
        if not is_new:
            raise
        make_folder(file.parent)
        descriptor = os.open(file, flags, 0o600)
    if is_new and hasattr(os, "fchmod"):
        os.fchmod(descriptor, _folder_mode(file.parent) & 0o660)
    return descriptor


def make_file(file: Path) -> None:
    """Create an empty private file, and missing folders above it, unless it exists. Raises OSError."""
    if not file.exists():
        os.close(open_file(file, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)))


def replace_file(file: Path, data: bytes) -> None:
    """Replace a private file atomically, even if other processes replace it at the same time. Raises OSError."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    make_folder(file.parent)
    try:
        with open(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except OSError as error:
        error.filename = error.filename or os.fspath(file)  # a full disk names none
        raise
    finally:
        temporary.unlink(missing_ok=True)


def make_private(folder: Path) -> None:
    """Make a folder private that an earlier memctl made readable for others, so that they can't reach its files.

    A folder that does not exist, or that belongs to somebody else, is left alone.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        if stat.S_IMODE(folder.stat().st_mode) != (wanted := _folder_mode(folder.parent)):
            folder.chmod(wanted)


def _folder_mode(parent: Path) -> int:
    """The group has access if it has access to `parent`."""
    is_shared = parent.stat().st_mode & _GROUP_BITS == _GROUP_BITS
    return stat.S_ISGID | 0o770 if is_shared else 0o700


def is_held_by(file: Path, process: str) -> bool:
    """Return whether a process, by its id, holds the lock on a file, into which holders write their ids."""
    try:
        if not process or file.read_text().strip() != process:
            return False
        descriptor = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock the file of an open descriptor; return False if another process has locked it.

    The lock ends with the process, or when the descriptor is closed.
    """
    if os.name == "nt":  # pragma: no cover  # not run by the suite, which has no such machine
        import msvcrt

        try:
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(descriptor, 0, os.SEEK_SET)
            return True
        except OSError:
            return False
    import fcntl  # missing on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
