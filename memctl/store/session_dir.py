"""The data of agents' sessions, in the Git directory that all worktrees share, in no commit.

Each session has a folder. Tool calls are counted without a lock, although several may end at the same time: each
process appends a byte to a file, and the call's number is the file's size after that. Some hints are given only once;
for each there is a marker file, which only one process can create.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.text.file_names import portable
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.git.repository import Repository

_CALLS = "calls"
_HINT = "said-"
_SHOWN = "shown-"
_EVENT = "event-"
_MOST_SESSIONS = 200
_SAME_EVENT = 10.0  # seconds: the time limit of our hooks; two hooks for one event were at most 0.03 s apart


def key(session: str) -> str:
    """Return a session's id as the name of a file or folder: `../../x y` gives `x-y`."""
    is_plain = session.isascii() and session.replace("-", "").isalnum()  # as the ids of all hosts are
    name = session if is_plain else re.sub(r"[^A-Za-z0-9._-]+", "-", session)
    return portable(name[:98].strip("-._").removesuffix(".md")) or "session"


class SessionDir:
    """The folder with the data of one session. `root` is the folder of all sessions of a memory."""

    def __init__(self, root: Path, key: str) -> None:
        self.root = root
        self.key = key
        self.path = root / "sessions" / key

    def count(self) -> int:
        """Count a tool call of this session, and return its number: 1 for the first since the last compaction."""
        descriptor = private_files.open_file(self.path / _CALLS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, b".")
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)

    def calls(self) -> int:
        """Return the number of this session's tool calls since the last compaction."""
        try:
            return (self.path / _CALLS).stat().st_size
        except OSError:
            return 0

    def claim_hint(self, what: str) -> bool:
        """Store that the agent gets the hint `what`, and return whether it gets the hint for the first time.

        Only the time since the last compaction of the session counts.
        """
        return self.create_marker(f"{_HINT}{what}")

    def create_marker(self, name: str) -> bool:
        """Create an empty marker file in this session's folder; return False if it exists already."""
        try:
            os.close(private_files.open_file(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def claim_event(self, event: bytes, *, is_one_of_many: bool) -> bool:
        """Create the marker file of an event, and return whether this process is the first to do so.

        A host that has memctl's hook in two of its settings files (the user's and the project's) starts both hooks at
        once with the same bytes, `event`; only one of them must answer. The marker file is called `event-` and the
        BLAKE2b digest of the bytes, 12 bytes in hexadecimal digits. All versions of memctl use this name, since the two
        hooks may be of different versions.

        `is_one_of_many` says that several such events may come at once, as when several tool calls end or sub-agents
        begin. For any other event, the marker files of earlier events are deleted: the host has gone on, so all hooks
        have answered these. A marker file that is older than the time limit of a hook does not count: it is from an
        earlier event with the same bytes, as when a session is resumed, killed and resumed again.
        """
        from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more after every tool call

        name = f"{_EVENT}{blake2b(event, digest_size=12).hexdigest()}"
        if not self.create_marker(name) and not self._renew_marker(self.path / name):
            return False
        if not is_one_of_many:
            for other in os.listdir(self.path):
                if other.startswith(_EVENT) and other != name:
                    (self.path / other).unlink(missing_ok=True)
        return True

    def _renew_marker(self, marker: Path) -> bool:
        descriptor = private_files.open_file(marker, os.O_RDWR)
        try:
            if not private_files.try_lock(descriptor) or time.time() - os.fstat(descriptor).st_mtime < _SAME_EVENT:
                return False
            os.utime(marker)
            return True
        finally:
            os.close(descriptor)

    def offset(self, name: str) -> int:
        """Return how many bytes of the session's transcript were read so far; 0 if that is not stored.

        Several hooks read it, each for its own purpose: `name` is the name under which one of them stores its number.
        """
        try:
            return max(0, int((self.path / name).read_text()))
        except (OSError, ValueError):
            return 0

    def note_offset(self, name: str, offset: int) -> None:
        """Store, under the name `name`, how many bytes of the session's transcript were read. Raises OSError."""
        with open(private_files.open_file(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as stream:
            stream.write(str(offset))

    def hints(self) -> list[str]:
        """Return the names of the hints given since the last compaction."""
        return sorted(name[len(_HINT) :] for name in self._markers(_HINT))

    def mark_shown(self, identifier: str) -> bool:
        """Store that the agent was shown a record, page or file, and return whether it is shown for the first time.

        Only the time since the last compaction of the session counts. `identifier` is the record's id, the page's §
        marker or the file's path.
        """
        return self.create_marker(_SHOWN + identifier.replace("/", "-"))

    def shown(self) -> set[str]:
        """Return what was given to `mark_shown` since the last compaction, with `-` for each `/`."""
        return {name[len(_SHOWN) :] for name in self._markers(_SHOWN)}

    def reset(self) -> None:
        """Set the number of tool calls to 0, and forget which hints were given and which records were shown."""
        for name in (_CALLS, *self._markers(_HINT), *self._markers(_SHOWN)):
            (self.path / name).unlink(missing_ok=True)

    def _markers(self, start: str) -> list[str]:
        try:
            return [name for name in os.listdir(self.path) if name.startswith(start)]
        except OSError:
            return []

    def others(self) -> Iterator[SessionDir]:
        """Yield the folders of all other sessions, the most recently changed first."""
        for path in _by_age(self.path.parent):
            if path.name != self.key:
                yield SessionDir(self.root, path.name)

    def tidy(self) -> None:
        """Delete the folders of all sessions but the 200 most recently changed."""
        for path in _by_age(self.path.parent)[_MOST_SESSIONS:]:
            from shutil import rmtree  # 4 ms, and mostly there is nothing to tidy

            rmtree(path, ignore_errors=True)


def find_root(start: Path) -> tuple[Repository, Path, Path] | None:
    """Find the memory at or above `start` for a hook; return None if there is none.

    Returns the repository, the folder that contains the `.memory/`, and the folder of all sessions of this memory. The
    memory is not opened: that would take time, and fail if the memory is broken.
    """
    from memctl.git.repository import open_repository
    from memctl.store import memory_root

    try:
        top, memory = memory_root.find(start)
        name = memory.relative_to(top).as_posix().replace("%", "%25").replace("/", "%2F")  # as Memory.hooks has it
        repository = open_repository(top)
        return repository, memory.parent, repository.shared / "hooks" / name
    except (MemctlError, OSError, ValueError):
        return None


def _by_age(sessions: Path) -> list[Path]:
    ages = []
    for path in sessions.glob("*"):
        try:
            ages.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue  # another process has just tidied up
    return [path for _, path in sorted(ages, reverse=True)]
