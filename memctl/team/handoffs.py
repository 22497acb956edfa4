"""Sections that change hands in a handoff: from one state to the next.

The taker owns the sections from the offer on, with the giver as previous owner and the handoff as the reason
(rules.md#handoffs). What the taker declines goes back to whoever had it.

An answer and the ownership of sections may contradict each other, for two clones may answer one handoff before either
knows of the other. The record's merge leaves one answer, and the merge of the shared state, which knows nothing of
records, perhaps the ownership of the other. The record decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.record.handoff import ACCEPTED, DECLINED, WITHDRAWN, Handoff
from memctl.team import agents
from memctl.team.ref_state import Plan, Step
from memctl.team.state import Ownership, State, Work, agent_name

_REASON = re.compile(r"Handoff (HND-[\d-]+) from .*|Transfer back: handoff (HND-[\d-]+)")


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """What changes hands: which handoff (its id), from whom to whom, which sections, and when.

    `unowned` are those of the sections that nobody owned before. `aliases` are ids that the handoff had when ownership
    moved, before another clone turned out to have given them out too.
    """

    handoff: str
    aliases: tuple[str, ...] = ()
    giver: str
    taker: str
    sections: tuple[str, ...]
    now: str
    unowned: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every id that it goes or went by."""
        return (self.handoff, *self.aliases)

    def why(self, name: str = "") -> str:
        """Return the `lock_reason` of the ownership that it gives."""
        return f"Handoff {name or self.handoff} from {self.giver}"

    def why_back(self, name: str = "") -> str:
        """Return the reason that an ownership has which came back."""
        return f"Transfer back: handoff {name or self.handoff}"

    def is_about(self, held: Ownership, name: str = "") -> bool:
        """Return whether an ownership has this handoff as its reason, under one of its ids, whoever has it by now."""
        return held.section_id in self.sections and held.lock_reason in (self.why(name), self.why_back(name))


def handoff_in(reason: str) -> str:
    """Return the handoff that an ownership has as its reason, "" if there is none."""
    match = _REASON.fullmatch(reason)
    return match[1] or match[2] if match else ""


def transfer_of(one: Handoff, now: str, taken: Collection[str]) -> Transfer:
    """Return what changes hands by the handoff that a record tells of.

    `taken` are the ids that handoffs have. An alias that is another's id means that one, wherever it stands
    (`settling` has seen to what it meant before).
    """
    who = one.parties
    return Transfer(
        handoff=one.record.id,
        aliases=tuple(alias for alias in one.record.aliases if alias not in taken),
        giver=who.from_agent_id,
        taker=who.to_agent_id,
        sections=who.sections,
        now=now,
        unowned=who.unowned,
    )


def unowned(state: State, sections: Sequence[str], now: str) -> tuple[str, ...]:
    """Return those of some sections that nobody owns."""
    return tuple(section for section in sections if state.live(section, now) is None)


def offer(given: Transfer) -> Plan:
    """Return all sections become the taker's, or none: each must be the giver's or nobody's.

    The way of owning, its end and its readers stay as they are; a section that nobody owned becomes exclusive.
    """
    taker = agent_name(given.taker)

    def plan(state: State) -> Step:
        foreign = [
            held
            for section in given.sections
            if (held := state.live(section, given.now)) and held.owner_agent_id != given.giver
        ]
        if foreign:
            owners = ", ".join(dict.fromkeys(held.owner_agent_id for held in foreign))
            hint = f"only {owners} can hand that over: leave it out, or ask for it"
            raise MemctlError("\n".join(held.told for held in foreign), hint)
        owned = dict(state.section_ownership_map)
        for section in given.sections:
            held = state.live(section, given.now) or Ownership(section_id=section, owner_agent_id=given.giver)
            owned[section] = held.passed(taker, given.now, given.why())
        title = f"{given.handoff} from {given.giver} to {taker}: {', '.join(given.sections) or 'no section'}"
        return Step(state.with_(section_ownership_map=owned), "handoff", title)

    return plan


def accept(given: Transfer, task: str, declined: Collection[str]) -> Plan:
    """Return the taker is at work, at the task of the handoff; sections that it declines go back.

    Raises MemctlError if the handoff was withdrawn or declined elsewhere, which this clone's record does not say yet.
    """
    taker, join = agent_name(given.taker), agents.join(given.taker, given.now, task)

    def plan(state: State) -> Step:
        back = [s for s in given.sections if (held := state.section_ownership_map.get(s)) and is_back(held, given)]
        if back:
            raise _answered(given, f"{', '.join(back)} went back to {given.giver}")
        state = join(give_back_sections(state, given, declined)).state
        accepted = tuple(s for s in given.sections if (held := state.live(s, given.now)) and is_by(held, given))
        begun = Work(since=given.now, task=state.active_agents[taker].task, sections=accepted)
        state = agents.begin_work(agents.only_working(state, accepted, taker), taker, given.handoff, begun)
        title = f"{given.handoff} by {given.taker}" + (f" without {', '.join(declined)}" if declined else "")
        return Step(state, "accept", title)

    return plan


