"""Decide which sections an agent may read: an ownership can limit who reads the details of its section.

Every command that reads needs this decision, but in most projects no ownership limits its readers. So once a
coordination state without such limits has been read, the id of its commit is written to a file in the clone, and the
state is not read again until it has another commit. The file can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memctl.git.repository import Repository
from memctl.team import coordination_ref
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.store.memory import Memory
    from memctl.team.state import State

# Says why an agent may not read what is in some sections, given innermost first; "" if it may.
ReadCheck = Callable[[tuple[str, ...]], str]


def read_check(memory: Memory) -> ReadCheck | None:
    """Return a function that says why the agent named by MEMCTL_AGENT may not read a section.

    The function takes the markers of the sections around a page or record, and returns the reason, or "" if the agent
    may read there (`check_for`). Instead of a function the result is None if the agent may read all sections. It is
    also None if this environment variable is not set: then a person reads, who can open the files anyway. Raises
    MemctlError if the coordination state can't be read.
    """
    state = _restricting(memory) if memory.environ.get("MEMCTL_AGENT") else None
    return None if state is None else check_for(state, memory.actor, memory.now)


def check_for(state: State, agent: str, now: str) -> ReadCheck | None:
    """Return a function that says why an agent may not read a section, according to the ownerships in `state`.

    The function takes the markers of the sections around a page or record, innermost first, such as ("§3.1", "§2.1").
    It returns the reason as the end of a sentence, such as "is read by bob only; …", or "" if the agent may read there.
    If the agent may read all sections, no function is needed, and None is returned.
    """
    if all(held.lets_read(agent) for held in state.section_ownership_map.values() if held.is_live(now)):
        return None

    def why(markers: tuple[str, ...]) -> str:
        held = state.innermost(markers, now)
        return (
            "" if held is None or held.lets_read(agent) else f"may be read by {held.readers} only: {held.description}"
        )

    return why


def _restricting(memory: Memory) -> State | None:
    """Return the coordination state if any ownership in it, also an expired one, names readers; else None."""
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
    """Return whether every agent may read the whole memory in the folder `prefix`, as far as a quick look can tell.

    The result is True if there is no coordination state, or if a file in the clone says of the present state that no
    ownership in it limits readers. If it is False, the state itself must be read to know.
    """
    name = coordination_ref.ref_at(prefix)
    commit = repository.tip(name)
    with suppress(OSError, UnicodeDecodeError):
        return not commit or _note(repository, name).read_text("ascii") == commit
    return False


def _note(repository: Repository, name: str) -> Path:
    """Return the file with the commit of the coordination state in which no ownership names readers."""
    return repository.shared / f"open-{name.rpartition('/')[2]}"
