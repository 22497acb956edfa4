"""Packages of handoffs, made of a snapshot alone."""

from __future__ import annotations

import msgspec

from memctl.pack import handoff, handoff_request, handoff_scope
from memctl.pack.handoff import Package
from memctl.pack.handoff_request import TYPES, HandoffRequest
from memctl.pack.phase_summary import assess
from memctl.record.snapshot import Snapshot
from tests.generated import COUNTERS, NOW, SOURCES


def given(
    snapshot: Snapshot, asked: HandoffRequest, family: str = "claude"
) -> Package:  # fmt: skip
    """The package of a handoff from claude to bob, completed by what the memory says."""
    count = COUNTERS[family].tokens
    budget = asked.budget or TYPES[asked.handoff_type].budget
    asked = msgspec.structs.replace(asked, id="HND-2025-11-04-001", budget=budget)
    scope = handoff_scope.gather(snapshot, NOW, asked, SOURCES, count)
    found = assess(snapshot, NOW, sections=asked.sections, task=scope.tasks[:1])
    whole = handoff_request.complete(asked, scope.state, found, scope.known, snapshot, count)
    return handoff.package(snapshot, NOW, whole, scope, SOURCES, count)
