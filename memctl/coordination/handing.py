"""Sections that change hands in a handoff: from one state to the next.

S0, "Agent Handoff Protocols": the taker owns the sections from the offer on, with the giver as previous owner and the
handoff as the reason. What the taker declines goes back to whom it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memctl.coordination import agents, ownership
from memctl.coordination.shared import Plan, Step
from memctl.coordination.state import Ownership, State
from memctl.errors import MemctlError


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
    def why(self) -> str:
        """The reason that an ownership has by it (S0: `lock_reason`)."""
        return self._why(self.handoff)

    def is_why(self, reason: str) -> bool:
        """Whether an ownership has this handoff as its reason."""
        return reason in map(self._why, (self.handoff, *self.aliases))

    def _why(self, handoff: str) -> str:
        return f"Handoff {handoff} from {self.giver}"


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
    """The taker is at work, at the task of the handoff; sections that it declines go back."""
    join = agents.join(given.taker, given.now, task)

    def plan(state: State) -> Step:
        state = join(_given_back(state, given, declined)).state
        title = f"{given.handoff} by {given.taker}" + (f" without {', '.join(declined)}" if declined else "")
        return Step(state, "accept", title)

    return plan


def give_back(given: Given, op: str) -> Plan:
    """All sections go back, as far as the taker has them still by this handoff."""
    return lambda state: Step(_given_back(state, given, given.sections), op, given.handoff)


def kept(state: State, given: Given) -> list[Ownership]:
    """The ownerships of the sections that are no longer what the handoff made them: these don't go back."""
    found = (state.live(section, given.now) for section in given.sections)
    return [held for held in found if held is not None and not _is_by(held, given)]


def _given_back(state: State, given: Given, sections: Collection[str]) -> State:
    owned = dict(state.section_ownership_map)
    for section in sections:
        held = owned.get(section)
        if held is None or not _is_by(held, given):
            continue
        if section in given.unowned:
            owned.pop(section)
        else:
            owned[section] = _passed(held, given.giver, given.now, f"Given back: handoff {given.handoff}")
    return state.with_(section_ownership_map=owned)


def _is_by(held: Ownership, given: Given) -> bool:
    """Whether the taker owns a section by this handoff, and not by something since."""
    return held.owner_agent_id == given.taker and given.is_why(held.lock_reason)


def _passed(held: Ownership, to: str, now: str, why: str) -> Ownership:
    return msgspec.structs.replace(
        held, owner_agent_id=to, acquired_at=now, previous_owner=held.owner_agent_id, lock_reason=why
    )
