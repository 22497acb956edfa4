"""Bringing the coordination state together, once the branch is: the record of a handoff decides who owns its sections.

What clones did to the state while they were apart was merged without knowing of records (`coordination/merging.py`).
Where that leaves the ownership of one answer to a handoff, and the merge of the branch another answer, the state is set
as the answer says (`coordination/settling.py`), in the same push.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from memctl.record import handoff
from memctl.record.handoff import ACCEPTED, OFFERED, Handoff
from memctl.store import load
from memctl.store.memory import Memory
from memctl.sync.assembling import Made
from memctl.sync.synced import Synced
from memctl.team import exchange, settling, shared
from memctl.team.shared import Plan, Step, Terms
from memctl.team.state import State


class Agreed(msgspec.Struct, frozen=True):
    """The state after it, the commit that the remote had ("" for none), what of ours gave way to that, and what was
    settled."""

    state: State
    theirs: str
    lost: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()


def agree(memory: Memory, remote: str, done: Synced, follow: Plan | None, *, push: bool) -> Agreed:
    """Take in the state of a remote, settle it by the handoffs of the merged branch, and push it; without `push`, only
    here.

    For a dry run, `follow` is what the branch would do to ours; then nothing is changed. Raises MemctlError if the
    state can't be read or brought together.
    """

    @cache
    def handoffs() -> list[Handoff]:
        return handoff.found(load.alike(memory, done.commit), everything=True)

    def plan(state: State) -> Step:
        step = settling.settle(handoffs(), memory.now)(state) if settling.concerns(state) else None
        return step if step and step.title else Step(state, "sync", "")

    before, agreed = _exchanged(memory, remote, follow, plan, push=push, is_fetched=done.has_state)
    told = settling.told(handoffs(), before, memory.now) if settling.concerns(before) else []
    if done.made and (answered := _gave_way(done.made)):
        told += _elsewhere([one for one in handoffs() if one.record.id in answered], agreed.state, memory.now)
    return msgspec.structs.replace(agreed, settled=tuple(told))


def _exchanged(
    memory: Memory, remote: str, follow: Plan | None, plan: Plan, *, push: bool, is_fetched: bool
) -> tuple[State, Agreed]:
    """The state of both, merged, and what the plan has made of it."""
    if follow:
        taken = exchange.preview(memory, remote, follow, is_fetched=is_fetched)
        return taken.seen.state, Agreed(plan(taken.seen.state).state, taken.theirs, taken.lost)
    if push:
        outcome = exchange.update(memory, remote, plan, Terms(), is_fetched=is_fetched)
        return outcome.before, Agreed(outcome.step.state, outcome.theirs, outcome.lost)
    taken = exchange.take_in(memory, remote, is_fetched=is_fetched)
    outcome = shared.update(memory, plan, Terms())
    return outcome.before, Agreed(outcome.step.state, taken.theirs, taken.lost)


def _gave_way(made: Made) -> set[str]:
    """The records of which two answers, or other statuses, were one too many."""
    return {item.id for item in made.lost if item.loss.key == "status"}


def _elsewhere(handoffs: Sequence[Handoff], state: State, now: str) -> Iterator[str]:
    """Sections that by their handoff's answer would be somebody's, and were given to somebody else since."""
    for one in handoffs:
        who = one.parties
        if one.record.status == OFFERED:
            continue
        for section in who.sections:
            is_taken = one.record.status == ACCEPTED and section not in who.declined
            owner = who.to_agent_id if is_taken else who.from_agent_id
            held = state.live(section, now)
            if held and held.owner_agent_id != owner:
                yield f"{one.record.id} is {one.record.status}, and stays as it is: {held.told}"
