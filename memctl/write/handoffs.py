"""Answering a handoff: it is accepted, declined or withdrawn, and ownership follows in the same step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import handoff
from memctl.record.change import Change, WriteOptions
from memctl.record.handoff import ACCEPTED, DECLINED, OFFERED, WITHDRAWN, Handoff
from memctl.record.required_text import LONGEST_LINE, is_said
from memctl.store import load
from memctl.store.memory import Memory
from memctl.team import handoffs, ref_state, remote_state
from memctl.team.handoffs import Transfer
from memctl.team.ref_state import Terms
from memctl.text.characters import printable_line
from memctl.write import edit, transaction, two_phase
from memctl.write.two_phase import Done

_OPS = {ACCEPTED: "accept", DECLINED: "decline", WITHDRAWN: "withdraw"}


def answer(
    memory: Memory,
    reference: str,
    status: str,
    options: WriteOptions,
    *,
    note: str = "",
    declined: Sequence[str] = (),
    force: bool = False,
    remote: str = "",
) -> HandoffAnswer:
    """Accept a handoff (but for the `declined` sections), decline it, or withdraw it.

    The taker accepts and declines, the giver withdraws; others need `force`, with a reason. Raises MemctlError if the
    handoff is answered already.
    """
    two_phase.recover(memory, transaction.write, ask_remote=bool(remote))
    snapshot = load.disk(memory)
    one = handoff.of(snapshot, snapshot.resolve(reference))
    _refuse(memory, one, status, options, force, declined)
    given = handoffs.transfer_of(one, memory.now, {record.id for record in snapshot.records})
    if status == ACCEPTED:
        task = printable_line(one.parties.task)[:LONGEST_LINE]  # perhaps written by hand
        plan = handoffs.accept(given, task or one.record.title, declined)
    else:
        plan = handoffs.give_back(given, _OPS[status])
    values: dict[str, Any] = {"status": status, "answered_by": memory.actor, "answered_at": memory.now}
    values |= {"declined": list(declined)} if declined else {}

    def make(_: object) -> Change:
        current = load.disk(memory)
        _refuse_answered(handoff.of(current, current.resolve(one.record.id)))
        write = edit.rewrite(current, one.record, values, {"answer": note} if note else {})
        title = f"{one.record.id} {one.record.title}"
        title += f" without {', '.join(declined)}" if declined else ""
        return Change(op=_OPS[status], title=title, ids=(one.record.id,), writes=(write,))

    return HandoffAnswer(two_phase.carry_out(memory, transaction.write, plan, make, options, remote), one, given)


class HandoffAnswer(msgspec.Struct, frozen=True):
    """What became of an answer, the handoff as it was before, and what that gives."""

    done: Done
    handoff: Handoff
    given: Transfer


class Settled(msgspec.Struct, frozen=True):
    """What settling handoffs has done, a line each, and what of this clone's state was replaced by a remote's."""

    lines: list[str]
    lost: tuple[str, ...] = ()


def settle(memory: Memory, remote: str = "") -> Settled:
    """Set the ownership of sections as the answers of handoffs in the worktree say, here and at a remote if named."""
    found = handoff.found(load.disk(memory), everything=True)
    plan = handoffs.settle(found, memory.now)
    outcome = remote_state.update(memory, remote, plan, Terms()) if remote else ref_state.update(memory, plan, Terms())
    return Settled(handoffs.describe(found, outcome.before, memory.now), outcome.lost)


def _refuse(
    memory: Memory, one: Handoff, status: str, options: WriteOptions, force: bool, declined: Sequence[str]
) -> None:
    _refuse_answered(one)
    who = one.parties
    allowed = who.from_agent_id if status == WITHDRAWN else who.to_agent_id
    if memory.actor != allowed:
        if not force:
            raise MemctlError(
                f"{one.record.id} is for {allowed} to {_OPS[status]}, not for you ({memory.actor})",
                f"set MEMCTL_AGENT if you are {allowed}, or act for {allowed} with --force --reason WHY",
            )
        if not is_said(options.reason):
            raise MemctlError("--force needs --reason, which is recorded", exit_code=USAGE)
    strange = [section for section in declined if section not in who.sections]
    if strange:
        known = ", ".join(who.sections) or "no section"
        raise MemctlError(f"{one.record.id} does not hand over {', '.join(strange)}", f"it hands over {known}", USAGE)


def _refuse_answered(one: Handoff) -> None:
    if not one.is_offered:
        who = one.parties
        by = f" by {who.answered_by}, {who.answered_at}" if who.answered_by else ""
        if one.record.status == OFFERED:
            raise MemctlError(f"{one.record.id} is archived", f"`memctl unarchive {one.record.id}` brings it back")
        raise MemctlError(f"{one.record.id} is {one.record.status}{by}", f"`memctl handoff show {one.record.id}`")
