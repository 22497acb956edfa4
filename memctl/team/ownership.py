"""Operations on the coordination state about the ownership of sections: acquire, release, transfer, renumber."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.required_text import is_meaningful
from memctl.team import agents
from memctl.team.ref_state import Step
from memctl.team.state import EXCLUSIVE, SECTION, SHARED_WRITE, Ownership, State, agent_name
from memctl.text.characters import printable_line

_REASON = 500  # characters


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of `agent` to own `sections`, with the type of ownership, its expiry, its reason and its readers.

    - `ownership_type`: who may write: "exclusive" (the owner), "shared-write" (every agent) or "read-only" (no agent).
    - `now`, `expires_at`: times such as "2025-11-04T14:32:00Z".
    - `readers`: the agents that may read the details of the sections, beside the owner.
    - `force`: take sections from other agents that own them.
    - `parents`: marker of a page of details -> marker of its section. A page of details without an owner of its own
      belongs to the owner of its section.

    If the type, expiry, reason or readers are None, an ownership that the agent has already keeps its own. A new
    ownership is then "exclusive", without an expiry, a reason or a limit of readers.
    """

    sections: tuple[str, ...]
    agent: str
    now: str
    ownership_type: str | None = None
    expires_at: str | None = None
    reason: str | None = None
    readers: tuple[str, ...] | None = None
    force: bool = False
    parents: Mapping[str, str] = {}


def acquire(state: State, claim: Claim) -> Step:
    """Return the step that makes the agent of a claim the owner of the claimed sections.

    If one of the sections can't be had, the claim fails as a whole. Raises MemctlError if another agent owns a section,
    unless the claim has `force`. There is one exception: if the claim is for "shared-write" and the other agent's
    ownership is "shared-write", too, the other agent remains the owner and no error is raised, since both may write
    there already. Raises MemctlError for an expiry that has passed, and for `force` without a reason.
    """
    name = agent_name(claim.agent)
    if claim.expires_at is not None and claim.expires_at <= claim.now:
        message = f"the ownership would end at {claim.expires_at}, which is not in the future"
        raise MemctlError(message, "give a later time, or a span such as 4h", USAGE)
    refuse_no_reason(claim.force, claim.reason or "")
    if claim.reason is not None:
        claim = msgspec.structs.replace(claim, reason=_reason(claim.reason))
    owned = dict(state.section_ownership_map)
    taken: list[str] = []
    granted: list[str] = []
    for section in map(section_id, claim.sections):
        held = state.live(section, claim.now)
        above = state.live(claim.parents.get(section, ""), claim.now)
        if held is None and above and not above.lets_write(name) and above.owner_agent_id != name:
            held = above
        foreign = held if held and held.owner_agent_id != name else None
        if foreign and not claim.force:
            if foreign.ownership_type == SHARED_WRITE == claim.ownership_type:
                continue
            raise not_available(foreign)
        taken += [foreign.owner_agent_id] if foreign else []
        owned[section] = _new_ownership(claim, section, name, owned.get(section), held)
        granted.append(section)
    ways: list[str] = [owned[section].ownership_type for section in granted] or [claim.ownership_type or EXCLUSIVE]
    title = f"{', '.join(claim.sections)} {', '.join(dict.fromkeys(ways))}"
    title += f" from {', '.join(dict.fromkeys(taken))}" if taken else ""
    state = agents.only_working(state, granted, name).with_(section_ownership_map=owned)
    return Step(state, "force" if taken else "acquire", title)


def release(
    state: State, sections: Sequence[str], agent: str, now: str, *, force: bool = False, reason: str = ""
) -> Step:
    """Return the step that ends the ownership of `sections`, which `agent` owns.

    Raises MemctlError for a section that another agent owns. With `force` such a section is released, too; then a
    `reason` must be given, or MemctlError is raised.
    """
    refuse_no_reason(force, reason)
    markers = [section_id(section) for section in sections]
    holders = [_own(state, section, agent, now, force).owner_agent_id for section in markers]
    owned = {section: held for section, held in state.section_ownership_map.items() if section not in markers}
    released = agents.only_working(state, markers).with_(section_ownership_map=owned)
    return Step(released, "release", f"{', '.join(sections)}{_by_force(holders, agent)}")


