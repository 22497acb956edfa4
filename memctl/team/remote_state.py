"""The shared state between machines: fetched, merged and pushed, and only when a remote is named.

A change is made on top of what the remote has, and pushed with a lease on that: if another machine was first, the
push is refused, its state is fetched, and the change is planned anew. So a section is granted only if the remote has
taken the claim; what this clone did alone gives way to what the remote had.

Two states that grew apart are merged entry by entry: what only one side changed, and the remote's where both did. What
has reached the remote is what other machines rely on (rules.md#coordination). Tasks are merged as lists. Whatever
gives way is named.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, refs, tree_merge
from memctl.git.push import PushRefused
from memctl.store.memory import Memory
from memctl.team import coordination_ref, ref_state
from memctl.team.ref_state import Plan, Prepare, ReadState, StateOutcome, Step, Terms
from memctl.team.state import Ownership, State

_TRIES = 50  # each time some other machine was first
_PAUSE = 0.02  # seconds, longer with each try


class Unfinished(MemctlError):
    """The remote has taken a change, or nobody knows whether it has, and this clone has not."""


class Taken(msgspec.Struct, frozen=True):
    """The state merged with a remote's, the remote's commit ("" if it has none), and what the remote's replaced."""

    seen: ReadState
    theirs: str
    lost: tuple[str, ...] = ()


def take_in(memory: Memory, remote: str, *, is_fetched: bool = False, preview: Plan | None = None) -> Taken:
    """Fetch a remote's state and merge it into that of this clone; raises MemctlError if that can't be done.

    Where it `is_fetched` just now, as with a branch, it is not fetched again. With a `preview` nothing is changed: the
    result is what it would come to after such a step of ours.
    """
    with ref_state.alone(memory):
        return take_in_alone(memory, remote, dry_run=preview is not None, first=preview, is_fetched=is_fetched)


def update(memory: Memory, remote: str, plan: Plan, terms: Terms, *, is_fetched: bool = False) -> StateOutcome:
    """Change the state of this clone and of a remote, both or neither; raises MemctlError as `shared.update` does.

    What this clone has and the remote lacks is pushed along. A process that dies right after the push leaves the
    change at the remote, and the next fetch brings it here.
    """
    with ref_state.alone(memory):
        return update_alone(memory, remote, plan, terms, is_fetched=is_fetched)


def update_alone(
    memory: Memory,
    remote: str,
    plan: Plan,
    terms: Terms,
    prepare: Prepare | None = None,
    *,
    is_fetched: bool = False,
) -> StateOutcome:
    """The same for a caller that keeps others away by `shared.alone`; `prepare` is called before each push."""
    lost: list[str] = []
    tips: set[str] = set()
    for number in range(_TRIES):
        taken = take_in_alone(memory, remote, dry_run=terms.dry_run, is_fetched=is_fetched and number == 0)
        lost += taken.lost
        tips.add(taken.theirs)
        step = ref_state.planned(memory, taken.seen, plan, terms)
        outcome = StateOutcome(step, taken.seen.state, lost=tuple(lost), theirs=taken.theirs)
        if outcome.changed and not terms.dry_run:
            commit = ref_state.commit_step(memory, taken.seen, step, terms.reason)
            outcome = msgspec.structs.replace(outcome, commit=commit)
        if prepare:
            prepare(outcome)
        commit = outcome.commit or taken.seen.commit
        if terms.dry_run or commit == taken.theirs:
            return outcome
        if _pushed(memory, remote, commit, taken.theirs):
            if outcome.commit:
                _follow(memory, remote, commit, taken.seen.commit)
            return outcome
        time.sleep(_PAUSE * (number + 1))
    if len(tips) > 1:
        raise MemctlError(f"{remote} got {len(tips) - 1} changes by others meanwhile", "try again")
    raise MemctlError(
        f"{remote} has refused {_TRIES} pushes, although nobody else has pushed",
        f"a killed process may have left {coordination_ref.ref(memory)}.lock there; delete it",
    )


def _pushed(memory: Memory, remote: str, commit: str, theirs: str) -> bool:
    """Return whether the remote has taken a commit, False if another machine was first.

    Raises MemctlError if it has not; Unfinished if it can't be asked.
    """
    try:
        return refs.push(memory.repository, remote, coordination_ref.ref(memory), commit, theirs)
    except PushRefused as error:
        why = error.why
    except git.GitFailed as error:  # the connection broke, and nobody knows when
        why = error.output or error.message
        try:
            now = _fetched(memory, remote)
        except MemctlError:
            raise Unfinished(
                f"whether {remote} has taken it is not known, and it can't be asked:\n{why}",
                f"once it can be reached, `memctl own list --remote {remote}` brings here what it has",
            ) from None
        if refs.contains(memory.repository, now, commit):
            return True
    raise MemctlError(
        f"{remote} did not accept the change, so it was not made here either:\n{why}",
        f"without --remote it is made only here; `memctl sync {remote}` sends it there later",
    )


