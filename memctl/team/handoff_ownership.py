"""Sections that change hands in a handoff: from one state to the next.

The taker owns the sections from the offer on, with the giver as previous owner and the handoff as the reason
(rules.md#handoffs). What the taker declines goes back to whoever had it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.record.handoff import Handoff
from memctl.team import agents, handed_work, ownership
from memctl.team.ref_state import Plan, Step
from memctl.team.state import Ownership, State, Work

_REASON = re.compile(r"Handoff (HND-[\d-]+) from .*|Given back: handoff (HND-[\d-]+)")


class Given(msgspec.Struct, frozen=True, kw_only=True):
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

    @property
    def why(self) -> str:
        """The `lock_reason` of the ownership that it gives."""
        return self._why(self.handoff)

    @property
    def why_back(self) -> str:
        """The reason that an ownership has which came back."""
        return _why_back(self.handoff)

    def is_why(self, reason: str) -> bool:
        """Whether an ownership has this handoff as its reason."""
        return reason in map(self._why, self.names)

    def is_why_back(self, reason: str) -> bool:
        """Whether an ownership has as its reason that it came back of this handoff."""
        return reason in map(_why_back, self.names)

    def _why(self, handoff: str) -> str:
        return f"Handoff {handoff} from {self.giver}"

    def is_about(self, held: Ownership) -> bool:
        """Whether an ownership has this handoff as its reason, under the id that it has now, whoever has it by now."""
        return held.section_id in self.sections and held.lock_reason in (self.why, self.why_back)


def _why_back(handoff: str) -> str:
    return f"Given back: handoff {handoff}"


def named_in(reason: str) -> str:
    """The handoff that an ownership has as its reason, "" if there is none."""
    match = _REASON.fullmatch(reason)
    return match[1] or match[2] if match else ""


def renamed(held: Ownership, given: Given, old: str) -> Ownership:
    """An ownership by a handoff that was called `old`, under the name it has now; any other as it is."""
    under = msgspec.structs.replace(given, handoff=old)
    if not under.is_about(held):
        return held
    return msgspec.structs.replace(held, lock_reason=given.why if held.lock_reason == under.why else given.why_back)


def of(one: Handoff, now: str, taken: Collection[str]) -> Given:
    """What changes hands by the handoff that a record tells of.

    `taken` are the ids that handoffs have. An alias that is another's id means that one, wherever it stands
    (`settling` has seen to what it meant before).
    """
    who = one.parties
    return Given(
        handoff=one.record.id,
        aliases=tuple(alias for alias in one.record.aliases if alias not in taken),
        giver=who.from_agent_id,
        taker=who.to_agent_id,
        sections=who.sections,
        now=now,
        unowned=who.unowned,
    )


def unowned(state: State, sections: Sequence[str], now: str) -> tuple[str, ...]:
    """Those of some sections that nobody owns."""
    return tuple(section for section in sections if state.live(section, now) is None)


def offer(given: Given) -> Plan:
    """All sections become the taker's, or none: each must be the giver's or nobody's.

    The way of owning, its end and its readers stay as they are; a section that nobody owned becomes exclusive.
    """
    taker = ownership.agent_name(given.taker)

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
            owned[section] = _passed(held, taker, given.now, given.why)
        title = f"{given.handoff} from {given.giver} to {taker}: {', '.join(given.sections) or 'no section'}"
        return Step(state.with_(section_ownership_map=owned), "handoff", title)

    return plan


def accept(given: Given, task: str, declined: Collection[str]) -> Plan:
    """The taker is at work, at the task of the handoff; sections that it declines go back.

    Raises MemctlError if the handoff was withdrawn or declined elsewhere, which this clone's record does not say yet.
    """
    taker, join = ownership.agent_name(given.taker), agents.join(given.taker, given.now, task)

    def plan(state: State) -> Step:
        back = [s for s in given.sections if (held := state.section_ownership_map.get(s)) and is_back(held, given)]
        if back:
            raise _answered(given, f"{', '.join(back)} went back to {given.giver}")
        state = join(given_back(state, given, declined)).state
        accepted = tuple(s for s in given.sections if (held := state.live(s, given.now)) and is_by(held, given))
        begun = Work(since=given.now, task=state.active_agents[taker].task, sections=accepted)
        state = handed_work.begun(handed_work.only(state, accepted, taker), taker, given.handoff, begun)
        title = f"{given.handoff} by {given.taker}" + (f" without {', '.join(declined)}" if declined else "")
        return Step(state, "accept", title)

    return plan


def give_back(given: Given, op: str) -> Plan:
    """All sections go back, as far as the taker has them still by this handoff.

    Raises MemctlError if the taker accepted it elsewhere, which this clone's record does not say yet.
    """

    def plan(state: State) -> Step:
        active = state.active_agents.get(given.taker)
        if active and any(name in active.handoffs for name in given.names):
            raise _answered(given, f"{given.taker} is at work by it")
        return Step(given_back(state, given, given.sections), op, given.handoff)

    return plan


def _answered(given: Given, why: str) -> MemctlError:
    return MemctlError(
        f"{given.handoff} was answered in another clone or on another branch: {why}",
        "`memctl sync` brings the answer here, or merge the branch that has it",
    )


def kept(state: State, given: Given) -> list[Ownership]:
    """The ownerships of the sections that are no longer what the handoff made them: these don't go back."""
    found = (state.live(section, given.now) for section in given.sections)
    return [held for held in found if held is not None and not is_by(held, given)]


def given_back(state: State, given: Given, sections: Collection[str]) -> State:
    """The sections are the giver's again, as far as the taker has them still by this handoff.

    What nobody owned before is over at once: so nobody owns it, and the state tells that it was not taken.
    """
    owned = dict(state.section_ownership_map)
    for section in sections:
        held = owned.get(section)
        if held is None or not is_by(held, given):
            continue
        owned[section] = _passed(held, given.giver, given.now, given.why_back)
        if section in given.unowned:
            owned[section] = Ownership(
                section_id=section,
                owner_agent_id=given.giver,
                acquired_at=given.now,
                expires_at=given.now,
                previous_owner=given.taker,
                lock_reason=given.why_back,
            )
    return state.with_(section_ownership_map=owned)


def given_anew(state: State, given: Given, sections: Collection[str]) -> State:
    """The sections are the taker's after all, as far as they went back by this handoff and nothing came since."""
    owned = dict(state.section_ownership_map)
    for section in sections:
        held = owned.get(section)
        if held is not None and is_back(held, given):
            owned[section] = _passed(held, given.taker, given.now, given.why)
            if section in given.unowned:
                owned[section] = msgspec.structs.replace(owned[section], expires_at=None)
    return state.with_(section_ownership_map=owned)


def is_by(held: Ownership, given: Given) -> bool:
    """Whether the taker owns a section by this handoff, and not by something since."""
    return held.owner_agent_id == given.taker and given.is_why(held.lock_reason)


def is_back(held: Ownership, given: Given) -> bool:
    """Whether the giver owns a section, or did to the end, because it came back of this handoff."""
    return held.owner_agent_id == given.giver and given.is_why_back(held.lock_reason)


def _passed(held: Ownership, to: str, now: str, why: str) -> Ownership:
    return msgspec.structs.replace(
        held, owner_agent_id=to, acquired_at=now, previous_owner=held.owner_agent_id, lock_reason=why
    )
