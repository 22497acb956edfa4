"""Operations on the coordination state about handoffs, which move the ownership of sections between agents.

From the offer on, the taker owns the sections. The ownership names the giver as its previous owner and the handoff as
its reason (rules.md#handoffs). Sections that the taker declines go back to the giver.

A handoff may be accepted in one clone and declined in another before either knows of the other's answer. When the
clones are merged, the handoff's record keeps one of the two answers. The coordination state is merged without reading
records, so it may keep the owner that follows from the other answer. Then it is corrected to follow the record.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git import git, history
from memctl.record import ids
from memctl.record.errors import InvalidRecord
from memctl.record.handoff import ACCEPTED, DECLINED, WITHDRAWN, Handoff, Parties, read
from memctl.record.kinds import HANDOFF
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.team import agents, ref_state
from memctl.team.ref_state import Step
from memctl.team.state import Answer, Ownership, State, Work, agent_name

_REASON = re.compile(r"(?:Handoff|Transfer back: handoff) (HND-[\da-z-]+)(?: from .*)?")


class Transfer(msgspec.Struct, frozen=True):
    """The transfer of sections from one agent to another by a handoff, at the time `now`.

    `handoff` is the id of the handoff. `who` is the front matter of its record with the giver, the taker and the
    sections. `aliases` are ids that the handoff had before: if two clones give out the same id, one of the two records
    gets a new id.
    """

    handoff: str
    who: Parties
    now: str
    aliases: tuple[str, ...] = ()

    @property
    def giver(self) -> str:
        """The agent that hands over."""
        return self.who.from_agent_id

    @property
    def taker(self) -> str:
        """The agent that takes over."""
        return self.who.to_agent_id

    @property
    def why(self) -> str:
        """Why the taker owns the sections: the text in `lock_reason` of the ownerships that this handoff gives."""
        return f"Handoff {self.handoff} from {self.giver}"

    @property
    def why_back(self) -> str:
        """Why the giver owns sections again: the text in `lock_reason` of ownerships that this handoff gives back."""
        return f"Transfer back: handoff {self.handoff}"

    def is_by(self, held: Ownership) -> bool:
        """Return whether the ownership `held` is one that this handoff gave to the taker, not a later claim."""
        return held.owner_agent_id == self.taker and self._is_reason(held, self.why)

    def is_back(self, held: Ownership) -> bool:
        """Return whether the ownership `held` is one that the giver has because this handoff gave the section back.

        An expired ownership counts, too.
        """
        return held.owner_agent_id == self.giver and self._is_reason(held, self.why_back)

    def _is_reason(self, held: Ownership, why: str) -> bool:
        reasons = (why.replace(self.handoff, name, 1) for name in (self.handoff, *self.aliases))
        return held.section_id in self.who.sections and held.lock_reason in reasons

    def work(self, state: State) -> dict[str, Work]:
        """Return what the taker took over by this handoff and works on: id of the handoff -> work; {} for none.

        The work is looked up in the coordination state `state`. If the state still has it under an alias (an earlier id
        of the handoff), the key is the alias. An alias may now be the id of another handoff, so work under an alias
        counts only if one of its sections belongs to this handoff.
        """
        active = state.active_agents.get(self.taker)
        handoffs = {name: active.handoffs.get(name) for name in (self.handoff, *self.aliases)} if active else {}
        return {
            name: work
            for name, work in handoffs.items()
            if work and (name == self.handoff or set(work.sections) & set(self.who.sections))
        }


def handoff_in(reason: str) -> str:
    """Return the id of the handoff that an ownership's `lock_reason` names; "" if it names none."""
    match = _REASON.fullmatch(reason)
    return match[1] if match else ""


def transfer_of(handoff: Handoff, now: str) -> Transfer:
    """Return the transfer of ownership, at the time `now`, that a handoff's record describes."""
    return Transfer(handoff.record.id, handoff.parties, now, tuple(handoff.record.aliases))


