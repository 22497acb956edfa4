"""The write-ahead journal: what is begun and a kill must not lose, a JSON file each in the Git directory.

An entry is there before the first thing is done, says how far it has come, and goes with the last thing. Its kinds:

- A write (`pending/`): `….writing.json` is there while files are being replaced: after a crash it says how to finish.
  `….pending.json` waits for a commit that could not be made, and keeps its message; `….held.json` waits because
  somebody asked for no commit. It has the whole texts of its change, before and after, so that one can see whether
  the change is still there, and be written again if it is not. `write.recovery` finishes it.
- A two-phase step (`intents/`), which moves ownership and writes a record: `write.two_phase`.
- A move of the worktree to another commit (`move.json`): `write.checkout_log`.
- A job that a hook leaves (`undone/`): `store.job_queue`, which notes it without what this module imports, for a host
  waits.

Losing these files loses no record: what differs from HEAD can still be committed, only with a plainer message.
"""

# Without `from __future__ import annotations`: of what is put off, msgspec compiles each when it first decodes.

import os
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from memctl.record.change import Change
from memctl.record.frontmatter import clean_newlines
from memctl.store import files

WRITING, PENDING, HELD = "writing", "pending", "held"
STEPS = "intents"  # the folder of two-phase steps
MOVE = "move.json"  # a move of the worktree
T = TypeVar("T")


def new_file(folder: Path, ending: str = ".json") -> Path:
    """Return the file of an entry that begins now; by their names entries are in the order in which they began."""
    return folder / f"{time.time_ns():020d}-{os.getpid()}{ending}"


def put(file: Path, value: msgspec.Struct, *, lasting: bool = False) -> None:
    """Write an entry, whole or not at all; a `lasting` one is on the disk even if the machine loses its power."""
    text = msgspec.json.encode(value).decode()
    if not lasting:
        files.replace_private(file, text)
        return
    temporary = files.write_temporary(file, text, is_private=True)
    files.flush([temporary])
    os.replace(temporary, file)


def get(file: Path, kind: type[T]) -> T | None:
    """Return what an entry says; None if there is none, or none that can be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def entries_of_kind(folder: Path, kind: type[T]) -> list[tuple[Path, T]]:
    """Return the entries in a folder, oldest first, each with its file; unreadable ones are skipped."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except (FileNotFoundError, PermissionError):  # somebody else's
        return []
    return [(folder / name, value) for name in names if (value := get(folder / name, kind)) is not None]


class PendingEntry(msgspec.Struct, frozen=True):
    """A change on its way: its file, how far it has come, why it waits, and whether somebody asked for no commit.

    `base` is the commit that HEAD was when it began ("" if there was none, or an older memctl noted none). `undone`
    says that its text was last found neither on the disk nor in a commit, `announced` that somebody was told so;
    with `allow_secret` it may have what looks like a credential.
    """

    file: Path
    stage: str
    change: Change
    why: str = ""
    held: bool = False
    base: str = ""
    undone: bool = False
    announced: bool = False
    allow_secret: bool = False

    @property
    def written(self) -> str:
        """The stage that follows once the files are written."""
        return HELD if self.held else PENDING

    @property
    def began(self) -> float:
        """When the change began, in seconds since the epoch, by this machine's clock."""
        digits = self.file.name.partition("-")[0]
        return int(digits) / 1e9 if digits.isdecimal() else 0.0


class _Stored(msgspec.Struct):
    change: Change
    why: str = ""
    held: bool = False
    base: str = ""
    undone: bool = False
    announced: bool = False
    allow_secret: bool = False


def begin(folder: Path, change: Change, *, held: bool, base: str, allow_secret: bool) -> PendingEntry:
    """Note a change before the first of its files is touched, on top of the commit `base`."""
    file = new_file(folder, f".{WRITING}.json")
    return _stored(PendingEntry(file, WRITING, change, held=held, base=base, allow_secret=allow_secret))


def advance(entry: PendingEntry, stage: str, why: str = "") -> PendingEntry:
    """Bring a change to the next stage."""
    if why != entry.why:
        entry = update(entry, why=why)
    file = entry.file.with_name(entry.file.name.replace(f".{entry.stage}.", f".{stage}."))
    os.replace(entry.file, file)
    return msgspec.structs.replace(entry, file=file, stage=stage)


def update(entry: PendingEntry, **fields: Any) -> PendingEntry:
    """Note something else of a change: its `why`, its `change`, whether it is `undone`, …"""
    return _stored(msgspec.structs.replace(entry, **fields))


def _stored(entry: PendingEntry) -> PendingEntry:
    values = {name: getattr(entry, name) for name in _Stored.__struct_fields__}
    put(entry.file, _Stored(**values))
    return entry


def drop(entry: PendingEntry) -> None:
    """Forget a change: it is committed, or given up."""
    entry.file.unlink(missing_ok=True)


def entries(folder: Path) -> list[PendingEntry]:
    """Return all changes on their way, oldest first."""
    found = ((file, file.name.split(".")[-2], stored) for file, stored in entries_of_kind(folder, _Stored))
    return [
        PendingEntry(file, stage, **msgspec.structs.asdict(stored))
        for file, stage, stored in found
        if stage in (WRITING, PENDING, HELD)
    ]


def remaining_change(folder: Path, entry: PendingEntry) -> Change:
    """Return what is left to do of a change that was interrupted: the files that still have their old text.

    A file with neither the old nor the new text was edited since, and is left alone.
    """
    writes = tuple(write for write in entry.change.writes if text_at(folder, write.path) == write.old != write.text)
    deletes = tuple(delete for delete in entry.change.deletes if text_at(folder, delete.path) == delete.old)
    return msgspec.structs.replace(entry.change, writes=writes, deletes=deletes)


def as_written(folder: Path, change: Change) -> Change:
    """Return a change as the disk has it: with what somebody made of its files before it was finished."""
    texts = ((write, text_at(folder, write.path)) for write in change.writes)
    writes = tuple(msgspec.structs.replace(write, text=text) for write, text in texts if text is not None)
    deletes = tuple(delete for delete in change.deletes if text_at(folder, delete.path) is None)
    return msgspec.structs.replace(change, writes=writes, deletes=deletes)


def text_at(folder: Path, path: str) -> str | None:
    """Return the text of a file, whatever its bytes are; None if there is none."""
    try:
        return clean_newlines((folder / path).read_bytes().decode(errors="replace"))
    except OSError:
        return None
