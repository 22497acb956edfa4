"""Opening the memory for an event."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memctl.hooks.hosts import Host
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory, open_memory
from memctl.store.session_dir import SessionDir


def opened(place: Path, host: Host, folder: SessionDir, environ: Mapping[str, str]) -> Memory:
    """The memory at a place, with the agent as who is at work: a session's writes say whose they are."""
    agent = environ.get("MEMCTL_AGENT") or host.name  # never nobody: that would be a person, who reads all
    memory = open_memory(place, {**environ, "MEMCTL_AGENT": agent, "MEMCTL_SESSION": folder.key})
    memory.by_agent = True
    return memory


def readable(memory: Memory) -> Snapshot:
    """The memory as the agent may read it."""
    from memctl.store import load
    from memctl.team import read_access

    found, closed = load.disk(memory), read_access.closed(memory)
    if closed is None:
        return found
    from memctl.pages import access_filter  # mostly nothing is closed

    return access_filter.readable(memory, found, closed, tuple)
