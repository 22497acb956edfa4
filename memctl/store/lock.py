"""The lock for all writes, one for all worktrees of a clone, and Ctrl-C during a write.

The system releases the lock when a process dies. Ctrl-C takes effect only after the write, and the command then says
what was written. filelock, the usual library, takes 40 ms to import, as long as everything else at a command's start.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git, private_files

_PATIENCE = 60.0  # seconds; a write takes about a tenth of one
_ANNOUNCE_AFTER = 3.0  # seconds of waiting until a message says so
# A function that shows the message about a lock for which a command waits; None in hooks, where nobody would read it.
announce: Callable[[str], None] | None = None


@contextmanager
def hold(file: Path, patience: float = _PATIENCE) -> Iterator[int]:
    """Hold the lock file `file` during the `with` block, which gets the time at which the lock was last released.

    The time is in ns since the epoch, by the file system's clock. Raises MemctlError if another process holds the lock
    for `patience` seconds, or if the file can't be written.
    """
    # The lock's holder waits for this process, which runs in a Git hook of the holder's commit.
    if private_files.is_held_by(file, git.committing_process()):
        yield time.time_ns()
        return
    try:
        descriptor = _acquire(file, patience)
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise MemctlError(f"{file} can't be written: {error.strerror}", _permission_hint(file)) from None
    try:
        last_held = os.fstat(descriptor).st_mtime_ns
        _write_owner(descriptor)
        yield last_held
        os.utime(descriptor) if os.utime in os.supports_fd else None
    finally:
        os.close(descriptor)


def _permission_hint(file: Path) -> str:
    """Codex's sandbox may be the reason, or permissions."""
    import shlex

    from memctl.store import agent_env  # most locks can be written

    if agent_env.shell_of(os.environ) is agent_env.CODEX:
        return (
            "memctl writes in Git's folder, which an agent's sandbox may forbid. After `memctl install codex`, memctl"
            " runs outside of Codex's sandbox, but only as a command of its own, not in a pipe or chain. Or allow the"
            " agent to write there: `codex --add-dir .git`"
        )
    above = next((folder for folder in file.parents if folder.is_dir()), file.parent)
    return (
        "memctl writes in Git's folder, as `git commit` does: get permission to write there, or work in your own clone;"
        f" `ls -ld {shlex.quote(str(above))}` shows the owner"
    )


@contextmanager
def hold_temporary(file: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold a lock during the `with` block, and delete the lock's file at the end.

    It is for the user's own folders, in which memctl must leave no files. Raises MemctlError if another process holds
    the lock for `patience` seconds, and OSError if the file can't be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(file, patience)
    while not _is_at(descriptor, file):  # its last holder deleted the file, and there may be a new one
        os.close(descriptor)
        descriptor = _acquire(file, patience)
    try:
        _write_owner(descriptor)
        yield
    finally:
        with suppress(OSError):  # on Windows, where an open file stays
            file.unlink()
        os.close(descriptor)


def _acquire(file: Path, patience: float) -> int:
    descriptor = private_files.open_file(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0))
    begun = time.monotonic()
    pause, is_announced = 0.002, announce is None
    while not private_files.try_lock(descriptor):
        waited = time.monotonic() - begun
        if waited > patience:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise MemctlError(
                f"another memctl (process {owner}) has locked the memory for {patience:.0f} s ({file})",
                f"wait until process {owner} ends, or end it: the lock ends with its process",
            )
        if announce and not is_announced and waited > _ANNOUNCE_AFTER:
            is_announced = True
            announce(
                f"waiting at most {patience:.0f} s for another memctl (process {_owner(descriptor)}), which has "
                f"locked {file}"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
    return descriptor


def _owner(descriptor: int) -> str:
    written = os.pread(descriptor, 20, 0).decode(errors="replace").strip() if hasattr(os, "pread") else ""
    return written or "?"


def _write_owner(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(file))
    except FileNotFoundError:
        return False


@contextmanager
def hold_interrupts(remarks: list[str]) -> Iterator[list[str]]:
    """Delay Ctrl-C during the `with` block, and raise KeyboardInterrupt at its end.

    Without the delay a write could be interrupted in the middle; the next command would finish it, and the user would
    not see the new record's id. A second Ctrl-C takes effect at once, because a hook of the user's may hang.

    The block gets a list, to which it adds sentences about its work; after an interrupt they are added to `remarks`,
    for the user. If the block raises MemctlError after an interrupt, the error is not raised, since Ctrl-C may have
    caused it by ending Git or its hooks; its message and hint are added to `remarks`.

    Outside of the main thread nothing is delayed, nor if Ctrl-C is ignored or has another handler already.
    """
    import signal
    import threading

    done: list[str] = []
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield done
        return
    interrupts: list[int] = []

    def note(number: int, frame: object) -> None:
        interrupts.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield done
    except MemctlError as error:
        if not interrupts:
            raise
        done[:] = [error.message.rstrip(":\n"), *([f"hint: {error.hint}"] if error.hint else [])]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts:
        remarks += done
        raise KeyboardInterrupt
