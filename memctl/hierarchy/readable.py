"""What of the hierarchy an agent may read.

S0, "Read Access Rules": levels 1 and 2 are read by all. Levels 3 and 4 (details, and the files that a section covers)
are kept to the owner and those it names, where an ownership names any. This guides agents that ask memctl; whoever can
open the files can read them.
"""

from __future__ import annotations

from memctl.coordination import guard
from memctl.coordination.state import Ownership, State
from memctl.hierarchy.repository_paths import matching
from memctl.model.snapshot import Snapshot
from memctl.model.veil import Veil


def without_closed(snapshot: Snapshot, state: State, agent: str, now: str) -> Snapshot:
    """The memory as an agent may read it: the same, if nothing is kept from it."""
    if all(held.lets_read(agent) for held in state.section_ownership_map.values() if held.is_live(now)):
        return snapshot
    outline = snapshot.outline
    pages: dict[str, str] = {}
    for page in outline.details:
        held = guard.holding(state, (page.id, *((page.section,) if page.section else ())), now)
        if held and not held.lets_read(agent):
            pages[page.id] = _why(page.id, held)
    paths = frozenset(page.path for page in outline.details if page.id in pages)
    files: dict[str, str] = {}
    for page in outline.sections:
        held = state.live(page.id, now)
        if held and not held.lets_read(agent):
            files |= {path: _why(path, held) for path in matching(snapshot.files.names(), page.paths)}
    return snapshot.veiled(Veil(pages, paths, files))


def _why(what: str, held: Ownership) -> str:
    readers = ", ".join((held.owner_agent_id, *(held.agents_with_read_access or ())))
    return f"{what} is read by {readers} only; {held.told}"