def _follow(memory: Memory, remote: str, commit: str, seen: str) -> None:
    """Let this clone have what the remote has taken; raises Unfinished, as where another write goes on for a minute."""
    try:
        if not ref_state.move(memory, commit, seen):
            take_in_alone(memory, remote)
    except MemctlError as error:
        raise Unfinished(
            f"{remote} has taken the change, and this clone has not:\n{error.message}",
            f"`memctl own list --remote {remote}` brings here what it has",
        ) from None


def published(memory: Memory, remote: str) -> State:
    """Return the state that a remote has, empty if it has none; raises MemctlError if it can't be asked."""
    return ref_state.at(memory, _fetched(memory, remote)).state


def take_in_alone(
    memory: Memory, remote: str, *, dry_run: bool = False, first: Plan | None = None, is_fetched: bool = False
) -> Taken:
    """Merge what the remote has, and let the ref be at that; in a dry run the ref stays, and `first` may be tried.

    For a caller that keeps others away by `shared.alone`.
    """
    repository, ref = memory.repository, coordination_ref.ref(memory)
    theirs = repository.tip(coordination_ref.tracking(memory, remote)) if is_fetched else _fetched(memory, remote)
    for _ in range(_TRIES):
        ours = ref_state.read(memory)
        planned = first(ours.state).state if first else ours.state
        is_changed = ref_state.content(planned) != ref_state.content(ours.state)
        ours = msgspec.structs.replace(ours, state=planned)
        base = refs.base(repository, ours.commit, theirs) if ours.commit and theirs else ""
        if not theirs or base == theirs:
            return Taken(ours, theirs)
        new = ref_state.at(memory, theirs)
        lost: tuple[str, ...] = ()
        if base != ours.commit or is_changed:
            new, lost = _merged(memory, remote, ref_state.at(memory, base).state if base else State(), ours, new)
        if dry_run or ref_state.move(memory, new.commit, ours.commit):
            return Taken(new, theirs, lost)
    raise MemctlError(f"{ref} keeps being moved by other processes", "try again")


def _fetched(memory: Memory, remote: str) -> str:
    return refs.fetch(
        memory.repository, remote, coordination_ref.ref(memory), coordination_ref.tracking(memory, remote)
    )


def _merged(
    memory: Memory, remote: str, base: State, ours: ReadState, theirs: ReadState
) -> tuple[ReadState, tuple[str, ...]]:
    """Return a commit after both histories."""
    state, lost = merge_states(base, ours.state, theirs.state)
    step = Step(state, "merge", f"the state of {remote}")
    commit = ref_state.commit_step(memory, ours, step, "; ".join(lost), theirs.commit)
    return ref_state.at(memory, commit), lost


V = TypeVar("V")
_ENTRIES = {
    "active_agents": "agent",
    "section_ownership_map": "section",
    "global_blockers": "blocker",
    "shared_resources": "resource",
}


def merge_states(base: State, ours: State, theirs: State) -> tuple[State, tuple[str, ...]]:
    """Return the state that comes of both, with a version above either's, and what of ours was replaced by theirs."""
    lost: list[str] = []
    values: dict[str, Any] = {
        name: _each(what, lost, *(getattr(state, name) for state in (base, ours, theirs)))
        for name, what in _ENTRIES.items()
    }
    tasks = [state.agent_task_assignments for state in (base, ours, theirs)]
    lists = {
        name: tree_merge.merge_lists(tasks[0].get(name, []), tasks[1].get(name, []), tasks[2].get(name, []), str)
        for name in {**tasks[1], **tasks[2]}
    }
    merged = theirs.with_(
        sync_version=max(ours.sync_version, theirs.sync_version) + 1,
        last_sync_timestamp=max(ours.last_sync_timestamp, theirs.last_sync_timestamp),
        agent_task_assignments={name: found for name, found in lists.items() if found},
        **values,
    )
    return merged, tuple(lost)


def _each(
    what: str, lost: list[str], base: Mapping[str, V], ours: Mapping[str, V], theirs: Mapping[str, V]
) -> dict[str, V]:
    """Return what either side made of each entry; of an entry that both changed differently, theirs."""
    merged: dict[str, V] = {}
    for key in {**base, **ours, **theirs}:
        before, one, other = base.get(key), ours.get(key), theirs.get(key)
        kept = one if other == before else other
        if kept != one and one != before:
            given_up = _shown(one) if one is not None else "that it was taken out here"
            lost.append(f"{what} {key}: {given_up} was replaced by {_shown(other)}")
        if kept is not None:
            merged[key] = kept
    return merged


def _shown(value: object) -> str:
    if isinstance(value, Ownership):
        return f"`{value.told}`"
    return "its being taken out there" if value is None else f"`{value}`" if isinstance(value, str) else "another entry"
