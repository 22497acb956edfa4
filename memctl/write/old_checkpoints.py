"""Which checkpoints are due to be deleted: those that newer ones have taken the place of.

Each checkpoint is whole, so of a workflow only the newest is needed to go on; the ones before it are for who wants to
see how it went, or to go back. No document of the project's says how many: the numbers are settings.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from memctl.record import checkpoint, timestamps
from memctl.record.checkpoint import Checkpoint, Version
from memctl.record.errors import InvalidRecord
from memctl.record.snapshot import Snapshot


class OldCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that is due to be deleted: its id, its files, the reason; and why it is kept all the same, or ""."""

    id: str
    paths: tuple[str, ...]
    reason: str
    kept: str = ""


def old(snapshot: Snapshot, now: str, untouchable: Mapping[str, str]) -> list[OldCheckpoint]:
    """The checkpoints that are due, workflow by workflow, oldest first.

    Kept are the newest of each workflow, the last few versions, and what is younger than some days; of a task that is
    finished only the newest. One that can't be read is left to `check`. `untouchable` are paths that must
    stay, each with why.
    """
    rules = snapshot.config.lifecycle
    if not rules.delete:
        return []
    names = set(snapshot.names(checkpoint.FOLDER))
    workflows: dict[str, list[Version]] = {}
    for path in names:
        if version := checkpoint.version_at(path):
            workflows.setdefault(version.workflow, []).append(version)
    found = []
    for _, versions in sorted(workflows.items()):
        newest = max(versions)
        last = _read(snapshot, newest)
        is_finished = last is not None and last.is_finished
        most = 1 if is_finished else rules.keep_checkpoints
        kept = sorted({version.version for version in versions}, reverse=True)[:most]
        for version in sorted(version for version in versions if version.version not in kept):
            one = _read(snapshot, version)
            age = timestamps.days_between(one.saved_at, now) if one else 0
            if one is not None and age > rules.delete_checkpoint_days:
                paths = tuple(path for path in (version.path, version.page) if path in names)
                why = (
                    f"{'the task is finished' if is_finished else f'{newest.id} is the newest'}, {int(age):,} days old"
                )
                spared = next((untouchable[path] for path in paths if path in untouchable), "")
                found.append(OldCheckpoint(version.id, paths, why, spared))
    return found


def _read(snapshot: Snapshot, version: Version) -> Checkpoint | None:
    try:
        return checkpoint.parse(snapshot.read(version.path), version.path)
    except (InvalidRecord, FileNotFoundError):
        return None
