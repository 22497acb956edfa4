"""The memory as an agent may read it: without what owners of sections let only some agents read.

That is pages of details, their records, and files of the repository.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory


def readable(memory: Memory, found: Snapshot, at: str | None = None) -> Snapshot:
    """Return a Snapshot without what the agent that MEMCTL_AGENT names may not read.

    `found` is the memory on the disk or at the revision `at`. Without MEMCTL_AGENT, for a person, all of it is
    returned. If `found` is an earlier memory, today's pages also count for what a section covers; committed pages
    always count, in case that somebody has just deleted or broken one.
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
