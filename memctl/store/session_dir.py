"""What is kept of the sessions of agents, in the Git directory that all worktrees share and in no commit.

Each session has a folder. Tool calls that end at the same moment have a process each, so they are counted without a
lock: every one adds a byte to a file, and its number is where its byte ends. What is said once is a file that only one
process can make.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import private
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.git.repository import Repository

_CALLS = "calls"
_ODD = r"[^A-Za-z0-9._-]+"
_SAID = "said-"
_SHOWN = "shown-"
_EVENT = "event-"
_MOST_SESSIONS = 200
_SAME_EVENT = 10.0  # seconds: the time limit of our hooks; seen between two of one event: at most 0.03


def key(session: str) -> str:
    """Return a session's name as a file or folder may be called: `../../x y` gives `x-y`."""
    is_plain = session.isascii() and session.replace("-", "").isalnum()  # as hosts name them
    name = session if is_plain else re.sub(_ODD, "-", session)
    return name[:100].strip("-._").removesuffix(".md") or "session"


class SessionDir:
    """The folder of one session below `root`, which is that of a memory."""

    def __init__(self, root: Path, key: str) -> None:
        self.root = root
        self.key = key
        self.path = root / "sessions" / key

    def count(self) -> int:
        """Count a tool call, and say which it is since the last compaction."""
        descriptor = private.open_file(self.path / _CALLS, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, b".")
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)

    def calls(self) -> int:
        """Return how many tool calls there were since the last compaction."""
        try:
            return (self.path / _CALLS).stat().st_size
        except OSError:
            return 0

    def is_first(self, what: str) -> bool:
        """Note that a hint is given, and return whether it is the first time since the last compaction."""
        return self.is_new(f"{_SAID}{what}")

    def is_new(self, name: str) -> bool:
        """Create an empty marker file, and return whether it did not exist yet in this session."""
        try:
            os.close(private.open_file(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def is_once(self, event: bytes, *, is_one_of_many: bool) -> bool:
        """Note an event, whether nobody else has: of two processes that were given the same, only one is the first.

        A host that finds our hook in two of its files (a user's and a project's) gives both the same bytes at the same
        moment. The mark's name is a format that all versions of memctl share, for they may be hooked side by side:
        `event-` and the BLAKE2b digest, 12 bytes in hexadecimal digits, of what the host wrote to standard input.

        The host goes on when all have answered, so another event forgets those before it; but calls of tools end, and
        sub-agents begin, at the same time, and `is_one_of_many` forgets none. A mark that is older than a hook may take
        is of another event with the same words: a session that is resumed, killed and resumed again.
        """
        from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more after every tool call

        name = f"{_EVENT}{blake2b(event, digest_size=12).hexdigest()}"
        if not self.is_new(name) and not self._take_over(self.path / name):
            return False
        if not is_one_of_many:
            for other in os.listdir(self.path):
                if other.startswith(_EVENT) and other != name:
                    (self.path / other).unlink(missing_ok=True)
        return True

    def _take_over(self, mark: Path) -> bool:
        """Make an old mark a new one; False if it is not old, or another process has just done so."""
        descriptor = private.open_file(mark, os.O_RDWR)
        try:
            if not private.try_lock(descriptor) or time.time() - os.fstat(descriptor).st_mtime < _SAME_EVENT:
                return False
            os.utime(mark)
            return True
        finally:
            os.close(descriptor)

    def offset(self, name: str) -> int:
        """Return how far a transcript was read for something, in bytes; 0 if nothing is noted."""
        try:
            return max(0, int((self.path / name).read_text()))
        except (OSError, ValueError):
            return 0

    def note_offset(self, name: str, offset: int) -> None:
        """Note how far a transcript is read for something. Raises OSError."""
        with open(private.open_file(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as stream:
            stream.write(str(offset))

    def said(self) -> list[str]:
        """Return the names of the hints that were given since the last compaction."""
        return sorted(name[len(_SAID) :] for name in self._marks(_SAID))

    def show(self, identifier: str) -> bool:
        """Note that the session is shown something of the memory; return whether it is the first time since the last
        compaction."""
        return self.is_new(_SHOWN + identifier.replace("/", "-"))

    def shown(self) -> set[str]:
        """Return what was shown since the last compaction, with `-` for each `/`."""
        return {name[len(_SHOWN) :] for name in self._marks(_SHOWN)}

    def reset(self) -> None:
        """Begin to count anew, and to say and show things again."""
        for name in (_CALLS, *self._marks(_SAID), *self._marks(_SHOWN)):
            (self.path / name).unlink(missing_ok=True)

    def _marks(self, start: str) -> list[str]:
        try:
            return [name for name in os.listdir(self.path) if name.startswith(start)]
        except OSError:
            return []

    def others(self) -> Iterator[SessionDir]:
        """Yield the folders of all other sessions, the most recently touched first."""
        for path in _by_age(self.path.parent):
            if path.name != self.key:
                yield SessionDir(self.root, path.name)

    def tidy(self) -> None:
        """Forget the oldest sessions, if there are very many."""
        for path in _by_age(self.path.parent)[_MOST_SESSIONS:]:
            from shutil import rmtree  # 4 ms, and mostly there is nothing to tidy

            rmtree(path, ignore_errors=True)


def find_root(start: Path) -> tuple[Repository, Path, Path] | None:
    """Return the repository of the memory at or above a place, the folder that has `.memory/`, and where its hooks keep
    what they know; None without a memory.

    The memory is not opened: it may be broken, and a hook has no time for it.
    """
    from memctl.git.repository import open_repository
    from memctl.store import place

    try:
        top, memory = place.find(start)
        name = memory.relative_to(top).as_posix().replace("%", "%25").replace("/", "%2F")  # as Memory.hooks has it
        repository = open_repository(top)
        return repository, memory.parent, repository.shared / "hooks" / name
    except (MemctlError, OSError, ValueError):
        return None


def _by_age(sessions: Path) -> list[Path]:
    found = []
    for path in sessions.glob("*"):
        try:
            found.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue  # another process has just tidied up
    return [path for _, path in sorted(found, reverse=True)]