def offer(state: State, transfer: Transfer) -> Step:
    """Return the step that makes the taker of a handoff the owner of all its sections.

    The type, expiry and readers of each ownership stay; a section that nobody owned becomes exclusive. Raises
    MemctlError if an agent other than the giver owns one of the sections.
    """
    taker = agent_name(transfer.taker)
    live = [held for section in transfer.who.sections if (held := state.live(section, transfer.now))]
    if foreign := [held for held in live if held.owner_agent_id != transfer.giver]:
        owners = ", ".join(dict.fromkeys(held.owner_agent_id for held in foreign))
        hint = f"only {owners} can hand over these sections: leave them out, or ask {owners} to release them"
        raise MemctlError("\n".join(held.description for held in foreign), hint)
    unowned = {name: Ownership(section_id=name, owner_agent_id=transfer.giver) for name in transfer.who.sections}
    owned = {**unowned, **{held.section_id: held for held in live}}
    moved = {name: held.passed(taker, transfer.now, transfer.why) for name, held in owned.items()}
    title = f"{transfer.handoff} from {transfer.giver} to {taker}: {', '.join(transfer.who.sections) or 'no section'}"
    return Step(state.with_(section_ownership_map={**state.section_ownership_map, **moved}), "handoff", title)


def accept(state: State, transfer: Transfer, task: str, declined: Collection[str]) -> Step:
    """Return the step of an accepted handoff: its taker is at work on `task`, and `declined` sections go back.

    Raises MemctlError if the state shows that the handoff was answered in another clone or on another branch.
    """
    taker = agent_name(transfer.taker)
    _refuse_answered(state, transfer)
    owned = state.section_ownership_map
    if back := [name for name in transfer.who.sections if name in owned and transfer.is_back(owned[name])]:
        raise _answered_elsewhere(
            transfer, f"{', '.join(back)} {'is' if len(back) == 1 else 'are'} owned by {transfer.giver} again"
        )
    if transfer.work(state):
        raise _answered_elsewhere(transfer, f"{taker} is listed as at work on the handoff")
    state = agents.join(give_back_sections(state, transfer, declined), taker, transfer.now, task).state
    accepted = tuple(s for s in transfer.who.sections if (held := state.live(s, transfer.now)) and transfer.is_by(held))
    state = agents.only_working(state, accepted, taker)
    active = state.active_agents[taker]
    work = Work(since=transfer.now, task=active.task, sections=accepted)
    state = agents.set_work(state, taker, {**active.handoffs, transfer.handoff: work})
    title = f"{transfer.handoff} by {transfer.taker}" + (f" without {', '.join(declined)}" if declined else "")
    return Step(state, "accept", title)


def release(state: State, transfer: Transfer, op: str) -> Step:
    """Return the step that gives back to a handoff's giver all sections that the taker still owns by this handoff.

    `op` is the operation that the commit names, such as `decline`. Raises MemctlError if the state
    shows that the taker accepted in another clone or on another branch.
    """
    _refuse_answered(state, transfer)
    if transfer.work(state):
        raise _answered_elsewhere(transfer, f"{transfer.taker} is listed as at work on the handoff")
    return Step(give_back_sections(state, transfer, transfer.who.sections), op, transfer.handoff)


def answered(state: State, handoffs: Iterable[Handoff]) -> list[Handoff]:
    """Return handoffs with the answers that a coordination state has for them, where their records have none yet."""
    return [_with_answer(item, state.handoff_answers.get(item.record.id)) for item in handoffs]


def _with_answer(item: Handoff, answer: Answer | None) -> Handoff:
    if answer is None or not item.is_offered:
        return item
    values = {name: getattr(answer, name) for name in ("answered_by", "answered_at", "declined")}
    record, parties = replace(item.record, status=answer.status), replace(item.parties, **values)
    return replace(item, record=record, parties=parties)


def _refuse_answered(state: State, transfer: Transfer) -> None:
    if answer := state.handoff_answers.get(transfer.handoff):
        raise _answered_elsewhere(transfer, f"{answer.answered_by} has {answer.status} it, {answer.answered_at}")


def _answered_elsewhere(transfer: Transfer, why: str) -> MemctlError:
    return MemctlError(
        f"the handoff {transfer.handoff} was already answered in another clone or on another branch: {why}",
        "`memctl sync` fetches the answer; if another branch has it, merge that branch",
    )


def moved_elsewhere(state: State, transfer: Transfer, sections: Collection[str]) -> list[Ownership]:
    """Return the ownerships of those `sections` that a handoff's taker no longer owns because of the handoff.

    These sections were claimed or passed on after the handoff, so they can't go back to its giver. Expired ownerships
    are left out.
    """
    ownerships = (state.live(section, transfer.now) for section in sections)
    return [held for held in ownerships if held is not None and not transfer.is_by(held)]


