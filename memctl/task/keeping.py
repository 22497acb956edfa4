"""Saving a checkpoint for good: in one commit, and as an event of the event stream."""

from __future__ import annotations

import msgspec

from memctl.errors import MemctlError
from memctl.record import checkpoint
from memctl.record.change import WriteOptions
from memctl.record.checkpoint import Checkpoint
from memctl.store import load
from memctl.store.memory import Memory
from memctl.task import saving
from memctl.task.saving import StatedProgress
from memctl.write import transaction
from memctl.write.commit import Outcome


class SavedCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that was saved, what came of the change, and why the event stream does not tell of it ("": it does).

    With `options.dry_run` it is the checkpoint that would have been saved.
    """

    checkpoint: Checkpoint
    outcome: Outcome
    untold: str = ""


def keep(memory: Memory, said: StatedProgress, options: WriteOptions) -> SavedCheckpoint:
    """Save what is said of a task; raises MemctlError if it is stale, or refused otherwise."""
    outcome = transaction.carry_out(memory, lambda _: saving.save(memory, load.disk(memory), said), options)
    write = outcome.change.writes[0]
    made = checkpoint.parse(write.text, write.path)
    if not options.dry_run:
        try:
            saving.note(memory, made)
        except MemctlError as error:  # the checkpoint is saved all the same
            return SavedCheckpoint(made, outcome, error.message)
    return SavedCheckpoint(made, outcome)
