"""The memory as an agent may read it: without details, their records and files that an owner keeps to some."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory


def readable(memory: Memory, found: Snapshot, at: str | None = None) -> Snapshot:
    """Return what of a Snapshot, of the disk or of the revision `at`, the agent that MEMCTL_AGENT names may read.

    A person reads all of it, and mostly nothing is closed. What a section covers is taken from today's pages, too, if
    `found` is an earlier memory, and from committed pages in case that somebody has just deleted or broken one.
    """
    if not memory.environ.get("MEMCTL_AGENT"):
        return found
    from memctl.team import read_access

    closed = read_access.read_check(memory)
    if closed is None:
        return found
    from memctl.pages import access_filter
    from memctl.store import load

    others = [] if at is None else [load.disk(memory)]
    others += [load.revision(memory, "HEAD")] if memory.repository.has_head() else []
    return access_filter.without_closed(found, closed, others)
