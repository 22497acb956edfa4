"""Which sessions are under way, and which were killed: their programs are gone, and nobody has told their end.

A file in a session's folder says where its transcript is and which process runs it, from the session's first event to
its end. So a session is summed up that was killed in its first turn, before anything was known of it.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memctl.git import private
from memctl.hooks.event_payload import Payload
from memctl.hooks.hosts import Host
from memctl.store.session_dir import SessionDir

_FILE = "alive.json"
SILENT = 6 * 3600  # seconds: a session that has said nothing for so long was killed, or sleeps
_TRACES = (_FILE, "calls", "draft.md", "state.json")


class Alive(NamedTuple):
    """A session under way: its host's name, its transcript, the folder with the memory, and the host's process (0 if it
    does not tell)."""

    host: str
    transcript: str
    place: str
    process: int


def note(
    folder: SessionDir, host: Host, given: Payload, place: Path, environ: Mapping[str, str], *, anew: bool
) -> None:
    """Note that a session is under way, unless that is known; `anew` if another process may run it now. Raises
    OSError."""
    file = folder.path / _FILE
    if file.exists() and not anew:
        return
    process = environ.get(host.process, "") if host.process else ""
    found = Alive(host.name, given.transcript, str(place), int(process) if process.isdecimal() else 0)
    private.make_folder(folder.path)
    hidden = file.with_name(f".{_FILE}-{os.getpid()}")
    with open(private.open_file(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as stream:
        stream.write(json.dumps(found))
    os.replace(hidden, file)


def read(folder: SessionDir) -> Alive | None:
    """What is noted of a session, None if it has ended, or nothing that can be read is."""
    try:
        host, transcript, place, process = json.loads((folder.path / _FILE).read_bytes())
        return Alive(str(host), str(transcript), str(place), int(process))
    except (OSError, ValueError, TypeError):
        return None


def end(folder: SessionDir) -> None:
    """Note that a session has ended."""
    (folder.path / _FILE).unlink(missing_ok=True)


def left_behind(folder: SessionDir, place: Path) -> list[SessionDir]:
    """The other sessions of a place that nobody has ended and that were killed, as far as can be told, the one touched
    last first."""
    found = ((one, read(one)) for one in folder.others())
    here = [(one, alive) for one, alive in found if alive and alive.place == str(place)]
    return [one for one, alive in here if (_is_gone(alive) if _can_be_asked(alive) else _is_silent(one))]


def _is_silent(folder: SessionDir) -> bool:
    """Whether a session has left no trace for hours."""
    latest = 0.0
    for name in _TRACES:
        with suppress(OSError):
            latest = max(latest, (folder.path / name).stat().st_mtime)
    return latest < time.time() - SILENT


def _can_be_asked(alive: Alive) -> bool:
    """Return whether a session's process is known and can be asked: on Windows, asking it would end it."""
    return bool(alive.process) and os.name == "posix"


def _is_gone(alive: Alive) -> bool:
    """Whether the process that runs a session is known to be gone. Its number may be another's by now: then it is not
    known."""
    try:
        os.kill(alive.process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
