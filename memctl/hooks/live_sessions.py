"""Which sessions are under way, and which were killed: their programs are gone, and no event ended them.

A file in a session's folder says where its transcript is and which process runs it, from the session's first event to
its end. So a session is summed up that was killed in its first turn, before anything was known of it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from memctl.git import private
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import HOSTS, Host
from memctl.light_typing import NamedTuple
from memctl.store.session_dir import SessionDir

_FILE = "alive.json"
_SHELLS = ("sh", "ash", "bash", "dash", "fish", "ksh", "zsh")  # in which hosts run a hook's line
_MOST_SHELLS = 4  # one within the other
_NOBODY = "-"  # as which no session is called (`session_dir.key`)
_TRACES = (_FILE, "calls", "draft.md", "state.json")


class Alive(NamedTuple):
    """A session under way: its host's name, its transcript, the folder with the memory, and the host's process (0 if it
    is not known)."""

    host: str
    transcript: str
    place: str
    process: int


def note(
    folder: SessionDir, host: Host, payload: Payload, place: Path, environ: Mapping[str, str], *, anew: bool
) -> None:
    """Note that a session is under way, unless that is known; `anew` if another process may run it now. Raises
    OSError."""
    file = folder.path / _FILE
    if file.exists() and not anew:
        return
    named = environ.get(host.process, "")
    process = (int(named) if named.isdecimal() else 0) if host.process else _caller()
    found = Alive(host.name, payload.transcript, str(place), process)
    private.make_folder(folder.path)
    hidden = file.with_name(f".{_FILE}-{os.getpid()}")
    with open(private.open_file(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(found))
    os.replace(hidden, file)


def read(folder: SessionDir) -> Alive | None:
    """Return what is noted of a session, None if it has ended, or nothing that can be read is."""
    try:
        host, transcript, place, process = json.loads((folder.path / _FILE).read_bytes())
        return Alive(str(host), str(transcript), str(place), int(process))
    except (OSError, ValueError, TypeError):
        return None


def end(folder: SessionDir) -> None:
    """Note that a session has ended."""
    (folder.path / _FILE).unlink(missing_ok=True)


def killed_sessions(folder: SessionDir, place: Path, pause: float) -> list[SessionDir]:
    """Return the other sessions of a place that were killed, as far as can be known, the one touched last first. One
    without a trace for `pause` seconds is over (`session_pause_hours`)."""
    return [one for one, alive in _others(folder, place) if _was_killed(one, alive, pause)]


def running_sessions(root: Path, place: Path, pause: float) -> list[SessionDir]:
    """Return the sessions of a place that are under way, as far as can be known, the one touched last first."""
    return [one for one, alive in _others(SessionDir(root, _NOBODY), place) if not _was_killed(one, alive, pause)]


def _others(folder: SessionDir, place: Path) -> list[tuple[SessionDir, Alive]]:
    found = ((one, read(one)) for one in folder.others())
    return [(one, alive) for one, alive in found if alive and alive.place == str(place)]


def _was_killed(folder: SessionDir, alive: Alive, pause: float) -> bool:
    """Return whether a session was killed, as far as can be known. Only a process that the host has named is surely the
    session's own; any other may run more of them."""
    if _can_be_asked(alive) and _is_gone(alive):
        return True
    is_its_own = alive.host in HOSTS and bool(HOSTS[alive.host].process) and _can_be_asked(alive)
    return not is_its_own and _is_silent(folder, pause)


def _caller() -> int:
    """Return the process that has us called: the nearest above us that is no shell. 0 where Linux's /proc does not say
    it."""
    process = os.getppid()
    for _ in range(_MOST_SHELLS):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
                before, _, after = stream.read().rpartition(")")  # a name may have such a sign in it
        except OSError:
            return 0
        if before.partition("(")[2] not in _SHELLS:
            return process
        process = int(after.split()[1])
    return 0


def _is_silent(folder: SessionDir, pause: float) -> bool:
    """Return whether a session has left no trace for so many seconds."""
    latest = 0.0
    for name in _TRACES:
        with suppress(OSError):
            latest = max(latest, (folder.path / name).stat().st_mtime)
    return latest < time.time() - pause


def _can_be_asked(alive: Alive) -> bool:
    """Return whether a session's process is known and can be asked: on Windows, asking it would end it."""
    return bool(alive.process) and os.name == "posix"


def _is_gone(alive: Alive) -> bool:
    """Return whether the process that runs a session is known to be gone. Its number may be another's by now: then it
    is not known."""
    try:
        os.kill(alive.process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
