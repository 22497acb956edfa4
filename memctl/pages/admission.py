"""The memory as who asks may read it: people all of it, an agent what no owner keeps from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory


def admitted(memory: Memory, found: Snapshot, earlier: Callable[[], Iterable[Snapshot]] = tuple) -> Snapshot:
    """What of a Snapshot may be read by who says to be an agent, by MEMCTL_AGENT; people open the files anyway.

    Without the details, their records and the files that an owner keeps to some. `earlier` gives the memory as it is
    now, if `found` is as it was once. Raises MemctlError if nobody can tell what is kept from the agent.
    """
    if not memory.environ.get("MEMCTL_AGENT"):
        return found
    from memctl.team import readers

    state = readers.restricting(memory)
    if state is None:
        return found
    from memctl.pages import readable

    def others() -> Iterator[Snapshot]:
        yield from earlier()
        if memory.repository.has_head():
            yield load.revision(memory, "HEAD")

    return readable.without_closed(found, state, memory.actor, memory.now, others)