def give_back(given: Transfer, op: str) -> Plan:
    """Return all sections go back, as far as the taker has them still by this handoff.

    Raises MemctlError if the taker accepted it elsewhere, which this clone's record does not say yet.
    """

    def plan(state: State) -> Step:
        active = state.active_agents.get(given.taker)
        if active and any(name in active.handoffs for name in given.names):
            raise _answered(given, f"{given.taker} is at work by it")
        return Step(give_back_sections(state, given, given.sections), op, given.handoff)

    return plan


def _answered(given: Transfer, why: str) -> MemctlError:
    return MemctlError(
        f"{given.handoff} was answered in another clone or on another branch: {why}",
        "`memctl sync` brings the answer here, or merge the branch that has it",
    )


def moved_on(state: State, given: Transfer) -> list[Ownership]:
    """Return the ownerships of the sections that are no longer what the handoff made them: these don't go back."""
    found = (state.live(section, given.now) for section in given.sections)
    return [held for held in found if held is not None and not is_by(held, given)]


def give_back_sections(state: State, given: Transfer, sections: Collection[str]) -> State:
    """Return the sections are the giver's again, as far as the taker has them still by this handoff.

    What nobody owned before is over at once: so nobody owns it, and the state tells that it was not taken.
    """
    owned = dict(state.section_ownership_map)
    for section in sections:
        held = owned.get(section)
        if held is not None and is_by(held, given):
            back = held.passed(given.giver, given.now, given.why_back())
            free = Ownership(section_id=section, owner_agent_id=given.giver, expires_at=given.now)
            if section in given.unowned:
                names = ("acquired_at", "previous_owner", "lock_reason")
                back = msgspec.structs.replace(free, **{name: getattr(back, name) for name in names})
            owned[section] = back
    return state.with_(section_ownership_map=owned)


def _give_again(state: State, given: Transfer, section: str) -> State:
    """Return the section is the taker's after all, as far as it went back by this handoff and nothing came since."""
    held = state.section_ownership_map.get(section)
    if held is None or not is_back(held, given):
        return state
    ends = None if section in given.unowned else held.expires_at
    anew = msgspec.structs.replace(held.passed(given.taker, given.now, given.why()), expires_at=ends)
    return state.with_(section_ownership_map={**state.section_ownership_map, section: anew})


def is_by(held: Ownership, given: Transfer) -> bool:
    """Return whether the taker owns a section by this handoff, and not by something since."""
    return held.owner_agent_id == given.taker and held.lock_reason in map(given.why, given.names)


def is_back(held: Ownership, given: Transfer) -> bool:
    """Return whether the giver owns a section, or did to the end, because it came back of this handoff."""
    return held.owner_agent_id == given.giver and held.lock_reason in map(given.why_back, given.names)


class Contradiction(msgspec.Struct, frozen=True):
    """A handoff's answer that the shared state does not follow: what is wrong, what is to become of it, both in words,
    and what makes a state follow the answer."""

    handoff: Handoff
    problem: str
    effect: str
    settle: Callable[[State], State]


def contradictions(handoffs: Sequence[Handoff], state: State, now: str) -> list[Contradiction]:
    """Return every contradiction between the answers of some handoffs and a state.

    Only what stands in the state by the very handoff counts: a section that was given to somebody else since, or taken
    anew, has gone on. A handoff that waits for its answer may have one on another branch.
    """
    return [found for one, given in _transfers(handoffs, now).values() for found in _contradicting(one, given, state)]


def settle(handoffs: Sequence[Handoff], now: str) -> Plan:
    """Let ownership, and who is at work, be as the answers of some handoffs say."""

    def plan(state: State) -> Step:
        after, lines = _settled(handoffs, state, now)
        return Step(after, "settle", "; ".join(lines))

    return plan


def describe(handoffs: Sequence[Handoff], state: State, now: str) -> list[str]:
    """Return what settling does to a state, a line each."""
    return _settled(handoffs, state, now)[1]


def _settled(handoffs: Sequence[Handoff], state: State, now: str) -> tuple[State, list[str]]:
    """Return a state after settling, and what that does, a line each."""
    state, lines = _rename(handoffs, state, now)
    for one in contradictions(handoffs, state, now):
        state = one.settle(state)
        lines.append(one.effect)
    return state, lines


def concerns(state: State) -> bool:
    """Return whether a state tells of any handoff; mostly none does, and then nobody needs to read their records."""
    reasons = (held.lock_reason for held in state.section_ownership_map.values())
    return any(map(handoff_in, reasons)) or any(agent.handoffs for agent in state.active_agents.values())


