"""What packs are made of besides the Snapshot: where records come from, and pages as they are rendered."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from memctl.model import pages
from memctl.model.snapshot import Snapshot
from memctl.packs import origins
from memctl.packs.items import Sources
from memctl.store.memory import Memory

if TYPE_CHECKING:
    from memctl.hierarchy.navigate import Place
    from memctl.hierarchy.render import Renderer


def sources(memory: Memory, snapshot: Snapshot, at: str | None) -> Sources:
    """Where records come from, and pages as they are rendered."""

    @cache
    def find() -> Callable[[str], Place]:
        return places(memory, snapshot)

    return Sources(
        origins=lambda records: origins.of_records(memory, snapshot, records, at),
        page=lambda page: find()(page.id).text,
        executive=lambda: find()(pages.PROJECT_ID).text,
    )


def places(memory: Memory, snapshot: Snapshot) -> Callable[[str], Place]:
    """Finds the place of a marker; what renders is made once, when it is needed."""
    from memctl.hierarchy import navigate

    @cache
    def renderer() -> Renderer:
        from memctl.lifecycle import documents  # Jinja takes 30 ms

        return documents.renderer(memory, snapshot)

    return lambda marker: navigate.find(snapshot, renderer, marker)
