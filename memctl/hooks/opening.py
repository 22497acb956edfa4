"""Opening a memory in a hook: without what it need not wait for, and without what the agent may not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory


def readable(memory: Memory) -> Snapshot:
    """The memory as the agent may read it."""
    from memctl.store import load
    from memctl.team import read_access

    found, closed = load.disk(memory), read_access.closed(memory)
    if closed is None:
        return found
    from memctl.pages import access_filter  # mostly nothing is closed

    return access_filter.readable(memory, found, closed, tuple)
