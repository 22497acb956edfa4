"""What packs are made of besides the Snapshot: where records come from, and what pages say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import history
from memctl.pack import items, origins
from memctl.pack.items import Sources
from memctl.record import pages
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.team.coordination_ref import ref
from memctl.text.markdown import inline, visible

if TYPE_CHECKING:
    from memctl.pages.navigate import Place
    from memctl.pages.render import Renderer

_LATEST = 20  # commits whose files count as worked on


def sources(memory: Memory, snapshot: Snapshot, at: str | None) -> Sources:
    """Where records come from, and pages in their own words: the records that a document repeats are in the pack."""

    @cache
    def find() -> Callable[[str], Place]:
        return places(memory, snapshot)

    @cache
    def touched() -> Callable[[], set[str]]:
        return history.touched(memory.repository, _LATEST, memory.prefix)

    def ahead(records: list[Record]) -> None:
        if at is None and any(one.code_refs for one in records):
            touched()

    return Sources(
        ahead=ahead,
        origins=lambda records: origins.of_records(memory, snapshot, records, at),
        page=lambda page: items.screened(snapshot, visible(page.body)),
        executive=lambda: find()(pages.PROJECT_ID).text,
        worked=lambda records: origins.last_worked(memory, records, at),
        blockers=lambda: blockers(memory) if at is None else [],
        touched=lambda: touched()() if at is None else (),
    )


def places(memory: Memory, snapshot: Snapshot) -> Callable[[str], Place]:
    """Finds the place of a marker; what renders is made once, when it is needed."""
    from memctl.pages import navigate

    @cache
    def renderer() -> Renderer:
        from memctl.write import documents  # Jinja takes 30 ms

        return documents.renderer(memory, snapshot)

    return lambda marker: with_blockers(memory, snapshot, navigate.find(snapshot, renderer, marker))


def with_blockers(memory: Memory, snapshot: Snapshot, place: Place) -> Place:
    """Level 1 with what keeps everybody from going on, by the state that agents share; any other place as it is.

    That state changes without a commit of the memory, so no document has it.
    """
    found = blockers(memory) if place.marker == pages.PROJECT_ID and snapshot.source == "disk" else []
    if not found:
        return place
    lines = "\n".join(f"- {inline(line)}" for line in found)
    return msgspec.structs.replace(place, text=f"{place.text.rstrip()}\n\n**Blocked for all agents**:\n\n{lines}\n")


def blockers(memory: Memory) -> list[str]:
    """What keeps everybody from going on, by the state that agents share, each with who says so."""
    try:
        if not memory.repository.tip(ref(memory)):
            return []  # nobody shares any, as in most clones
        from memctl.team import ref_state

        found = ref_state.read(memory).state.global_blockers.values()
    except MemctlError:
        return []  # whoever coordinates is told that it can't be read
    return [f"{one.text} ({one.agent_id}, {one.since[:10]})" for one in sorted(found, key=lambda one: one.since)]
