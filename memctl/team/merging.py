"""Merging two states that grew apart from one: what only one side changed, and the remote's where both did.

What has reached the remote is what other machines rely on (rules.md#coordination). Tasks are merged as lists. Whatever
gives way is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from memctl.git import threeway
from memctl.team.state import Ownership, State

V = TypeVar("V")


def merge(base: State, ours: State, theirs: State) -> tuple[State, tuple[str, ...]]:
    """The state that comes of both, with a version above either's, and what of ours gave way to theirs."""
    lost: list[str] = []
    merged = theirs.with_(
        sync_version=max(ours.sync_version, theirs.sync_version) + 1,
        last_sync_timestamp=max(ours.last_sync_timestamp, theirs.last_sync_timestamp),
        active_agents=_each(
            "agent", lost, base.active_agents, ours.active_agents, theirs.active_agents
        ),
        section_ownership_map=_each(
            "section", lost, base.section_ownership_map, ours.section_ownership_map, theirs.section_ownership_map
        ),
        agent_task_assignments=_tasks(
            base.agent_task_assignments, ours.agent_task_assignments, theirs.agent_task_assignments
        ),
        global_blockers=_each(
            "blocker", lost, base.global_blockers, ours.global_blockers, theirs.global_blockers
        ),
        shared_resources=_each(
            "resource", lost, base.shared_resources, ours.shared_resources, theirs.shared_resources
        ),
    )  # fmt: skip
    return merged, tuple(lost)


def _each(
    what: str, lost: list[str], base: Mapping[str, V], ours: Mapping[str, V], theirs: Mapping[str, V]
) -> dict[str, V]:
    """What either side made of each entry; of an entry that both changed differently, theirs."""
    merged: dict[str, V] = {}
    for key in {**base, **ours, **theirs}:
        before, one, other = base.get(key), ours.get(key), theirs.get(key)
        kept = one if other == before else other
        if kept != one and one != before:
            given_up = _told(one) if one is not None else "that it was taken out here"
            lost.append(f"{what} {key}: {given_up} gave way to {_told(other)}")
        if kept is not None:
            merged[key] = kept
    return merged


def _tasks(
    base: Mapping[str, list[str]], ours: Mapping[str, list[str]], theirs: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    merged = {
        name: threeway.lists(base.get(name, []), ours.get(name, []), theirs.get(name, []), str)
        for name in {**ours, **theirs}
    }
    return {name: tasks for name, tasks in merged.items() if tasks}


def _told(value: object) -> str:
    if isinstance(value, Ownership):
        return f"`{value.told}`"
    return "its being taken out there" if value is None else f"`{value}`" if isinstance(value, str) else "another entry"
