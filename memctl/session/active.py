"""Record which sessions are running, and when and at which commit they started, in the worktree's Git directory."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import differences
from memctl.store import files, session_dir
from memctl.store.memory import Memory
from memctl.text.file_names import portable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NO_COMMIT = "-"  # in place of a commit id, in a repository without commits
_HINT = (
    "a name has at most 100 letters, digits, dots, dashes and underscores, begins with a letter or a digit, and is not"
    " that of a device of Windows, such as nul"
)


class Running(msgspec.Struct, frozen=True):
    """A session that has started and has not ended.

    - `id` is the session's name, `agent` the actor who started it, and `started` the time, such as
      "2025-11-04T14:32:00Z".
    - `commit` and `branch` are the commit and the branch of HEAD at the start ("" before the first commit).
    - `intent` says what the session is for, "" if nobody said.
    - `dirty` are the paths of the files that differed from HEAD at the start. Their changes do not count as changes of
      the session.
    - `ending` is "" until memctl begins to write the end of the session. Then it is the commit of HEAD, or "-" in a
      repository without commits, so that an interrupted end can be finished.
    """

    id: str
    agent: str
    started: str
    commit: str = ""
    branch: str = ""
    intent: str = ""
    dirty: tuple[str, ...] = ()
    ending: str = ""


def name(text: str) -> str:
    """Return a session's name unchanged, if it is valid and can be a file name; otherwise raise MemctlError."""
    if _NAME.fullmatch(text) is None or portable(text) != text or text.endswith(".md"):
        raise MemctlError(f"{text!r} is not a valid name for a session", _HINT, USAGE)
    return text


def name_like(text: str) -> str:
    """Return a valid session name made from any text, such as a transcript's id.

    Characters that a name can't have become dashes. The result is "session" if nothing is left of the text.
    """
    return session_dir.key(text)


def start(memory: Memory, name_given: str, intent: str) -> Running:
    """Record that a session with the name `name_given` starts now, and return what was recorded.

    `intent` says what the session is for, "" if nobody said. Raises MemctlError if a session with this name is running,
    or if the name is not valid.
    """
    known = find(memory, name(name_given))
    if known is not None:
        raise MemctlError(
            f"the session {name_given} is already running, since {known.started}",
            f"`memctl session end {name_given}` ends it",
        )
    branch, commit = memory.repository.branch()
    dirty = tuple(change.path for change in differences.changed_in_worktree(memory.repository))
    from memctl.text.characters import redacted_line  # loads slowly, and sessions started by a host have no intent

    begun = Running(
        name_given, memory.actor, memory.now, commit, branch.removeprefix("refs/heads/"), redacted_line(intent), dirty
    )
    keep(memory, begun)
    return begun


def keep(memory: Memory, running: Running) -> None:
    """Write what is known of a running session to its file."""
    file = _folder(memory) / f"{running.id}.json"
    files.replace_private(file, msgspec.json.encode(running).decode())


def find(memory: Memory, reference: str) -> Running | None:
    """Return the running session with the name `reference`, None if there is none."""
    try:
        return msgspec.json.decode((_folder(memory) / f"{name(reference)}.json").read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def all_running(memory: Memory) -> list[Running]:
    """Return the running sessions of this worktree, the oldest first."""
    sessions = (find(memory, file.stem) for file in _folder(memory).glob("*.json") if _NAME.fullmatch(file.stem))
    return sorted(
        (session for session in sessions if session is not None), key=lambda session: (session.started, session.id)
    )


def forget(memory: Memory, name_given: str) -> None:
    """Delete the file of a running session, if it exists."""
    (_folder(memory) / f"{name(name_given)}.json").unlink(missing_ok=True)


def _folder(memory: Memory) -> Path:
    return memory.private / "sessions"
