"""Sessions that are under way: when and at which commit they began, kept in the worktree's Git directory."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import differences
from memctl.store import files
from memctl.store.memory import Memory

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
NO_COMMIT = "-"  # where HEAD is before the first one
_ALLOWED = "letters, digits, dots, dashes and underscores, at most 100, beginning with a letter or digit"


class Running(msgspec.Struct, frozen=True):
    """A session that began and has not ended: its name, whose it is, when, where Git stood ("" before any commit).

    `dirty` files differed from HEAD already: what is uncommitted of them is not the session's, as far as Git knows.
    `ending` is the commit that HEAD was at when somebody began to end it, "" if nobody has.
    """

    id: str
    agent: str
    started: str
    commit: str = ""
    branch: str = ""
    intent: str = ""
    dirty: tuple[str, ...] = ()
    ending: str = ""


def name(given: str) -> str:
    """Return a session's name, which its file is called by; raises MemctlError if it can be no name."""
    if _NAME.fullmatch(given) is None or given.endswith((".", ".md")):
        raise MemctlError(f"{given!r} is not a valid name for a session", f"allowed are {_ALLOWED}", USAGE)
    return given


def name_like(text: str) -> str:
    """Return a name made from what a transcript calls itself, which may be anything."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:100].strip("-._").removesuffix(".md") or "session"


def start(memory: Memory, given: str, intent: str) -> Running:
    """Note that a session begins now; raises MemctlError if it is under way already."""
    known = find(memory, name(given))
    if known is not None:
        raise MemctlError(f"the session {given} is under way since {known.started}", f"`memctl session end {given}`")
    branch, commit = memory.repository.branch()
    dirty = tuple(change.path for change in differences.changed_in_worktree(memory.repository))
    from memctl.text.characters import redacted_line  # a session that a host starts has no intent to look through

    begun = Running(
        given, memory.actor, memory.now, commit, branch.removeprefix("refs/heads/"), redacted_line(intent), dirty
    )
    keep(memory, begun)
    return begun


def keep(memory: Memory, one: Running) -> None:
    """Write down what is known of a session."""
    file = _folder(memory) / f"{one.id}.json"
    files.replace_private(file, msgspec.json.encode(one).decode())


def find(memory: Memory, given: str) -> Running | None:
    """Return the session of a name, if it is under way."""
    try:
        return msgspec.json.decode((_folder(memory) / f"{name(given)}.json").read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def all_running(memory: Memory) -> list[Running]:
    """Return the sessions that are under way in this worktree, the oldest first."""
    found = (find(memory, file.stem) for file in _folder(memory).glob("*.json") if _NAME.fullmatch(file.stem))
    return sorted((one for one in found if one is not None), key=lambda one: (one.started, one.id))


def forget(memory: Memory, given: str) -> None:
    (_folder(memory) / f"{name(given)}.json").unlink(missing_ok=True)


def _folder(memory: Memory) -> Path:
    return memory.private / "sessions"
