"""Whether anybody keeps anything from readers.

Every command that reads asks, and mostly nobody does: then the commit that the shared state is at, and a note that
nothing is kept from anybody there, are all that is read. The note can be deleted at any time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memctl.git import refs
from memctl.store.memory import Memory
from memctl.team.coordination_ref import ref

if TYPE_CHECKING:
    from memctl.team.state import State


def restricting(memory: Memory) -> State | None:
    """The shared state if an ownership in it names readers, be it over; else None.

    Raises MemctlError if the state can't be read.
    """
    name = ref(memory)
    commit = refs.tip(memory.repository, name)
    note = memory.repository.shared / f"open-{name.rpartition('/')[2]}"
    with suppress(OSError, UnicodeDecodeError):
        if not commit or note.read_text("ascii") == commit:
            return None
    from memctl.store import files
    from memctl.team import ref_state

    state = ref_state.at(memory, commit).state
    if any(held.agents_with_read_access is not None for held in state.section_ownership_map.values()):
        return state
    with suppress(OSError):  # a clone that can't be written is read all the same
        files.replace_private(note, commit)
    return None
