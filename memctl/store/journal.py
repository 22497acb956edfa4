"""The write-ahead journal: unfinished operations that a kill must not lose, each a JSON file in the Git directory.

An entry is written before the first step, updated after each step, and deleted after the last one. There are four
kinds:

- A write (`pending/`). The file `….writing.json` exists while files are being replaced; after a crash it says how to
  finish the write, which `write.recovery` does. `….pending.json` waits for a commit that could not be made, and has its
  message; `….held.json` waits because the user makes the commit, or asked for none. The entry has the whole texts of
  the files before and after the change, so that memctl can see whether the change is still there, and write it again.
- A two-phase step (`intents/`), which moves ownership and writes a record: `write.ownership_transaction`.
- A move of the worktree to another commit (`move.json`): `write.checkout_log`.
- A job of a hook (`undone/`): `store.job_queue`. It does not import this module, since a host waits for it.

Losing these files loses no record: what differs from HEAD can still be committed, only with a plainer message.
"""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

import os
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from memctl.record.change import Change
from memctl.record.frontmatter import clean_newlines
from memctl.store import files

WRITING, PENDING, HELD = "writing", "pending", "held"
T = TypeVar("T")


def new_file(folder: Path, ending: str = ".json") -> Path:
    """Return the path, in `folder`, of the file of a new journal entry; the file's name ends with `ending`.

    Names begin with the time, so that they sort in the order in which entries begin.
    """
    return folder / f"{time.time_ns():020d}-{os.getpid()}{ending}"


def put(file: Path, value: msgspec.Struct, *, lasting: bool = False) -> None:
    """Write the journal entry `value` to `file` atomically.

    With `lasting` the file is flushed to the disk, so that it survives a loss of power.
    """
    text = msgspec.json.encode(value).decode()
    if not lasting:
        files.replace_private(file, text)
        return
    temporary = files.write_temporary(file, text, is_private=True)
    files.flush([temporary])
    os.replace(temporary, file)


def get(file: Path, kind: type[T]) -> T | None:
    """Return the entry in a file; None if it is missing or unreadable."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def entries_of_kind(folder: Path, kind: type[T]) -> list[tuple[Path, T]]:
    """Return pairs of file and entry for the readable entries in a folder, oldest first."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except (FileNotFoundError, PermissionError):  # it is another user's
        return []
    return [(folder / name, value) for name in names if (value := get(folder / name, kind)) is not None]


class _EntryFile(msgspec.Struct, frozen=True):
    """The contents of a pending change's file; PendingEntry describes the fields."""

    change: Change
    why: str = ""
    held: bool = False
    base: str = ""
    undone: bool = False
    announced: bool = False
    allow_secret: bool = False
    recorded: str = ""


class PendingEntry(_EntryFile, frozen=True, kw_only=True):
    """A pending change: its file in the journal, its stage, and why it has no commit.

    `stage` is WRITING while the change's files are being replaced, then PENDING or HELD. `held` says that the user
    makes the commit, or asked for none. `recorded` is the change's commit on refs/memctl/changes, "" if it has none.
    `base` is HEAD's commit when the change began, "" if there was none (or if an older memctl did not store it).
    `undone` says that the change was last found neither on the disk nor in a commit, and `announced` that a message has
    said so. With `allow_secret` the change may contain what looks like a credential.
    """

    file: Path
    stage: str

    @property
    def written(self) -> str:
        """The stage of this change once its files are written: HELD if others commit it, else PENDING."""
        return HELD if self.held else PENDING

    @property
    def began(self) -> float:
        """When the change began, in seconds since the epoch, by this machine's clock."""
        digits = self.file.name.partition("-")[0]
        return int(digits) / 1e9 if digits.isdecimal() else 0.0


def begin(folder: Path, change: Change, *, held: bool, base: str, allow_secret: bool) -> PendingEntry:
    """Write the journal's entry of a change, before the first file of the change is written; return the entry.

    `folder` is that of the pending changes; `base` is the id of HEAD's commit. `held` says that memctl does not commit
    it by itself, `allow_secret` that the change may contain what looks like a credential.
    """
    file = new_file(folder, f".{WRITING}.json")
    return _write_entry(PendingEntry(change, file=file, stage=WRITING, held=held, base=base, allow_secret=allow_secret))


def advance(entry: PendingEntry, stage: str, why: str = "") -> PendingEntry:
    """Move a pending change's entry to another stage (WRITING, PENDING or HELD), and return the new entry.

    `why` is the reason why the change has no commit yet.
    """
    if why != entry.why:
        entry = update(entry, why=why)
    file = entry.file.with_name(entry.file.name.replace(f".{entry.stage}.", f".{stage}."))
    os.replace(entry.file, file)
    return msgspec.structs.replace(entry, file=file, stage=stage)


def update(entry: PendingEntry, **fields: Any) -> PendingEntry:
    """Change fields of a pending change's entry, such as `why`, `change` or `undone`, and return the new entry."""
    return _write_entry(msgspec.structs.replace(entry, **fields))


def _write_entry(entry: PendingEntry) -> PendingEntry:
    values = {name: getattr(entry, name) for name in _EntryFile.__struct_fields__}
    put(entry.file, _EntryFile(**values))
    return entry


def drop(entry: PendingEntry) -> None:
    """Delete the entry of a change that is committed or given up."""
    entry.file.unlink(missing_ok=True)


def entries(folder: Path) -> list[PendingEntry]:
    """Return all pending changes in a folder, oldest first."""
    files = ((file, file.name.split(".")[-2], stored) for file, stored in entries_of_kind(folder, _EntryFile))
    return [
        PendingEntry(file=file, stage=stage, **msgspec.structs.asdict(stored))
        for file, stage, stored in files
        if stage in (WRITING, PENDING, HELD)
    ]


def remaining_change(folder: Path, entry: PendingEntry) -> Change:
    """Return the part of an interrupted change that must still be written: the files that still have their old text.

    A file that has neither its old nor its new text was edited meanwhile, and is left out. `folder` is the memory's
    folder.
    """
    writes = tuple(write for write in entry.change.writes if text_at(folder, write.path) == write.old != write.text)
    deletes = tuple(delete for delete in entry.change.deletes if text_at(folder, delete.path) == delete.old)
    return msgspec.structs.replace(entry.change, writes=writes, deletes=deletes)


def as_on_disk(folder: Path, change: Change) -> Change:
    """Return `change` with the texts that its files have on the disk now, since somebody may have edited them.

    `folder` is the memory's folder. A file that the change wrote and that is missing now is left out, and so is a file
    that the change deleted and that exists again.
    """
    texts = ((write, text_at(folder, write.path)) for write in change.writes)
    writes = tuple(msgspec.structs.replace(write, text=text) for write, text in texts if text is not None)
    deletes = tuple(delete for delete in change.deletes if text_at(folder, delete.path) is None)
    return msgspec.structs.replace(change, writes=writes, deletes=deletes)


def text_at(folder: Path, path: str) -> str | None:
    """Return the text of a file of the memory, with U+FFFD for bytes that are not UTF-8; None if there is no file."""
    try:
        return clean_newlines((folder / path).read_bytes().decode(errors="replace"))
    except OSError:
        return None
