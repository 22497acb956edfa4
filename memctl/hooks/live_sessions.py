"""Record which sessions are running, and find those that were killed: their host has ended without an event.

From a session's first event to its end, a file in memctl's folder for the session names its transcript and the host's
process. So even a session that was killed in its first turn can be summarized.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from memctl.git import private_files
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import HOSTS, Host
from memctl.store.live_session import FILE, LiveSession, read
from memctl.store.session_dir import SessionDir

_SHELLS = ("sh", "ash", "bash", "dash", "fish", "ksh", "zsh")  # in which hosts run the command of a hook
_MOST_SHELLS = 4  # nested shells
_NOBODY = "-"  # no session has this name (`session_dir.key`)
_TRACES = (FILE, "calls", "draft.md", "state.json")


def note(
    folder: SessionDir, host: Host, payload: Payload, place: Path, environ: Mapping[str, str], *, anew: bool
) -> None:
    """Record that a session is running: its host, its transcript, the folder with the memory, and the host's process.

    If this is recorded already, it is replaced only if `anew` is True, as when a session is resumed by another process.
    `folder` is memctl's folder for the session, and `place` the folder with the memory. Raises OSError if the file
    can't be written.
    """
    file = folder.path / FILE
    if file.exists() and not anew:
        return
    number = environ.get(host.process, "")
    process = (int(number) if number.isdecimal() else 0) if host.process else _caller()
    session = LiveSession(host.name, payload.transcript, str(place), process)
    private_files.make_folder(folder.path)
    hidden = file.with_name(f".{FILE}-{os.getpid()}")
    with open(private_files.open_file(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(session))
    os.replace(hidden, file)


def end(folder: SessionDir) -> None:
    """Record that a session has ended."""
    (folder.path / FILE).unlink(missing_ok=True)


def killed_sessions(folder: SessionDir, place: Path, pause: float) -> list[SessionDir]:
    """Return the sessions of a memory that were probably killed, the one with the latest activity first.

    `folder` is the folder of the caller's own session, which is left out; `place` is the folder with the memory. A
    session was probably killed if the process of its host has ended. If the process is unknown, or may run several
    sessions, a session also counts as killed after `pause` seconds without activity.
    """
    return [session for session, alive in _others(folder, place) if _is_killed(session, alive, pause)]


def running_sessions(root: Path, place: Path, pause: float) -> list[SessionDir]:
    """Return the sessions of a memory that are probably still running, the one with the latest activity first.

    These are all sessions that have not ended, except the probably killed ones (`killed_sessions`). `root` is the
    folder in which hooks keep their data (`Memory.hooks`), `place` the folder with the memory, and `pause` the seconds
    without activity after which a session counts as killed.
    """
    others = _others(SessionDir(root, _NOBODY), place)
    return [session for session, alive in others if not _is_killed(session, alive, pause)]


def _others(folder: SessionDir, place: Path) -> list[tuple[SessionDir, LiveSession]]:
    """Return the sessions of a memory that have not ended, each with its record, except that of `folder`."""
    sessions = ((other, read(other)) for other in folder.others())
    return [(pair, alive) for pair, alive in sessions if alive and alive.place == str(place)]


def _is_killed(folder: SessionDir, alive: LiveSession, pause: float) -> bool:
    """Return whether a session was probably killed: its process is gone, or it was inactive for `pause` seconds.

    Inactivity does not count while the process that the host itself named is alive; any other process may run several
    sessions.
    """
    if alive.is_gone:
        return True
    is_its_own = alive.host in HOSTS and bool(HOSTS[alive.host].process) and alive.can_be_checked
    return not is_its_own and _is_silent(folder, pause)


def _caller() -> int:
    """Return the id of the nearest parent process that is not a shell; 0 where /proc of Linux does not say it."""
    process = os.getppid()
    for _ in range(_MOST_SHELLS):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
                before, _, after = stream.read().rpartition(")")  # a process's name may contain ")"
        except OSError:
            return 0
        if before.partition("(")[2] not in _SHELLS:
            return process
        process = int(after.split()[1])
    return 0


def _is_silent(folder: SessionDir, pause: float) -> bool:
    """Return whether a session has had no activity for `pause` seconds, by the times of its files."""
    latest = 0.0
    for name in _TRACES:
        with suppress(OSError):
            latest = max(latest, (folder.path / name).stat().st_mtime)
    return latest < time.time() - pause
