"""Steps that move ownership and write a record, noted before either: after a crash they say what is left to do.

One file each in the worktree's Git directory. The ownership moves first, so whether it has moved decides: then the
record is still to be written; else nothing has happened.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from memctl.record.change import Change
from memctl.store import files
from memctl.store.memory import Memory


class Intent(msgspec.Struct, frozen=True):
    """A step under way: the commit that moves ownership ("" if none has to), the remote that it goes to, the record.

    `back` says that it is being taken back.
    """

    commit: str
    remote: str
    change: Change
    back: bool = False


def begin(memory: Memory, intent: Intent) -> Path:
    """Note a step before any of it is done."""
    file = _folder(memory) / f"{time.time_ns():020d}-{os.getpid()}.json"
    advance(file, intent)
    return file


def advance(file: Path, intent: Intent) -> None:
    """Note how far a step has come."""
    files.replace_private(file, msgspec.json.encode(intent).decode())


def drop(file: Path) -> None:
    """Forget a step: it is done, or was never begun."""
    file.unlink(missing_ok=True)


def entries(memory: Memory) -> list[tuple[Path, Intent]]:
    """The steps under way or interrupted, oldest first; a file that can't be read is passed over."""
    try:
        names = sorted(name for name in os.listdir(_folder(memory)) if name.endswith(".json") and name[0] != ".")
    except (FileNotFoundError, PermissionError):  # somebody else's
        return []
    found = []
    for name in names:
        file = _folder(memory) / name
        try:
            found.append((file, msgspec.json.decode(file.read_bytes(), type=Intent)))
        except (OSError, msgspec.MsgspecError):
            continue
    return found


def _folder(memory: Memory) -> Path:
    return memory.private / "intents"
