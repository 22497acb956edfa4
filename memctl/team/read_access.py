"""Which sections agents may read: what ownerships say of readers.

Every command that reads asks, and mostly no ownership names any: then the commit that the shared state is at, and a
note that nothing is kept from anybody there, are all that is read. The note can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memctl.git.repository import Repository
from memctl.light_typing import TYPE_CHECKING
from memctl.team import coordination_ref

if TYPE_CHECKING:
    from memctl.store.memory import Memory
    from memctl.team.state import State

# Says why an agent may not read what is in some sections, given innermost first; "" if it may.
Closed = Callable[[tuple[str, ...]], str]


def closed(memory: Memory) -> Closed | None:
    """Return what is closed to the agent that MEMCTL_AGENT names; None if nothing is, or if there is none.

    People read all: they open the files anyway. Raises MemctlError if the shared state can't be read.
    """
    state = _restricting(memory) if memory.environ.get("MEMCTL_AGENT") else None
    return None if state is None else closed_to(state, memory.actor, memory.now)


def closed_to(state: State, agent: str, now: str) -> Closed | None:
    """Return what is closed to an agent by a shared state, None if nothing is."""
    if all(held.lets_read(agent) for held in state.section_ownership_map.values() if held.is_live(now)):
        return None

    def why(markers: tuple[str, ...]) -> str:
        held = next((held for marker in markers if (held := state.live(marker, now))), None)
        return "" if held is None or held.lets_read(agent) else f"is read by {held.readers} only; {held.told}"

    return why


def _restricting(memory: Memory) -> State | None:
    """Return the shared state if an ownership in it names readers, be it over; else None."""
    if is_known_open(memory.repository, memory.prefix):
        return None
    name = coordination_ref.ref(memory)
    commit = memory.repository.tip(name)
    from memctl.store import files
    from memctl.team import ref_state

    state = ref_state.at(memory, commit).state
    if any(held.agents_with_read_access is not None for held in state.section_ownership_map.values()):
        return state
    with suppress(OSError):  # a clone that can't be written is read all the same
        files.replace_private(_note(memory.repository, name), commit)
    return None


def is_known_open(repository: Repository, prefix: str) -> bool:
    """Return whether it is known, by a note, that nothing of the memory at `prefix` is kept from anybody."""
    name = coordination_ref.named(prefix)
    commit = repository.tip(name)
    with suppress(OSError, UnicodeDecodeError):
        return not commit or _note(repository, name).read_text("ascii") == commit
    return False


def _note(repository: Repository, name: str) -> Path:
    """Return the file that names the commit of the shared state in which nothing is kept from anybody."""
    return repository.shared / f"open-{name.rpartition('/')[2]}"
