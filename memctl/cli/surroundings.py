"""What a command that judges texts knows of the memory around it; it works without one, too."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

import click

from memctl.cli import counting, opening, output
from memctl.policy.contexts import SCS_THRESHOLD
from memctl.policy.staleness import Over, over
from memctl.record import timestamps
from memctl.record.errors import Fault
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory, fixed_now
from memctl.tokens.count import Counter


class Surroundings(NamedTuple):
    """Whose tokens are counted, the time, which records no longer hold, and the memory if there is one."""

    counter: Counter
    now: str
    known: Over
    memory: Memory | None
    snapshot: Snapshot | None

    @property
    def faults(self) -> Sequence[Fault]:
        """What is wrong with records that can't be read: nothing is known of them."""
        return self.snapshot.faults if self.snapshot else ()

    @property
    def scs_threshold(self) -> int:
        return self.memory.config.scs_threshold if self.memory else SCS_THRESHOLD


def find(ctx: click.Context, model: str | None = None, at: str | None = None) -> Surroundings:
    """What is around the folder that the command works in; `model` goes before the one in config.yaml.

    Raises MemctlError if the memory is asked for at a revision and there is none. Records that can't be read are named
    on stderr.
    """
    memory = opening.memory(ctx) if at is not None else opening.memory_if_any(ctx)
    if memory is None:
        now = fixed_now(os.environ) or timestamps.from_epoch(int(time.time()))
        return Surroundings(
            counting.counter(counting.model_of(model, None), None), now, Over({}, frozenset()), None, None
        )
    snapshot = opening.snapshot(memory, at)
    output.warn(memory, snapshot)
    counter = counting.counter(counting.model_of(model, memory), memory)
    return Surroundings(counter, memory.now, over(snapshot.records, memory.now), memory, snapshot)


def threshold(ctx: click.Context) -> int:
    """The threshold of the shared slice as configured, without a look at the records."""
    memory = opening.memory_if_any(ctx)
    return memory.config.scs_threshold if memory else SCS_THRESHOLD
