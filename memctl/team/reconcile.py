"""Handoffs whose answer and ownership contradict each other, and what ownership has to be: from one state to the next.

Two clones may answer one handoff before either knows of the other. The record's merge leaves one answer, and the
merge of the shared state, which knows nothing of records, perhaps the ownership of the other. The record decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from memctl.record.handoff import ACCEPTED, DECLINED, WITHDRAWN, Handoff
from memctl.team import handed_work, handoff_ownership
from memctl.team.handoff_ownership import Given
from memctl.team.ref_state import Plan, Step
from memctl.team.state import Ownership, State


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff's answer that the shared state does not follow in one section, and whose that is to be.

    `owner` is "" for nobody, `held` the ownership as it is. With `at_work` only who is at work is to be mended: the
    taker is, on a section that is another's, or with no `section` by a handoff that it has not accepted.
    """

    handoff: Handoff
    section: str = ""
    owner: str = ""
    held: Ownership | None = None
    at_work: bool = False

    @property
    def told(self) -> str:
        """What is wrong, in words."""
        if self.at_work:
            return f"{self._answer}, and {self._taker} is at work {self._at}"
        assert self.held is not None
        return f"{self._answer}, and {self.held.told if self._was else f'nobody owns {self.section}'}"

    @property
    def done(self) -> str:
        """What settling it does, in words."""
        if self.at_work:
            return f"{self._answer}: {self._taker} is no longer at work {self._at}"
        before = f", no longer {_whose(self._was)}" if self._was != self.owner else ""
        return f"{self._answer}: {self.section} is {_whose(self.owner)}{before}"

    @property
    def _answer(self) -> str:
        record = self.handoff.record
        is_declined = record.status == ACCEPTED and self.section in self.handoff.parties.declined
        return f"{record.id} is {record.status}" + (f" without {self.section}" if is_declined else "")

    @property
    def _taker(self) -> str:
        return self.handoff.parties.to_agent_id

    @property
    def _at(self) -> str:
        return f"on {self.section}, which is {_whose(self.owner)}" if self.section else "by it"

    @property
    def _was(self) -> str:
        """Who owns the section, "" for nobody: what nobody owned before went back to nobody."""
        held = self.held
        return held.owner_agent_id if held and held.acquired_at != held.expires_at else ""


def _whose(agent: str) -> str:
    return f"{agent}'s" if agent else "nobody's"


def contradictions(handoffs: Sequence[Handoff], state: State, now: str) -> list[Contradiction]:
    """Every contradiction between the answers of some handoffs and a state.

    Only what stands in the state by the very handoff counts: a section that was given to somebody else since, or taken
    anew, has gone on. A handoff that waits for its answer may have one on another branch.
    """
    return [found for one, given in _given(handoffs, now).values() for found in _of(one, given, state)]


def settle(handoffs: Sequence[Handoff], now: str) -> Plan:
    """Let ownership, and who is at work, be as the answers of some handoffs say."""

    def plan(state: State) -> Step:
        title = "; ".join(told(handoffs, state, now))
        state, _ = _named_anew(handoffs, state, now)
        given = _given(handoffs, now)
        for one in contradictions(handoffs, state, now):
            state = _settled(state, one, given[one.handoff.record.id][1])
        return Step(state, "settle", title)

    return plan


def told(handoffs: Sequence[Handoff], state: State, now: str) -> list[str]:
    """What settling does to a state, a line each."""
    _, named = _named_anew(handoffs, state, now)
    return [*named, *(one.done for one in contradictions(handoffs, state, now))]


def concerns(state: State) -> bool:
    """Whether a state tells of any handoff; mostly none does, and then nobody needs to read their records."""
    reasons = (held.lock_reason for held in state.section_ownership_map.values())
    return any(map(handoff_ownership.named_in, reasons)) or any(
        agent.handoffs for agent in state.active_agents.values()
    )


def _given(handoffs: Sequence[Handoff], now: str) -> dict[str, tuple[Handoff, Given]]:
    """Some handoffs and what changes hands by them, by their ids.

    Of those that have one id, until `renumber` tells them apart, nobody knows which the state means: they are left out.
    """
    count = Counter(one.record.id for one in handoffs)
    return {
        one.record.id: (one, handoff_ownership.of(one, now, count)) for one in handoffs if count[one.record.id] == 1
    }


def _named_anew(handoffs: Sequence[Handoff], state: State, now: str) -> tuple[State, list[str]]:
    """The state with the ids that handoffs have now, where it has those that another clone had given out too."""
    named: list[str] = []
    by_id = _given(handoffs, now)
    for one, given in by_id.values():
        for old in one.record.aliases:
            _, other = by_id.get(old, (None, None))
            before = state
            owned = {
                section: handoff_ownership.renamed(held, given, old) if not (other and other.is_about(held)) else held
                for section, held in state.section_ownership_map.items()
            }
            state = state.with_(section_ownership_map=owned)
            if not (other and other.taker == given.taker and _is_at_work(state, other)):
                state = handed_work.renamed(state, given.taker, old, given.handoff)
            named += [f"{old} is now {given.handoff}"] if state != before else []
    return state, named


def _is_at_work(state: State, given: Given) -> bool:
    """Whether what the taker is at work on under a handoff's id may be by that one: all its sections are of it."""
    active = state.active_agents.get(given.taker)
    found = active.handoffs.get(given.handoff) if active else None
    return found is not None and set(found.sections) <= set(given.sections)


def _of(one: Handoff, given: Given, state: State) -> Iterator[Contradiction]:
    status, who = one.record.status, one.parties
    if status not in (ACCEPTED, DECLINED, WITHDRAWN):
        return
    active = state.active_agents.get(given.taker)
    at_work = [active.handoffs[name] for name in given.names if active and name in active.handoffs]
    for section in who.sections:
        held = state.section_ownership_map.get(section)
        is_taken = status == ACCEPTED and section not in who.declined
        is_live = held is not None and held.is_live(given.now)
        if held is None:
            continue
        if not is_taken and handoff_ownership.is_by(held, given) and is_live:
            owner = "" if section in given.unowned else given.giver
            yield Contradiction(handoff=one, section=section, owner=owner, held=held)
        elif is_taken and handoff_ownership.is_back(held, given) and (is_live or section in given.unowned):
            yield Contradiction(handoff=one, section=section, owner=given.taker, held=held)
        elif is_taken and is_live and _is_gone(held, given) and any(section in work.sections for work in at_work):
            yield Contradiction(handoff=one, section=section, owner=held.owner_agent_id, held=held, at_work=True)
    if status != ACCEPTED and at_work:
        yield Contradiction(handoff=one, at_work=True)


def _is_gone(held: Ownership, given: Given) -> bool:
    """Whether a section is another's than the taker's, and was not only offered on by it."""
    is_offered = held.previous_owner == given.taker and handoff_ownership.named_in(held.lock_reason)
    return held.owner_agent_id != given.taker and not is_offered


def _settled(state: State, one: Contradiction, given: Given) -> State:
    if one.at_work:
        ended = handed_work.only(state, (one.section,), one.owner)
        return ended if one.section else handed_work.ended(state, given.taker, given.names)
    if one.owner == given.taker and one.handoff.record.status == ACCEPTED:
        return handoff_ownership.given_anew(state, given, (one.section,))
    return handed_work.only(handoff_ownership.given_back(state, given, (one.section,)), (one.section,), one.owner)
