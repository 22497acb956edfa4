"""Packages of handoffs, made of a snapshot alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.pack import handoff, handoff_request, handoff_scope
from memctl.pack.handoff import Package
from memctl.pack.handoff_request import HandoffRequest, HandoffText
from memctl.pack.phase import standing
from memctl.record.snapshot import Snapshot
from tests.generated import COUNTERS, NOW, SOURCES


def given(
    snapshot: Snapshot, kind: str, said: HandoffText, sections: Sequence[str] = (), form: str = "auto",
    family: str = "claude", budget: int = 0, changes: tuple[tuple[str, str], ...] = (),
) -> Package:  # fmt: skip
    """The package of a handoff from claude to bob, completed by what the memory says."""
    count = COUNTERS[family].tokens
    asked = HandoffRequest(
        id="HND-2025-11-04-001",
        source="claude",
        target="bob",
        kind=kind,
        said=said,
        form=form,
        budget=budget or handoff_scope.BUDGETS[kind],
        sections=tuple(sections),
        changes=changes,
    )
    scope = handoff_scope.gather(snapshot, NOW, asked, SOURCES, count)
    found = standing(snapshot, NOW, sections=sections, task=scope.tasks[:1])
    whole = handoff_request.complete(asked, scope.state, found, scope.known, snapshot)
    return handoff.package(snapshot, NOW, msgspec.structs.replace(asked, said=whole), scope, SOURCES, count)