def transfer(
    state: State, sections: Sequence[str], agent: str, to: str, now: str, *, force: bool = False, reason: str = ""
) -> Step:
    """Return the step that gives `sections`, which `agent` owns, to the agent `to`: all of them or none.

    The type of ownership, its expiry and its readers do not change. Raises MemctlError for a section that nobody owns
    or whose ownership has expired, and for a section that another agent owns. With `force` sections of other agents are
    given, too; then a `reason` must be given, or MemctlError is raised.
    """
    name, reason = agent_name(to), _reason(reason)
    refuse_no_reason(force, reason)
    owned = dict(state.section_ownership_map)
    holders = []
    for section in map(section_id, sections):
        held = _own(state, section, agent, now, force)
        if not held.is_live(now):  # the end stays as it is, so the other would have nothing
            raise MemctlError(_over(held), f"acquire {section} first: `memctl team own acquire {section}`")
        holders.append(held.owner_agent_id)
        if held.owner_agent_id != name:
            owned[section] = held.passed(name, now, reason or held.lock_reason)
    state = agents.only_working(state, [section_id(section) for section in sections], name)
    title = f"{', '.join(sections)} to {name}{_by_force(holders, agent)}"
    return Step(state.with_(section_ownership_map=owned), "transfer", title)


def renumber(state: State, moved: Sequence[tuple[Ownership, str]]) -> Step:
    """Return the step that moves ownerships to the new markers of sections that were renumbered.

    `moved` are pairs of an ownership as the caller has read it, and the new marker of its section. If the ownership has
    changed since the caller read it, it stays at its old marker.
    """
    owned = dict(state.section_ownership_map)
    for held, marker in moved:
        if owned.get(held.section_id) == held and marker not in owned:
            owned[marker] = msgspec.structs.replace(owned.pop(held.section_id), section_id=marker)
    title = ", ".join(f"{held.section_id} -> {marker}" for held, marker in moved)
    return Step(state.with_(section_ownership_map=owned), "renumber", title)


def not_available(held: Ownership) -> MemctlError:
    """Return the error for an agent that wants a section which another agent owns by the ownership `held`."""
    way = f"ask {held.owner_agent_id} to release {held.section_id}, or take it over with `--force --reason WHY`"
    return MemctlError(held.description, way)


def section_id(text: str) -> str:
    """Return the marker "§2.1" for a section given as "2.1" or "§2.1"; raises MemctlError if it can't be owned."""
    marker = "§" + text.strip().removeprefix("§")
    if SECTION.fullmatch(marker) is None:
        hint = "give a marker such as §1.0, §2.1 or §3.2; whoever owns a section owns the files that it covers"
        raise MemctlError(f"{text!r} is not a section", hint, USAGE)
    return marker


def _reason(text: str) -> str:
    """Return a reason on one line; raises MemctlError if it is longer than 500 characters."""
    line = printable_line(text)
    if len(line) > _REASON:
        hint = f"give a reason of at most {_REASON} characters"
        raise MemctlError(f"the reason has {len(line):,} characters", hint, USAGE)
    return line


def refuse_no_reason(force: bool, reason: str) -> None:
    """Raise MemctlError if `force`, which takes a section from its owner, is given without a reason to record."""
    if force and not is_meaningful(reason):
        raise MemctlError("--force needs --reason WHY: memctl records the reason", exit_code=USAGE)


def _new_ownership(claim: Claim, section: str, name: str, last: Ownership | None, held: Ownership | None) -> Ownership:
    """Return the ownership that a claim makes of a section.

    An ownership that the agent has already keeps its beginning and former owner, and whatever the claim does not give.
    """
    own = held if held and held.owner_agent_id == name else None
    former = own.previous_owner if own else last.owner_agent_id if last else None
    readers = claim.readers if claim.readers is not None or own is None else own.agents_with_read_access
    values = {
        "section_id": section,
        "owner_agent_id": name,
        "ownership_type": claim.ownership_type or (own.ownership_type if own else EXCLUSIVE),
        "acquired_at": own.acquired_at if own else claim.now,
        "expires_at": claim.expires_at or (own.expires_at if own else None),
        "previous_owner": former,
        "lock_reason": claim.reason if claim.reason is not None else own.lock_reason if own else "",
        "agents_with_read_access": readers,
    }
    return msgspec.convert(values, Ownership)


def _by_force(holders: Sequence[str], agent: str) -> str:
    """Return ", from bob by force" with the former owners of sections, for a step's title; "" if they were all the
    agent's."""
    others = ", ".join(dict.fromkeys(holder for holder in holders if holder != agent))
    return f", from {others} by force" if others else ""


def _own(state: State, section: str, agent: str, now: str, force: bool) -> Ownership:
    held = state.section_ownership_map.get(section)
    if held is None:
        raise MemctlError(f"no agent owns {section}", "`memctl team own list` lists the sections that agents own")
    if held.owner_agent_id != agent and not force:
        raise not_available(held) if held.is_live(now) else MemctlError(_over(held))
    return held


def _over(held: Ownership) -> str:
    return f"the ownership of {held.section_id} has ended: {held.description}"
