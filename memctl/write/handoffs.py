"""Answers to handoffs: accepting, declining and withdrawing, with the ownership of their sections."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import history
from memctl.record import handoff, ids
from memctl.record.change import Change, WriteOptions
from memctl.record.handoff import ACCEPTED, DECLINED, OFFERED, WITHDRAWN, Handoff
from memctl.record.kinds import HANDOFF
from memctl.record.required_text import LONGEST_LINE, is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.store import git_source, load
from memctl.store.memory import Memory
from memctl.team import handoffs, ref_state, remote_state
from memctl.team.ref_state import Step, Terms
from memctl.team.state import Answer, Ownership, State
from memctl.text.characters import printable_line
from memctl.write import edit, ownership_transaction, transaction
from memctl.write.commit import Outcome
from memctl.write.ownership_transaction import StepResult

_OPS = {ACCEPTED: "accept", DECLINED: "decline", WITHDRAWN: "withdraw"}


class HandoffAnswer(msgspec.Struct, frozen=True):
    """The result of answering a handoff.

    `done` has the outcomes of writing the answer and of changing the ownership. `handoff` and `snapshot` are the
    handoff and the memory in which it was found, before the answer. If `is_here` is False, this branch does not have
    the record, so the coordination state has the answer, and no commit was made. `stays` has a line for each section
    that should go back to the giver, but does not, since meanwhile its owner gave it to somebody else.
    """

    done: StepResult
    handoff: Handoff
    snapshot: Snapshot
    stays: tuple[str, ...]
    is_here: bool = True


def find(memory: Memory, snapshot: Snapshot, reference: str, *, everywhere: bool = True) -> tuple[Snapshot, Handoff]:
    """Return the handoff that a person's `reference` names, and the memory in which it was found.

    The memory `snapshot` is searched first. With `everywhere`, and if `reference` is a whole id, all branches are
    searched after that. Raises MemctlError if there is no such handoff.
    """
    wanted = snapshot.canonical(reference)
    if everywhere and ids.kind_of(wanted) is HANDOFF and snapshot.find(wanted) is None:
        folder = memory.tracked(f"{HANDOFF.folder}/{wanted[4:11]}")
        paths = history.paths_ever(memory.repository, folder, everywhere=True)
        former = git_source.newest_with(memory, [path for path in paths if ids.id_in_path(path) == wanted])
        if former and (record := former.find(wanted)):
            return former, handoff.from_record(former, record)
    return snapshot, handoff.from_record(snapshot, snapshot.resolve(reference))


def without_record(memory: Memory, snapshot: Snapshot) -> Iterator[tuple[str, Ownership]]:
    """Yield the ownerships that handoffs gave the acting agent, each with its handoff's id, if Git has no record of it.

    `snapshot` is the memory of this branch; other branches of this clone are searched after that.
    """
    for held in ref_state.read(memory).state.section_ownership_map.values():
        by = handoffs.handoff_in(held.lock_reason) if held.previous_owner else ""
        if by and held.owner_agent_id == memory.actor and held.is_live(memory.now) and snapshot.find(by) is None:
            try:
                find(memory, snapshot, by)
            except MemctlError:
                yield by, held


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
    """Accept a handoff (except the sections in `declined`), decline it, or withdraw it, as the new `status` says.

    `reference` is the handoff's id, as a person typed it, and `note` a text for the answer. Only the receiver may
    accept and decline, and only the giver may withdraw; anybody else needs `force`, with a reason. If the record is on
    another branch, the coordination state keeps the answer until a branch with the record takes it over: a copy of the
    record with another status would conflict when both branches are merged. If `remote` is the name of a remote, the
    ownership changes at the remote, too. Raises MemctlError if the handoff is answered already.
    """
    ownership_transaction.recover(memory, transaction.write, ask_remote=bool(remote))
    if not options.dry_run:
        take_over_answers(memory)
    where, item = find(memory, load.disk(memory), reference)
    who = item.parties
    _refuse(memory, item, status, options, force, declined)
    transfer = handoffs.transfer_of(item, memory.now)
    if status == ACCEPTED:
        task = printable_line(who.task)[:LONGEST_LINE]  # perhaps written by hand
        plan = partial(handoffs.accept, transfer=transfer, task=task or item.record.title, declined=declined)
    else:
        plan = partial(handoffs.release, transfer=transfer, op=_OPS[status])
    is_here = os.path.lexists(memory.folder / item.record.path)
    given = Answer(status=status, answered_by=memory.actor, answered_at=memory.now, declined=tuple(declined), note=note)
    title = f"{item.record.id} {item.record.title}" + (f" without {', '.join(declined)}" if declined else "")
    if is_here:

        def make(_: object) -> Change:
            here = load.disk(memory)
            now = handoff.from_record(here, here.resolve(item.record.id))
            _refuse_answered(now)
            return _change(here, now, given, title)

        done = ownership_transaction.carry_out(memory, transaction.write, plan, make, options, remote)
    else:

        def keep(state: State) -> Step:
            step = plan(state)
            return Step(step.state.put("handoff_answers", item.record.id, given), step.op, step.title)

        agreed = remote_state.update(memory, remote or None, keep, Terms(options.reason, options.dry_run))
        done = StepResult(Outcome(Change(op=_OPS[status], title=title, ids=(item.record.id,))), agreed)
    back = declined if status == ACCEPTED else who.sections
    stays = handoffs.moved_elsewhere(done.agreed.before, transfer, back)
    return HandoffAnswer(done, item, where, tuple(held.description for held in stays), is_here)


def _change(here: Snapshot, item: Handoff, answer: Answer, title: str) -> Change:
    """Return the Change that writes an answer into the record of its handoff."""
    values: dict[str, Any] = {name: getattr(answer, name) for name in ("status", "answered_by", "answered_at")}
    values |= {"declined": list(answer.declined)} if answer.declined else {}
    write = edit.rewrite(here, item.record, values, {"answer": answer.note} if answer.note else {})
    op = _OPS[answer.status]
    return Change(op=op, title=title, ids=(item.record.id,), writes=(write,), actor=answer.answered_by)


def take_over_answers(memory: Memory) -> list[str]:
    """Write the answers that the coordination state has for offers of this branch into their records.

    Each is one commit; one that is refused leaves the others. Returns a line for each.
    """
    answers = ref_state.read(memory).state.handoff_answers
    lines = []
    for item in handoff.read_all(load.disk(memory), only_open=True)[0] if answers else ():
        if item.record.id in answers and item.is_offered:
            answer = answers[item.record.id]
            what = f"{item.record.id} is {answer.status}, as {answer.answered_by} answered on another branch"
            try:
                change = _change(load.disk(memory), item, answer, f"{item.record.id} {item.record.title}")
                transaction.write(memory, partial(_constant, change), WriteOptions())
            except MemctlError as error:
                what += f", but its record still offers it: {error.message}"
            lines.append(what)
    return lines


def _constant(change: Change, _: object) -> Change:
    return change


class Settlement(msgspec.Struct, frozen=True):
    """What changed when the coordination state was corrected to agree with the answers to handoffs.

    `lines` has one line for each change of ownership, or of an agent's present work. `lost` describes entries of this
    clone's coordination state that were replaced by the remote's.
    """

    lines: list[str]
    lost: tuple[str, ...] = ()


def settle(memory: Memory, remote: str = "") -> Settlement:
    """Correct the coordination state so that it agrees with the answers to handoffs, and return what has changed.

    An answer (accepted, declined or withdrawn), as the handoff's record in the worktree has it, decides who owns the
    handoff's sections and who is at work on them. The state is corrected in this clone and, if `remote` is the name of
    a remote, also at the remote. Raises MemctlError if the remote can't be changed.
    """
    taken = take_over_answers(memory)
    found = handoff.read_all(load.disk(memory))[0]
    plan = partial(handoffs.settle, handoffs=found, now=memory.now)
    outcome = remote_state.update(memory, remote or None, plan, Terms())
    return Settlement(taken + handoffs.settle_state(outcome.before, found, memory.now)[1], outcome.lost)


def _refuse(
    memory: Memory, item: Handoff, status: str, options: WriteOptions, force: bool, declined: Sequence[str]
) -> None:
    _refuse_answered(item)
    who = item.parties
    allowed = who.from_agent_id if status == WITHDRAWN else who.to_agent_id
    if memory.actor != allowed and not force:
        raise MemctlError(
            f"only {allowed} can {_OPS[status]} the handoff {item.record.id}, and you are {memory.actor}",
            f"set MEMCTL_AGENT={allowed} if you are {allowed}, or act for {allowed} with --force --reason WHY",
        )
    if memory.actor != allowed and not is_meaningful(options.reason):
        raise MemctlError("--force needs --reason WHY: memctl records the reason", exit_code=USAGE)
    if strange := [section for section in declined if section not in who.sections]:
        known = ", ".join(who.sections) or "no section"
        raise MemctlError(
            f"the handoff {item.record.id} does not hand over {', '.join(strange)}", f"it hands over {known}", USAGE
        )


def _refuse_answered(item: Handoff) -> None:
    name, who = item.record.id, item.parties
    if item.record.status != OFFERED:
        by = f" by {who.answered_by}, {who.answered_at}" if who.answered_by else ""
        raise MemctlError(
            f"the handoff {name} is already {item.record.status}{by}", f"`memctl team handoff show {name}` prints it"
        )
    if not item.is_offered:
        raise MemctlError(f"the handoff {name} is archived", f"`memctl unarchive {name}` brings it back")
