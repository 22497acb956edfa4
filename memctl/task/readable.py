"""What of a checkpoint an agent may read: all but files and records that an owner keeps to some.

By the rules of `hierarchy.readable` (rules.md#ownership-and-access). What the one who saved it says in words of its own
is for whoever takes over, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from memctl.record import ids
from memctl.record.checkpoint import Checkpoint
from memctl.record.snapshot import Snapshot
from memctl.task.environment import Environment

_RECORDS = ("recorded_decisions", "open_issues", "learnings")


def without_closed(saved: Checkpoint, snapshot: Snapshot) -> tuple[Checkpoint, int]:
    """A checkpoint without what is kept from the reader of a snapshot, and how many files and records that is."""
    closed = _closed(snapshot, {*(one.path for one in saved.files_touched), *saved.dirty_files})
    names = {ids.id_in_path(path) for path in snapshot.veil.records}
    records = {name: tuple(one for one in getattr(saved, name) if one.id not in names) for name in _RECORDS}
    left = len(closed) + sum(len(getattr(saved, name)) - len(kept) for name, kept in records.items())
    if not left:
        return saved, 0
    files = tuple(one for one in saved.files_touched if one.path not in closed)
    dirty = tuple(path for path in saved.dirty_files if path not in closed)
    return msgspec.structs.replace(saved, files_touched=files, dirty_files=dirty, **records), left


def open_environment(now: Environment, snapshot: Snapshot) -> Environment:
    """The environment without files that are kept from the reader."""
    closed = _closed(snapshot, [one.path for one in now.dirty])
    return msgspec.structs.replace(now, dirty=tuple(one for one in now.dirty if one.path not in closed))


def _closed(snapshot: Snapshot, paths: Iterable[str]) -> dict[str, str]:
    """Which of some paths are kept from the reader, each with why."""
    if not snapshot.veil.globs:
        return {}
    from memctl.pages.readable import closed_files  # 7 ms, and mostly nothing is kept from anybody

    return closed_files(snapshot, paths)