def give_back_sections(state: State, transfer: Transfer, sections: Collection[str]) -> State:
    """Return a coordination state in which a handoff's giver owns sections again that the handoff gave to the taker.

    Only `sections` go back, and of these only the ones that the taker still owns by this handoff. A section that nobody
    owned before the handoff becomes free: the giver gets an ownership that has expired already.
    """
    owned = dict(state.section_ownership_map)
    for section in sections:
        if section in owned and transfer.is_by(owned[section]):
            held = owned[section].passed(transfer.giver, transfer.now, transfer.why_back)
            is_free = {"ownership_type": "exclusive", "expires_at": transfer.now, "agents_with_read_access": None}
            owned[section] = msgspec.structs.replace(held, **(is_free if section in transfer.who.unowned else {}))
    return state.with_(section_ownership_map=owned)


def offers_elsewhere(memory: Memory, snapshot: Snapshot) -> list[tuple[str, Handoff]]:
    """Return the offers that this branch does not have, newest first, each with a branch that has it.

    It is a branch of this clone or of a remote, as last fetched, such as "origin/topic". The newest version of a record
    says whether it waits for an answer. `snapshot` is the memory of this branch.
    """
    repository, listing = memory.repository, ("for-each-ref", "refs/heads", "refs/remotes")
    tips = git.read([*listing, "--format=%(objectname)"], repository.top).decode().split()
    here = filter(None, [repository.branch()[1]])
    newest: dict[str, str] = {}
    for name, touching in history.line_commits(repository, tips, here, memory.tracked(HANDOFF.folder)).items():
        newest = dict.fromkeys(touching.paths, name) | newest
    wanted = [
        (commit, path)
        for path, commit in newest.items()
        if path.endswith(".md") and snapshot.find(ids.id_in_path(path) or path) is None
    ]
    offers, state = [], ref_state.read(memory).state if wanted else State()
    for (commit, path), blob in zip(wanted, repository.objects.read([f"{c}:{p}" for c, p in wanted]), strict=True):
        with suppress(InvalidRecord):  # `memctl check` on that branch names the fault
            text = ((blob and blob.data) or b"").decode(errors="replace")
            (item,) = answered(state, [read(text, path[len(memory.prefix) + 1 :])])
            if item.is_offered:
                names = git.read([*listing, f"--contains={commit}", "--format=%(refname:short)"], repository.top)
                offers.append((os.fsdecode(names).split("\n")[0], item))
    return sorted(offers, key=lambda offer: (offer[1].record.timestamp, offer[1].record.id), reverse=True)


class Contradiction(msgspec.Struct, frozen=True):
    """A contradiction between the coordination state and the answer to a handoff.

    `problem` says in words what in the state contradicts the answer. `after` is the state corrected to follow the
    answer, and `effect` says in words what the correction changes.
    """

    handoff: Handoff
    problem: str
    effect: str
    after: State


def contradictions(handoffs: Sequence[Handoff], state: State, now: str) -> Iterator[Contradiction]:
    """Yield each contradiction between a coordination state and the answers to handoffs in their records.

    Only ownership and work that a handoff itself brought about can contradict its answer. If a section was claimed or
    passed on after the handoff, its new owner is no contradiction. Each contradiction is looked for in the state that
    is corrected for the contradictions before it, so the `after` of the last one has all corrections.

    Two kinds of handoffs are left out: those without an answer, as another branch may have the answer, and those that
    have one id in common, as the state does not say which of them it means.
    """
    for handoff in _distinct(handoffs):
        if handoff.record.status in (ACCEPTED, DECLINED, WITHDRAWN):
            for contradiction in _of_answer(handoff, transfer_of(handoff, now), state):
                state = contradiction.after
                yield contradiction


def settle_state(state: State, handoffs: Sequence[Handoff], now: str) -> tuple[State, list[str]]:
    """Return a coordination state corrected to follow the answers to handoffs, and one line for each correction.

    The sections' owners and the agents' work are corrected. If a handoff has got a new id, it replaces the earlier id
    in the state.
    """
    state, lines = _renamed(handoffs, state, now)
    for contradiction in contradictions(handoffs, state, now):
        state = contradiction.after
        lines.append(contradiction.effect)
    return state, lines


def settle(state: State, handoffs: Sequence[Handoff], now: str) -> Step:
    """Return the step that corrects ownership and work in a coordination state by the answers to handoffs.

    For instance, the sections of a declined handoff go back to the giver. The step's title lists the changes; it is ""
    if there are none.
    """
    after, lines = settle_state(state, handoffs, now)
    return Step(after, "settle", "; ".join(lines))


