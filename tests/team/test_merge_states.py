"""The merge of two coordination states: nothing is lost without a message."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from memctl.team.remote_state import merge_states
from memctl.team.state import Ownership, State

NOW = "2025-11-04T14:32:00Z"
BASE = State(sync_version=3)


def owned(owner: str, section: str = "§2.1") -> dict[str, Ownership]:
    return {section: Ownership(section_id=section, owner_agent_id=owner, acquired_at=NOW)}


def test_changes_of_one_side_are_taken() -> None:
    ours = BASE.with_(section_ownership_map=owned("ada"), sync_version=4)
    theirs = BASE.with_(section_ownership_map=owned("bob", "§2.2"), sync_version=6)
    merged, lost = merge_states(BASE, ours, theirs)
    assert {key: held.owner_agent_id for key, held in merged.section_ownership_map.items()} == {
        "§2.1": "ada",
        "§2.2": "bob",
    }
    assert (merged.sync_version, lost) == (7, ())


def test_section_claimed_twice_keeps_the_remote_owner_and_reports_ours() -> None:
    merged, lost = merge_states(
        BASE, BASE.with_(section_ownership_map=owned("ada")), BASE.with_(section_ownership_map=owned("bob"))
    )
    assert merged.section_ownership_map["§2.1"].owner_agent_id == "bob"
    assert len(lost) == 1
    assert lost[0].startswith("section §2.1: `§2.1 is owned by ada")
    assert "was replaced by `§2.1 is owned by bob" in lost[0]


def test_removals_of_one_side_are_taken() -> None:
    base = BASE.with_(section_ownership_map=owned("ada"), agent_task_assignments={"ada": ["one", "two"]})
    ours = base.with_(section_ownership_map={}, agent_task_assignments={"ada": ["one", "two", "three"]})
    theirs = base.with_(agent_task_assignments={"ada": ["two"]})
    merged, lost = merge_states(base, ours, theirs)
    assert merged.section_ownership_map == {}
    assert merged.agent_task_assignments == {"ada": ["two", "three"]}
    assert lost == ()


_resources = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", "y", "z"]))
_tasks = st.dictionaries(
    st.sampled_from("ab"), st.lists(st.sampled_from("xyz"), unique=True, min_size=1, max_size=3), max_size=2
)
_states = st.builds(State, shared_resources=_resources, agent_task_assignments=_tasks)


@given(_states, _states, _states)
def test_entries_lost_in_a_merge_were_unchanged_or_are_named(base: State, ours: State, theirs: State) -> None:
    merged, lost = merge_states(base, ours, theirs)
    named = {line.split(":")[0].removeprefix("resource ") for line in lost}
    for key in {*base.shared_resources, *ours.shared_resources, *theirs.shared_resources}:
        before, one, other = (state.shared_resources.get(key) for state in (base, ours, theirs))
        kept = merged.shared_resources.get(key)
        assert kept in (one, other)
        assert (key in named) == (one not in (before, kept))
        assert kept == other or other == before


@given(_states, _states)
def test_merge_with_an_unchanged_side_gives_the_other_side(base: State, other: State) -> None:
    for merged, lost in (merge_states(base, base, other), merge_states(base, other, base)):
        assert lost == ()
        bare = msgspec.structs.replace(merged, sync_version=0, last_sync_timestamp="")
        assert bare.shared_resources == other.shared_resources
        assert {key: set(value) for key, value in bare.agent_task_assignments.items()} == {
            key: set(value) for key, value in other.agent_task_assignments.items()
        }
