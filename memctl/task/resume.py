"""Taking up a task from a checkpoint: whether that can be done, and the text to do it with. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from memctl.record.checkpoint import Checkpoint, Version
from memctl.record.snapshot import Snapshot
from memctl.store import event_stream
from memctl.store.memory import Memory
from memctl.task import environment, events, versions
from memctl.task.bootstrap import Bootstrap, Missing, bootstrap, missing
from memctl.task.environment import EnvironmentDrift


class Resumption(msgspec.Struct, frozen=True):
    """A checkpoint and all that speaks for or against going on from it.

    `newer` makes it stale; `twins` are of the same version, and neither is newer.
    """

    checkpoint: Checkpoint
    missing: list[Missing]
    drift: list[EnvironmentDrift]
    newer: Version | None
    twins: list[str]
    bootstrap: Bootstrap
    closed: int = 0  # files and records of it that are kept from the reader

    def obstacles(self, *, allow_stale: bool = False, strict: bool = False) -> list[str]:
        """Why it can't be resumed; with `strict` whatever is missing is a reason."""
        found = []
        if self.newer is not None and not allow_stale:
            found.append(f"stale: {self.newer.id} is newer")
        if self.twins and not allow_stale:
            found.append(f"{', '.join(self.twins)} was saved at once with it, and neither is newer")
        found += [f"{one.what} is missing: {one.why}" for one in self.missing if one.essential or strict]
        return found


def look(memory: Memory, snapshot: Snapshot, reference: str, workflow: str) -> Resumption:
    """What can be said of resuming from the checkpoint that a reference names, or the newest of a workflow.

    Raises MemctlError if there is none, or if it can't be read. One named by its whole id has no twins to mind.
    """
    saved, closed = versions.readable(snapshot, versions.resolve(snapshot, reference, workflow))
    twins = [] if reference else versions.twins(versions.read(snapshot, workflow), saved)
    lacking = missing(saved)
    drift = drifted(memory, snapshot, saved)
    told = msgspec.structs.replace(saved, event_stream_summary=events.up_to_date(saved.event_stream_summary, snapshot))
    return Resumption(
        checkpoint=saved,
        missing=lacking,
        drift=drift,
        newer=versions.newer(versions.known(memory, snapshot, saved.workflow_id), saved.number),
        twins=sorted(one.checkpoint_id for one in twins),
        bootstrap=bootstrap(told, lacking, drift, is_trusted=memory.is_trusted),
        closed=closed,
    )


def drifted(memory: Memory, snapshot: Snapshot, saved: Checkpoint) -> list[EnvironmentDrift]:
    """How the environment and the events have gone on since a checkpoint."""
    now = environment.look(memory)
    withheld = snapshot.withheld.among(one.path for one in now.dirty)
    now = msgspec.structs.replace(now, dirty=tuple(one for one in now.dirty if one.path not in withheld))
    return [*environment.drift(memory, saved, now), *_of_events(memory, snapshot, saved)]


def _of_events(memory: Memory, snapshot: Snapshot, saved: Checkpoint) -> Iterator[EnvironmentDrift]:
    """What this clone's event stream has that the checkpoint does not, and whether the stream is whole.

    Why the stream is checked: rules.md#checkpoints.
    """
    stream = event_stream.read(memory)
    waiting = events.since_checkpoint(stream.events, saved.workflow_id)
    if since := events.told([event for event in waiting if event.timestamp >= saved.saved_at]):
        more = f"{len(since)} event{'s' if len(since) > 1 else ''} since"
        yield EnvironmentDrift("events", more, events.up_to_date(since, snapshot))
    numbers = [event.sequence for event in stream.events]
    if stream.broken or any(later != earlier + 1 for earlier, later in pairwise(numbers)):
        yield EnvironmentDrift("event_stream", "lines of the event stream are unreadable or missing")
