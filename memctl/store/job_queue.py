"""Jobs that a hook leaves to a process in the background.

A host waits for its hooks, and it takes long to summarize and commit a session. So the hook only writes a note of the
event, which takes a millisecond, and a detached process does the work (`daemonize`) and deletes the note. If that
process is killed, the work is done at the next event of the session, at the next session's start, or by the next
command that writes. One process at a time works for a session, in the order of the notes. The detached process takes
the session's lock before the hook ends, so every process that waits for the lock sees the finished work.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.store.memory_root import JOBS
from memctl.store.session_dir import SessionDir
from memctl.text.light_typing import Any, NamedTuple

MOST_TRIES = 3
_PAUSE = 0.005  # seconds between two tries to take the lock


Fault = Callable[[Exception], object]  # logs the error of a note


class NotNow(Exception):
    """Raised by a job that can't begin until the user repairs something; the job's note stays for a later try."""


class Busy(MemctlError):
    """Raised if another process holds a session's lock for longer than one waits for it."""


class JobNote(NamedTuple):
    """The note of a job: the work that an event of a session needs, left to a process in the background.

    `file` is the note's file, `key` the key of the event's session (`session_dir.key`), and `tries` how often the job
    was started.
    """

    file: Path
    key: str
    tries: int


def add(folder: SessionDir, entry: Mapping[str, Any]) -> None:
    """Write a note of an event of a session, so that a later `run_jobs` does the work. Raises OSError.

    `folder` is the session's folder. `entry` is the event, which JSON must be able to represent; `run_jobs` passes it
    to the function that does the work.
    """
    import json  # every command imports this module, and few need JSON

    file = folder.root / JOBS / f"{time.time_ns():020d}-0-{folder.key}.json"
    private_files.replace_file(file, json.dumps(entry).encode())


def notes(root: Path) -> list[JobNote]:
    """Return the notes of the jobs that wait in a memory, of all its sessions, oldest first.

    `root` is the folder that holds the folders of all sessions.
    """
    try:
        names = sorted(os.listdir(root / JOBS))
    except OSError:
        return []
    result = []
    for name in names:
        moment, _, rest = name.removesuffix(".json").partition("-")
        tries, _, key = rest.partition("-")
        if moment.isdecimal() and tries.isdecimal() and key and name.endswith(".json"):
            result.append(JobNote(root / JOBS / name, key, int(tries)))
    return result


def notes_of(folder: SessionDir) -> list[JobNote]:
    """Return the notes of the jobs that wait in one session, oldest first."""
    return [note for note in notes(folder.root) if note.key == folder.key]


def acquire_lock(folder: SessionDir, patience: float = 0.0) -> int | None:
    """Take a session's lock and return its file descriptor; None if another process holds it for `patience` seconds.

    Raises OSError.
    """
    descriptor = private_files.open_file(folder.path / "lock", os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + patience
    while not private_files.try_lock(descriptor):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(_PAUSE)
    return descriptor


def run_locked(folder: SessionDir, do: Callable[[], object], patience: float = 0.0) -> None:
    """Call `do` while holding a session's lock; raises Busy if another process holds it for `patience` seconds."""
    held = acquire_lock(folder, patience)
    if held is None:
        raise Busy(f"another process has worked for this session for {patience:g} s, so nothing was written of it")
    try:
        do()
    finally:
        os.close(held)


def run_jobs(
    folder: SessionDir,
    do: Callable[[Mapping[str, Any]], bool],
    patience: float = 0.0,
    held: int | None = None,
    fault: Fault = lambda error: None,
) -> bool:
    """Do the jobs of the session in `folder`, oldest first, and return whether no job is left.

    - `do` gets the event of a note, and returns whether its work is done. If it is not, the note stays for a later
      call, until it was tried three times. If `do` raises NotNow, this note and all later ones stay.
    - `fault` is called with the error if a note is given up, or can't be read or moved.
    - `held` is the descriptor of the session's lock if the caller has taken the lock; this function releases it. If
      `held` is None, this function waits up to `patience` seconds for the lock, and returns False if it does not get
      it.

    After the release of the lock this function looks for notes once more: another process may have written one
    meanwhile.
    """
    while held is not None or notes_of(folder):
        held = acquire_lock(folder, patience) if held is None else held
        if held is None:
            return False
        try:
            waiting = [note for note in notes_of(folder) if not _try_job(note, do, fault)]
        except NotNow:
            return False
        finally:
            os.close(held)
            held = None
        if waiting:
            return False
    return True


def wait(root: Path, patience: float) -> bool:
    """Wait until background processes have done a memory's jobs; return whether no job is left.

    The wait ends after `patience` seconds at the latest. `root` is the folder that holds the folders of all sessions.
    """
    deadline = time.monotonic() + patience
    for key in dict.fromkeys(note.key for note in notes(root)):
        try:
            descriptor = acquire_lock(SessionDir(root, key), max(0.0, deadline - time.monotonic()))
        except OSError:  # no process can be at work there
            continue
        if descriptor is not None:
            os.close(descriptor)
    return not notes(root)


def _try_job(note: JobNote, do: Callable[[Mapping[str, Any]], bool], fault: Fault) -> bool:
    """A note that can't be read or moved stays, and `fault` gets the error."""
    try:
        return _run_job(note, do, fault)
    except OSError as error:
        fault(error)
        return False


def _run_job(note: JobNote, do: Callable[[Mapping[str, Any]], bool], fault: Fault) -> bool:
    if note.tries >= MOST_TRIES:
        why = f"{note.tries} processes that worked on it were killed"
        fault(MemctlError(f"an event of an agent's session was dropped: {why}"))
        note.file.unlink(missing_ok=True)
        return True
    started = note.file.with_name(note.file.name.replace(f"-{note.tries}-", f"-{note.tries + 1}-", 1))
    try:
        os.replace(note.file, started)  # counted first, since the job may kill this process
        import json

        entry = json.loads(started.read_bytes())
    except FileNotFoundError:
        return True
    except ValueError:
        entry = None
    try:
        is_done = not isinstance(entry, dict) or do(entry)
    except NotNow:
        os.replace(started, note.file)
        raise
    if is_done or note.tries + 1 >= MOST_TRIES:
        started.unlink(missing_ok=True)
        return True
    return False
