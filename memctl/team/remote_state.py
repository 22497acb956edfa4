"""The coordination state between machines: how it is fetched, merged and pushed when a command names a remote.

A change is made on top of the remote's state and pushed on the condition that the remote's ref has not moved. If
another machine pushes first, the push is refused, the state is fetched again, and the change is planned anew. So an
agent owns a section only once the remote has recorded the claim.

If this clone's state differs from the remote's, the two are merged entry by entry. An entry that only one side changed
is taken from that side. If both sides changed an entry, the remote's entry is taken, since other machines rely on it
(rules.md#coordination), and the replaced entry of this clone is reported. Lists of tasks are merged task by task.
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
    """Raised if a change of the coordination state is, or may be, at the remote but is not in this clone."""


class RefsRefused(MemctlError):
    """Raised if a remote refuses the ref of the coordination state; `reason` is its verdict in a few words."""

    def __init__(self, remote: str, error: PushRefused) -> None:
        super().__init__(*_not_accepted(remote, error.why))
        self.reason = error.reason or "no reason given"


class MergedState(msgspec.Struct, frozen=True):
    """The coordination state of this clone after a merge with that of a remote.

    `seen` is the merged state. `theirs` is the remote's commit ("" if the remote has no state). `lost` has a line for
    each entry of this clone that an entry of the remote replaced.
    """

    seen: ReadState
    theirs: str
    lost: tuple[str, ...] = ()


def is_shared(memory: Memory) -> bool:
    """Return whether memctl's own refs go to remotes; the setting memctl.shareRefs is for remotes that refuse them."""
    return memory.repository.flag("memctl.sharerefs", True)


def fetch_and_merge(
    memory: Memory, remote: str, *, is_fetched: bool = False, preview: Plan | None = None
) -> MergedState:
    """Fetch a remote's coordination state and merge it into that of this clone; raises MemctlError if that fails.

    With `is_fetched` nothing is fetched: the state that was last fetched from the remote is merged.

    With the plan `preview` this clone's state stays as it is. The result shows what it would be if this clone first
    carried out the plan and then merged the remote's state.
    """
    with ref_state.locked(memory):
        return fetch_and_merge_locked(memory, remote, dry_run=preview is not None, first=preview, is_fetched=is_fetched)


def update(memory: Memory, remote: str | None, plan: Plan, terms: Terms, *, is_fetched: bool = False) -> StateOutcome:
    """Change the coordination state of a remote by a plan, and then that of this clone, and return the outcome.

    Without a remote (None) only this clone's state changes. What this clone has and the remote lacks is pushed with the
    change. With `is_fetched` nothing is fetched before the first push: the remote is expected to have the state that
    was last fetched from it. Raises MemctlError if the plan refuses, if `terms` expects another version, or if the
    remote can't be changed; then neither has the change. Raises Unfinished if the remote has it, or may have it, and
    this clone does not. In this case, and if the process dies in between, the next fetch brings it to this clone.
    """
    with ref_state.locked(memory):
        return update_locked(memory, remote, plan, terms, is_fetched=is_fetched)


def update_locked(
    memory: Memory,
    remote: str | None,
    plan: Plan,
    terms: Terms,
    prepare: Prepare | None = None,
    *,
    is_fetched: bool = False,
) -> StateOutcome:
    """Change the coordination state as `update` does, for a caller that holds the lock of `ref_state.locked`.

    `prepare` is called with the outcome before each push; if it raises an error, nothing is pushed.
    """
    if remote is None or not _has_shared(memory, remote):
        return ref_state.update_locked(memory, plan, terms, prepare)
    lost: list[str] = []
    tips: set[str] = set()
    for number in range(_TRIES):
        taken = fetch_and_merge_locked(memory, remote, dry_run=terms.dry_run, is_fetched=is_fetched and number == 0)
        lost += taken.lost
        tips.add(taken.theirs)
        outcome = ref_state.try_step(memory, taken.seen, plan, terms, prepare, tuple(lost), taken.theirs)
        commit = outcome.commit or taken.seen.commit
        if terms.dry_run or commit == taken.theirs:
            return outcome
        if _pushed(memory, remote, commit, taken.theirs):
            if outcome.commit:
                _follow(memory, remote, commit, taken.seen.commit)
            return outcome
        time.sleep(_PAUSE * (number + 1))
    if len(tips) > 1:
        message = f"other clones changed the coordination state of {remote} {len(tips) - 1} times meanwhile"
        raise MemctlError(message, "run the command again")
    raise MemctlError(
        f"{remote} has refused {_TRIES} pushes of the coordination state, although nobody else has pushed",
        f"a killed process may have left the file {coordination_ref.ref(memory)}.lock in the repository {remote}; "
        "delete it",
    )


def _pushed(memory: Memory, remote: str, commit: str, theirs: str) -> bool:
    """Return whether the remote took a commit; False if another machine pushed first.

    Raises MemctlError if the remote refused it, and Unfinished if that can't be found out.
    """
    try:
        return refs.push(memory.repository, remote, coordination_ref.ref(memory), commit, theirs)
    except PushRefused as error:
        raise RefsRefused(remote, error) from None
    except git.GitFailed as error:  # the connection broke, and nobody knows when
        why = error.output or error.message
        try:
            now = _fetched(memory, remote)
        except MemctlError:
            raise Unfinished(
                f"{remote} can't be reached, so it is not known whether it has the change of the coordination "
                f"state:\n{why}",
                f"once {remote} can be reached, `memctl team own list --remote {remote}` fetches the shared state",
            ) from None
        if refs.contains(memory.repository, now, commit):
            return True
    raise MemctlError(*_not_accepted(remote, why))


