"""Sync the coordination state after the branch, and make the owners of sections follow the answers to handoffs.

The coordination state is merged without reading records (`team/remote_state.py`). If two clones answered one handoff
differently, its record may have one answer after the merge, and the coordination state the other. Then the ownership is
changed to what the record says (`team/handoffs.py`), in the same push. Sections that got a new number in the sync keep
their owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from memctl.errors import MemctlError
from memctl.record import handoff
from memctl.record.handoff import ACCEPTED, OFFERED, Handoff
from memctl.store.memory import Memory
from memctl.sync import merge_commit
from memctl.sync.result import SyncResult
from memctl.team import handoffs as team_handoffs
from memctl.team import ownership, ref_state, remote_state
from memctl.team.ref_state import Plan, Step, Terms
from memctl.team.state import Ownership, State


class MergedCoordination(msgspec.Struct, frozen=True):
    """The result of merging this clone's coordination state with the remote's: the merged `state`.

    `theirs` is the commit of the remote's coordination state before the sync ("" for none). `lost` describes entries of
    this clone that entries of the remote replaced. `settled` describes ownerships that were changed to follow the
    answer in a handoff's record.
    """

    state: State
    theirs: str
    lost: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()


def sync_ownership(memory: Memory, done: SyncResult, remote: str, *, push: bool, dry_run: bool) -> SyncResult:
    """Sync the coordination state with a remote, and return `done`, the result of the sync so far, with what changed.

    An error is not raised but becomes a warning in the result, since the branch is synced already. With `push` the
    remote gets the merged state, unless it refuses memctl's refs; a dry run changes nothing.
    """
    try:
        moved = renumbered_ownerships(memory, done)
        follow = (lambda state: ownership.renumber(state, moved)) if dry_run else None
        before = ref_state.read(memory).state
        before = follow(before).state if follow else before
        agreed = _agree(memory, remote, done, follow, push=push)
        state, theirs = agreed.state, ref_state.at(memory, agreed.theirs).state
        return msgspec.structs.replace(
            done,
            coordination=ref_state.read(memory).commit,
            taken=done.taken or ref_state.content(state) != ref_state.content(before),
            given=push and ref_state.content(state) != ref_state.content(theirs),
            gave_way=tuple(dict.fromkeys((*done.gave_way, *agreed.lost, *_left_behind(memory, done, state)))),
            settled=(*done.settled, *agreed.settled),
        )
    except remote_state.RefsRefused as error:
        done = msgspec.structs.replace(done, refusal=error.reason)
        return sync_ownership(memory, done, remote, push=False, dry_run=dry_run)
    except MemctlError as error:
        return done.with_warning(f"the coordination state could not be synced with {remote}: {error.message}")


def renumbered_ownerships(memory: Memory, planned: SyncResult) -> tuple[tuple[Ownership, str], ...]:
    """Return the ownerships of sections that a planned sync renumbers, each with the new § marker of its section.

    An ownership that the remote has, too, is left out, because it is about the remote's section with the old number.
    The result is empty if the coordination state can't be read.
    """
    sections = _sections(planned)
    if not sections:
        return ()
    try:
        published = remote_state.fetch_state(memory, planned.upstream.remote).section_ownership_map
        owned = ref_state.read(memory).state.section_ownership_map
    except MemctlError:
        return ()  # `sync_ownership` reports the error
    return tuple((owned[old], new) for old, new in sections if old in owned and owned[old] != published.get(old))


def _sections(done: SyncResult) -> list[tuple[str, str]]:
    return [(holder.name, holder.now) for holder in done.made.renamed if holder.record is None] if done.made else []


def _left_behind(memory: Memory, done: SyncResult, state: State) -> list[str]:
    """Only the agent knows which of the two sections with its old number it meant."""
    return [
        f"you own {old}, but this number is another section's now, and the section that had it is {new}: to "
        f"own {new} instead, run `memctl team own release {old[1:]}` and `memctl team own acquire {new[1:]}`"
        for old, new in _sections(done)
        if (held := state.live(old, memory.now))
        and held.owner_agent_id == memory.actor
        and not state.live(new, memory.now)
    ]


def _agree(memory: Memory, remote: str, done: SyncResult, follow: Plan | None, *, push: bool) -> MergedCoordination:
    """In a dry run, `follow` is the plan that the branch's merge would carry out first, and nothing changes."""

    @cache
    def handoffs() -> list[Handoff]:
        return handoff.read_all(merge_commit.near_worktree(memory, done.commit))[0]

    def plan(state: State) -> Step:
        step = team_handoffs.settle(state, handoffs(), memory.now) if team_handoffs.has_handoffs(state) else None
        return step if step and step.title else Step(state, "sync", "")

    before, agreed = _exchange(
        memory, remote, follow, plan, push=push, is_fetched=done.has_state and remote == done.upstream.remote
    )
    lines = team_handoffs.settle_state(before, handoffs(), memory.now)[1] if team_handoffs.has_handoffs(before) else []
    # Of records with another status on each side one answer, or other status, was one too many.
    if answered := {item.id for item in done.made.lost if item.loss.key == "status"} if done.made else set():
        lines += _elsewhere([item for item in handoffs() if item.record.id in answered], agreed.state, memory.now)
    return msgspec.structs.replace(agreed, settled=tuple(lines))


def _exchange(
    memory: Memory, remote: str, follow: Plan | None, plan: Plan, *, push: bool, is_fetched: bool
) -> tuple[State, MergedCoordination]:
    if follow:
        taken = remote_state.fetch_and_merge(memory, remote, is_fetched=is_fetched, preview=follow)
        return taken.seen.state, MergedCoordination(plan(taken.seen.state).state, taken.theirs, taken.lost)
    if push:
        outcome = remote_state.update(memory, remote, plan, Terms(), is_fetched=is_fetched)
        return outcome.before, MergedCoordination(outcome.step.state, outcome.theirs, outcome.lost)
    taken = remote_state.fetch_and_merge(memory, remote, is_fetched=is_fetched)
    outcome = ref_state.update(memory, plan, Terms())
    return outcome.before, MergedCoordination(outcome.step.state, taken.theirs, taken.lost)


def _elsewhere(handoffs: Sequence[Handoff], state: State, now: str) -> Iterator[str]:
    for item in handoffs:
        who = item.parties
        if item.record.status == OFFERED:
            continue
        for section in who.sections:
            is_taken = item.record.status == ACCEPTED and section not in who.declined
            owner = who.to_agent_id if is_taken else who.from_agent_id
            held = state.live(section, now)
            if held and held.owner_agent_id != owner:
                yield (
                    f"{item.record.id} is {item.record.status}, but meanwhile its section has another owner: "
                    f"{held.description}"
                )