def _transfers(handoffs: Sequence[Handoff], now: str) -> dict[str, tuple[Handoff, Transfer]]:
    """Return some handoffs and what changes hands by them, by their ids.

    Of those that have one id, until `renumber` tells them apart, nobody knows which the state means: they are left out.
    """
    count = Counter(one.record.id for one in handoffs)
    return {one.record.id: (one, transfer_of(one, now, count)) for one in handoffs if count[one.record.id] == 1}


def _rename(handoffs: Sequence[Handoff], state: State, now: str) -> tuple[State, list[str]]:
    """Return the state with the ids that handoffs have now, where it has those that another clone had given out too."""
    named: list[str] = []
    by_id = _transfers(handoffs, now)
    for one, given in by_id.values():
        for old in one.record.aliases:
            _, other = by_id.get(old, (None, None))
            before, owned = state, dict(state.section_ownership_map)
            for section, held in owned.items():
                if given.is_about(held, old) and not (other and other.is_about(held)):
                    why = given.why() if held.lock_reason == given.why(old) else given.why_back()
                    owned[section] = msgspec.structs.replace(held, lock_reason=why)
            state = state.with_(section_ownership_map=owned)
            if not (other and other.taker == given.taker and _is_at_work(state, other)):
                state = agents.rename_work(state, given.taker, old, given.handoff)
            named += [f"{old} is now {given.handoff}"] if state != before else []
    return state, named


def _is_at_work(state: State, given: Transfer) -> bool:
    """Return whether what the taker is at work on under a handoff's id may be by that one: all its sections
    are of it."""
    active = state.active_agents.get(given.taker)
    found = active.handoffs.get(given.handoff) if active else None
    return found is not None and set(found.sections) <= set(given.sections)


def _contradicting(one: Handoff, given: Transfer, state: State) -> Iterator[Contradiction]:
    status, who = one.record.status, one.parties
    if status not in (ACCEPTED, DECLINED, WITHDRAWN):
        return
    active = state.active_agents.get(given.taker)
    at_work = [active.handoffs[name] for name in given.names if active and name in active.handoffs]
    for section in who.sections:
        held = state.section_ownership_map.get(section)
        if held is None:
            continue
        is_taken, is_live = status == ACCEPTED and section not in who.declined, held.is_live(given.now)
        if not is_taken and is_by(held, given) and is_live:
            yield _of_ownership(one, given, held, "" if section in given.unowned else given.giver)
        elif is_taken and is_back(held, given) and (is_live or section in given.unowned):
            yield _of_ownership(one, given, held, given.taker)
        elif is_taken and is_live and _is_gone(held, given) and any(section in work.sections for work in at_work):
            yield _of_work(one, given, section, held.owner_agent_id)
    if status != ACCEPTED and at_work:
        yield _of_work(one, given)


def _of_ownership(one: Handoff, given: Transfer, held: Ownership, owner: str) -> Contradiction:
    """Return a section that is to be another's, or nobody's (`owner` is "")."""
    section, record = held.section_id, one.record
    is_declined = record.status == ACCEPTED and section in one.parties.declined
    answer = f"{record.id} is {record.status}" + (f" without {section}" if is_declined else "")
    # What nobody owned before went back to nobody, with an end that is its beginning.
    was = held.owner_agent_id if held.acquired_at != held.expires_at else ""
    before = f", no longer {_possessive(was)}" if was != owner else ""

    def settle_one(state: State) -> State:
        if is_back(held, given):
            return _give_again(state, given, section)
        return agents.only_working(give_back_sections(state, given, (section,)), (section,), owner)

    problem = f"{answer}, and {held.told if was else f'nobody owns {section}'}"
    return Contradiction(one, problem, f"{answer}: {section} is {_possessive(owner)}{before}", settle_one)


def _of_work(one: Handoff, given: Transfer, section: str = "", owner: str = "") -> Contradiction:
    """Return a taker at work on a section that is another's, or without a section by a handoff that it has not
    accepted."""
    answer, taker = f"{one.record.id} is {one.record.status}", given.taker
    where = f"on {section}, which is {_possessive(owner)}" if section else "by it"

    def settle_one(state: State) -> State:
        if section:
            return agents.only_working(state, (section,), owner)
        return agents.end_work(state, taker, given.names)

    problem = f"{answer}, and {taker} is at work {where}"
    return Contradiction(one, problem, f"{answer}: {taker} is no longer at work {where}", settle_one)


def _possessive(agent: str) -> str:
    return f"{agent}'s" if agent else "nobody's"


def _is_gone(held: Ownership, given: Transfer) -> bool:
    """Return whether a section is another's than the taker's, and was not only offered on by it."""
    is_offered = held.previous_owner == given.taker and handoff_in(held.lock_reason)
    return held.owner_agent_id != given.taker and not is_offered
