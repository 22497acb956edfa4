"""Show the memory as an agent may read it.

The owner of a section can restrict who reads its pages of details, the records that belong to these pages, and the
files that the section covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory


def readable(memory: Memory, snapshot: Snapshot, at: str | None = None) -> Snapshot:
    """Return a Snapshot without what the agent that is named in MEMCTL_AGENT may not read.

    `snapshot` is the memory on the disk, or at the revision `at`. It is returned if MEMCTL_AGENT is not set, as
    for a person, or if no owner restricts reading.

    The page of a restricted section says which files and pages belong to it. Somebody may just have deleted or broken
    this page, so the page in HEAD counts as well, and if `at` is given, also the page on the disk.
    """
    if not memory.environ.get("MEMCTL_AGENT"):
        return snapshot
    from memctl.team import read_access

    check = read_access.read_check(memory)
    if check is None:
        return snapshot
    from memctl.pages import access_filter
    from memctl.store import load

    others = [] if at is None else [load.disk(memory)]
    others += [load.revision(memory, "HEAD")] if memory.repository.has_head() else []
    return access_filter.without_closed(snapshot, check, others)