def has_handoffs(state: State) -> bool:
    """Return whether handoffs play a part in a coordination state: an agent owns a section, or has work, by a handoff.

    If not, there is no need to read handoffs' records.
    """
    reasons = (held.lock_reason for held in state.section_ownership_map.values())
    return any(map(handoff_in, reasons)) or any(agent.handoffs for agent in state.active_agents.values())


def _distinct(handoffs: Sequence[Handoff]) -> list[Handoff]:
    count = Counter(handoff.record.id for handoff in handoffs)
    return [handoff for handoff in handoffs if count[handoff.record.id] == 1]


def _renamed(handoffs: Sequence[Handoff], state: State, now: str) -> tuple[State, list[str]]:
    """Return the state with the present ids of handoffs in place of aliases, and a line for each changed one."""
    lines: list[str] = []
    for handoff in _distinct(handoffs):
        transfer, before = transfer_of(handoff, now), state
        owned = dict(state.section_ownership_map)
        for section in {*transfer.who.sections} & {*owned}:
            for why, is_so in ((transfer.why, transfer.is_by), (transfer.why_back, transfer.is_back)):
                if is_so(owned[section]):
                    owned[section] = msgspec.structs.replace(owned[section], lock_reason=why)
        state = state.with_(section_ownership_map=owned)
        if old := transfer.work(state).keys() - {transfer.handoff}:
            work = state.active_agents[transfer.taker].handoffs
            state = agents.set_work(
                state, transfer.taker, {transfer.handoff if k in old else k: v for k, v in work.items()}
            )
        lines += [f"{', '.join(transfer.aliases)} is now {transfer.handoff}"] if state != before else []
    return state, lines


def _of_answer(handoff: Handoff, transfer: Transfer, state: State) -> Iterator[Contradiction]:
    """Yield the contradictions between a state and the answer to one handoff."""
    status, who = handoff.record.status, handoff.parties

    def contradiction(why: str, after: str, made: State, answer: str = "") -> Contradiction:
        nonlocal state
        state, text = made, f"{handoff.record.id} is {status}{answer}"
        return Contradiction(handoff, f"{text}, and {why}", f"{text}: {after}", made)

    at_work = transfer.work(state)
    for section in who.sections:
        held = state.section_ownership_map.get(section)
        if held is None:
            continue
        is_declined, is_free = section in who.declined, section in transfer.who.unowned
        is_taken, is_live = status == ACCEPTED and not is_declined, held.is_live(transfer.now)
        answer = f" without {section}" if status == ACCEPTED and is_declined else ""
        if not is_taken and transfer.is_by(held) and is_live:
            owner = "" if is_free else transfer.giver
            made = agents.only_working(give_back_sections(state, transfer, (section,)), (section,), owner)
            yield contradiction(held.description, _becomes(section, owner, transfer.taker), made, answer)
        elif is_taken and transfer.is_back(held) and (is_live or is_free):
            again = held.passed(transfer.taker, transfer.now, transfer.why)
            again = msgspec.structs.replace(again, expires_at=None) if is_free else again
            # What nobody owned before went back to nobody, with an end that is its beginning.
            was = held.owner_agent_id if held.acquired_at != held.expires_at else ""
            made = state.put("section_ownership_map", section, again)
            why = held.description if was else f"nobody owns {section}"
            yield contradiction(why, _becomes(section, transfer.taker, was), made)
        elif is_taken and is_live and any(section in work.sections for work in at_work.values()):
            is_offered_on = held.previous_owner == transfer.taker and handoff_in(held.lock_reason)
            if held.owner_agent_id != transfer.taker and not is_offered_on:
                where = f"at work on {section}, which is {_possessive(held.owner_agent_id)}"
                made = agents.only_working(state, (section,), held.owner_agent_id)
                yield contradiction(f"{transfer.taker} is {where}", f"{transfer.taker} is no longer {where}", made)
    if status != ACCEPTED and (at_work := transfer.work(state)):
        work = state.active_agents[transfer.taker].handoffs
        made = agents.set_work(state, transfer.taker, {name: work[name] for name in work if name not in at_work})
        yield contradiction(
            f"{transfer.taker} works on the handoff", f"{transfer.taker} no longer works on the handoff", made
        )


def _becomes(section: str, owner: str, was: str) -> str:
    return f"{section} is {_possessive(owner)}" + (f", no longer {_possessive(was)}" if was != owner else "")


def _possessive(agent: str) -> str:
    return f"{agent}'s" if agent else "nobody's"
