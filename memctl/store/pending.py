"""Changes that are begun and not yet committed, one file each in the worktree's Git directory.

`….writing.json` is there while files are being replaced: after a crash it says how to finish. `….pending.json` waits
for a commit that could not be made, and keeps its message; `….held.json` waits because somebody asked for no commit.
Losing these files loses no record: what differs from HEAD can still be committed, only with a plainer message.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec

from memctl.model.change import Change
from memctl.model.frontmatter import clean_newlines
from memctl.store import files

WRITING, PENDING, HELD = "writing", "pending", "held"


class Entry(msgspec.Struct, frozen=True):
    """A change on its way: its file, how far it has come, why it waits, and whether somebody asked for no commit."""

    file: Path
    stage: str
    change: Change
    why: str = ""
    held: bool = False

    @property
    def written(self) -> str:
        """The stage that follows once the files are written."""
        return HELD if self.held else PENDING


class _Stored(msgspec.Struct):
    change: Change
    why: str = ""
    held: bool = False


def begin(folder: Path, change: Change, *, held: bool) -> Entry:
    """Note a change before the first of its files is touched."""
    file = folder / f"{time.time_ns():020d}-{os.getpid()}.{WRITING}.json"
    files.replace_private(file, msgspec.json.encode(_Stored(change, held=held)).decode())
    return Entry(file, WRITING, change, held=held)


def advance(entry: Entry, stage: str, why: str = "") -> Entry:
    """Bring a change to the next stage."""
    file = entry.file.with_name(entry.file.name.replace(f".{entry.stage}.", f".{stage}."))
    if why != entry.why:
        files.replace_private(entry.file, msgspec.json.encode(_Stored(entry.change, why, entry.held)).decode())
    os.replace(entry.file, file)
    return Entry(file, stage, entry.change, why, entry.held)


def rewrite(entry: Entry, change: Change) -> None:
    """Note a change otherwise, at the stage that it has come to."""
    files.replace_private(entry.file, msgspec.json.encode(_Stored(change, entry.why, entry.held)).decode())


def drop(entry: Entry) -> None:
    """Forget a change: it is committed."""
    entry.file.unlink(missing_ok=True)


def entries(folder: Path) -> list[Entry]:
    """All changes on their way, oldest first; a file that can't be read is passed over."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except (FileNotFoundError, PermissionError):  # somebody else's
        return []
    found = []
    for name in names:
        stage = name.split(".")[-2]
        try:
            stored = msgspec.json.decode((folder / name).read_bytes(), type=_Stored)
        except (OSError, msgspec.MsgspecError):
            continue
        if stage in (WRITING, PENDING, HELD):
            found.append(Entry(folder / name, stage, stored.change, stored.why, stored.held))
    return found


def unfinished(folder: Path, entry: Entry) -> Change:
    """What is left to do of a change that was interrupted: the files that still have their old text.

    A file with neither the old nor the new text was edited since, and is left alone.
    """
    writes = tuple(write for write in entry.change.writes if _text(folder, write.path) == write.old != write.text)
    deletes = tuple(delete for delete in entry.change.deletes if _text(folder, delete.path) == delete.old)
    return msgspec.structs.replace(entry.change, writes=writes, deletes=deletes)


def _text(folder: Path, path: str) -> str | None:
    try:
        return clean_newlines((folder / path).read_bytes().decode(errors="replace"))
    except OSError:
        return None
