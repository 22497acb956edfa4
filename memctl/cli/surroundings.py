"""What a command that judges texts knows of the memory around it; it works without one, too."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

import click

from memctl.cli import opening
from memctl.model import moments
from memctl.model.snapshot import Snapshot
from memctl.policy.contexts import SCS_THRESHOLD
from memctl.policy.staleness import Over, over
from memctl.store import load
from memctl.store.memory import Memory, fixed_now
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of


class Surroundings(NamedTuple):
    """Whose tokens are counted, the time, which records no longer hold, and the memory if there is one."""

    counter: Counter
    now: str
    known: Over
    memory: Memory | None
    snapshot: Snapshot | None

    @property
    def scs_threshold(self) -> int:
        return self.memory.config.scs_threshold if self.memory else SCS_THRESHOLD


def find(ctx: click.Context, model: str | None) -> Surroundings:
    """What is around the folder that the command works in; `model` goes before the one in config.yaml."""
    memory = opening.memory_if_any(ctx)
    if memory is None:
        now = fixed_now(os.environ) or moments.from_epoch(int(time.time()))
        return Surroundings(Counter(family_of(model or "claude")), now, Over({}, frozenset()), None, None)
    snapshot = opening.snapshot(memory, None)
    counter = Counter(family_of(model or memory.config.model), load.open_cache(memory))
    return Surroundings(counter, memory.now, over(snapshot.records, memory.now), memory, snapshot)
