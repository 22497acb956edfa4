"""What an event leaves to be done once the host goes on.

A host waits for a hook, and to sum a session up and commit takes longer than it should wait. So the event is noted,
which takes a millisecond, and the work is done behind the host's back (`daemonize`). The note goes when its work is
done: of a process that is killed nothing is lost, for the session's next event does it, or the next session's start,
or the next command that writes. One process at a time works for a session, in the order of the notes. It holds the
session's lock from before the host goes on, so whoever waits for the lock sees what it did.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import private
from memctl.store.place import JOBS
from memctl.store.session_dir import SessionDir
from memctl.text.light_typing import Any, NamedTuple

MOST_TRIES = 3
_LOCK = "lock"
_PAUSE = 0.005  # seconds between two tries to have the lock


Fault = Callable[[Exception], object]  # takes down what went wrong with a note


class NotNow(Exception):
    """The work of a note waits for something that only a user can repair; it was not begun."""


class JobNote(NamedTuple):
    """A note of an event: its file, the session's key, and how often its work was begun."""

    file: Path
    key: str
    tries: int


def leave(folder: SessionDir, entry: Mapping[str, Any]) -> None:
    """Note an event of a session. Raises OSError."""
    place = folder.root / JOBS
    name = f"{time.time_ns():020d}-0-{folder.key}.json"
    hidden = place / f".{name}"
    import json  # not at the top, for every command looks for notes

    try:
        with open(private.open_file(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as stream:
            stream.write(json.dumps(entry).encode())
        os.replace(hidden, place / name)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise


def notes(root: Path) -> list[JobNote]:
    """Return the notes of all sessions of a memory, oldest first."""
    try:
        names = sorted(os.listdir(root / JOBS))
    except OSError:
        return []
    found = []
    for name in names:
        moment, _, rest = name.removesuffix(".json").partition("-")
        tries, _, key = rest.partition("-")
        if moment.isdecimal() and tries.isdecimal() and key and name.endswith(".json"):
            found.append(JobNote(root / JOBS / name, key, int(tries)))
    return found


def of(folder: SessionDir) -> list[JobNote]:
    """Return the notes of one session."""
    return [note for note in notes(folder.root) if note.key == folder.key]


def take(folder: SessionDir, patience: float = 0.0) -> int | None:
    """Return a session's lock, as the descriptor that holds it; None if another process does not let go of it in so
    many seconds. Raises OSError."""
    descriptor = private.open_file(folder.path / _LOCK, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + patience
    while not private.try_lock(descriptor):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(_PAUSE)
    return descriptor


def alone(folder: SessionDir, do: Callable[[], object], patience: float = 0.0) -> None:
    """Do something with what is known of a session while nobody else is at it; not at all if somebody stays at it."""
    held = take(folder, patience)
    if held is not None:
        try:
            do()
        finally:
            os.close(held)


def settle(
    folder: SessionDir,
    do: Callable[[Mapping[str, Any]], bool],
    patience: float = 0.0,
    held: int | None = None,
    fault: Fault = lambda error: None,
) -> bool:
    """Do what the notes of a session say; whether nothing of it is left. `held` is the lock, if it is taken already.

    `do` says whether an event's work is done. One that is not stays noted, until it was begun MOST_TRIES times; with
    NotNow it stays as it is, and so does what was noted after it. Whoever notes something while we have the lock leaves
    it to us: so the notes are looked at again once it is free.
    """
    while held is not None or of(folder):
        held = take(folder, patience) if held is None else held
        if held is None:
            return False
        try:
            kept = [note for note in of(folder) if not _tried(note, do, fault)]
        except NotNow:
            return False
        finally:
            os.close(held)
            held = None
        if kept:
            return False
    return True


def wait(root: Path, patience: float) -> bool:
    """Wait for the processes that are at work for sessions of a memory; whether nothing is left undone then."""
    deadline = time.monotonic() + patience
    for key in dict.fromkeys(note.key for note in notes(root)):
        try:
            descriptor = take(SessionDir(root, key), max(0.0, deadline - time.monotonic()))
        except OSError:  # nobody is at work there; who tries to says why
            continue
        if descriptor is not None:
            os.close(descriptor)
    return not notes(root)


def _tried(note: JobNote, do: Callable[[Mapping[str, Any]], bool], fault: Fault) -> bool:
    """The same as `_done`; a note that can't be read or moved is left, with the fault in our log."""
    try:
        return _done(note, do, fault)
    except OSError as error:
        fault(error)
        return False


def _done(note: JobNote, do: Callable[[Mapping[str, Any]], bool], fault: Fault) -> bool:
    """Do what a note says; whether it is gone then."""
    if note.tries >= MOST_TRIES:  # nobody who began it came so far as to say what became of it
        fault(MemctlError(f"gave up: {note.tries} processes that worked on this event were ended"))
        note.file.unlink(missing_ok=True)
        return True
    begun = note.file.with_name(note.file.name.replace(f"-{note.tries}-", f"-{note.tries + 1}-", 1))
    try:
        os.replace(note.file, begun)  # counted before, for it may kill us
        import json

        entry = json.loads(begun.read_bytes())
    except FileNotFoundError:
        return True
    except ValueError:
        entry = None
    try:
        is_done = not isinstance(entry, dict) or do(entry)
    except NotNow:
        os.replace(begun, note.file)
        raise
    if is_done or note.tries + 1 >= MOST_TRIES:
        begun.unlink(missing_ok=True)
        return True
    return False