def _not_accepted(remote: str, why: str) -> tuple[str, str]:
    """Return the message and the hint for a change that a remote did not accept."""
    return (
        f"{remote} did not accept the change of the coordination state, so this clone has not made it either:\n{why}",
        f"without --remote only this clone makes the change, and `memctl sync {remote}` pushes it later; if {remote} "
        "takes no refs/memctl/*, run `git config memctl.shareRefs false`",
    )


def _follow(memory: Memory, remote: str, commit: str, seen: str) -> None:
    """Move this clone's ref to the commit that the remote took; raises Unfinished if that fails."""
    try:
        if not ref_state.move(memory, commit, seen):
            fetch_and_merge_locked(memory, remote)
    except MemctlError as error:
        raise Unfinished(
            f"{remote} has the change of the coordination state, but this clone does not have it yet:\n{error.message}",
            f"`memctl team own list --remote {remote}` fetches who owns what",
        ) from None


def fetch_state(memory: Memory, remote: str) -> State:
    """Return the coordination state of a remote, an empty one if it has none; raises MemctlError if a fetch fails."""
    return ref_state.at(memory, _fetched(memory, remote)).state


def fetch_and_merge_locked(
    memory: Memory, remote: str, *, dry_run: bool = False, first: Plan | None = None, is_fetched: bool = False
) -> MergedState:
    """Fetch and merge a remote's coordination state, for a caller that holds the lock of `ref_state.locked`.

    If the plan `first` is given, it is carried out on this clone's state before the merge. In a dry run this clone's
    ref does not move. With `is_fetched` nothing is fetched: the state that was last fetched from the remote is merged.
    Raises MemctlError if the fetch or the merge fails.
    """
    if not _has_shared(memory, remote):
        return MergedState(ref_state.read(memory), "")
    repository, ref = memory.repository, coordination_ref.ref(memory)
    theirs = repository.tip(coordination_ref.tracking_ref(memory, remote)) if is_fetched else _fetched(memory, remote)
    for _ in range(_TRIES):
        ours = ref_state.read(memory)
        planned = first(ours.state).state if first else ours.state
        is_changed = ref_state.content(planned) != ref_state.content(ours.state)
        ours = msgspec.structs.replace(ours, state=planned)
        base = refs.base(repository, ours.commit, theirs) if ours.commit and theirs else ""
        if not theirs or base == theirs:
            return MergedState(ours, theirs)
        new = ref_state.at(memory, theirs)
        lost: tuple[str, ...] = ()
        if base != ours.commit or is_changed:
            new, lost = _merge(memory, remote, ref_state.at(memory, base).state if base else State(), ours, new)
        if dry_run or ref_state.move(memory, new.commit, ours.commit):
            return MergedState(new, theirs, lost)
    raise MemctlError(f"{ref} is being changed by other processes all the time", "run the command again")


def _has_shared(memory: Memory, remote: str) -> bool:
    """Return whether a remote has the coordination state; if not, a remark says that this clone alone has it."""
    refs.refuse_unknown(memory.repository, remote)
    if not is_shared(memory):
        memory.remarks.append(f"memctl.shareRefs is false: this clone alone knows who owns what, and {remote} does not")
    return is_shared(memory)


def _fetched(memory: Memory, remote: str) -> str:
    return refs.fetch(
        memory.repository, remote, coordination_ref.ref(memory), coordination_ref.tracking_ref(memory, remote)
    )


def _merge(
    memory: Memory, remote: str, base: State, ours: ReadState, theirs: ReadState
) -> tuple[ReadState, tuple[str, ...]]:
    """Return the merge commit of two states as read, and what of ours was replaced."""
    state, lost = merge_states(base, ours.state, theirs.state)
    step = Step(state, "merge", f"the coordination state of {remote}")
    commit = ref_state.commit_step(memory, ours, step, "; ".join(lost), theirs.commit)
    return ref_state.at(memory, commit), lost


V = TypeVar("V")
_ENTRIES = {
    "active_agents": "agent",
    "section_ownership_map": "section",
    "global_blockers": "blocker",
    "shared_resources": "resource",
    "handoff_answers": "answer to",
}


def merge_states(base: State, ours: State, theirs: State) -> tuple[State, tuple[str, ...]]:
    """Return the merge of this clone's coordination state (`ours`) with the remote's (`theirs`), and what was replaced.

    Where both sides changed an entry, the remote's entry replaces ours, and the result has a line about that. `base` is
    the last state that both sides had in common. The version of the merged state is higher than the versions of both
    sides.
    """
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
        agent_task_assignments={name: tasks for name, tasks in lists.items() if tasks},
        **values,
    )
    return merged, tuple(lost)


def _each(
    what: str, lost: list[str], base: Mapping[str, V], ours: Mapping[str, V], theirs: Mapping[str, V]
) -> dict[str, V]:
    """Return the merge of entries by key; if both sides changed an entry differently, theirs."""
    merged: dict[str, V] = {}
    for key in {**base, **ours, **theirs}:
        before, our, other = base.get(key), ours.get(key), theirs.get(key)
        value = our if other == before else other
        if value != our and our != before:
            given_up = _show(our) if our is not None else "the removal in this clone"
            lost.append(f"{what} {key}: {given_up} was replaced by {_show(other)}")
        if value is not None:
            merged[key] = value
    return merged


def _show(value: object) -> str:
    if value is None:
        return "the removal in the other clone"
    shown = value.description if isinstance(value, Ownership) else value
    return f"`{shown}`" if isinstance(shown, str) else "another entry"
