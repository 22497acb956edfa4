"""Keeping agents out of each other's sections: which files of the memory belong to one, and who may write them.

Only the owner of a section modifies it (rules.md#ownership-and-access). A section's page, its pages of details and the
records placed in it belong to it, and so does the code that its globs cover, which `check` looks at. Level 1 is owned
like a section. Of an owned
section and owned details in it, the details' own ownership decides about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.change import Change
from memctl.record.record import Record
from memctl.record.required_text import is_meaningful
from memctl.store.memory import Memory
from memctl.team.coordination_ref import ref

if TYPE_CHECKING:
    from memctl.team.state import Ownership, State

_SHOWN = 5  # refused files that a message names


class Denied(msgspec.Struct, frozen=True):
    """A file of the memory that an agent may not write (`path` below `.memory/`), and the ownership that says so."""

    path: str
    ownership: Ownership


def permitted(memory: Memory, change: Change, allow_owned: bool) -> Change:
    """Return a change that its actor may make; raises MemctlError if it writes to a section that is another's.

    With `allow_owned` it may, for a reason that goes into the commit together with whose the section is.
    """
    found = denied(memory, change)
    if not found:
        return change
    if not allow_owned:
        lines = [f"{memory.tracked(item.path)}: {item.ownership.told}" for item in found[:_SHOWN]]
        lines += [f"and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
        over = f"{'ask the user to ' if memory.by_agent else ''}write with --allow-owned --reason WHY"
        raise MemctlError("\n".join(lines), f"{_ask(memory, found[0])}, or {over}")
    if not is_meaningful(change.reason):
        raise MemctlError("--allow-owned needs --reason, which is recorded", exit_code=USAGE)
    over = ", ".join(dict.fromkeys(f"{item.ownership.section_id} of {item.ownership.owner_agent_id}" for item in found))
    return msgspec.structs.replace(change, reason=f"{change.reason} (written to {over})")


def refuse(memory: Memory, change: Change) -> None:
    """Raise MemctlError if files that were changed by hand lie in a section that is another's."""
    if found := denied(memory, change):
        own = f"take it with `memctl own acquire {found[0].ownership.section_id} --force --reason WHY`"
        raise MemctlError(found[0].ownership.told, f"{_ask(memory, found[0])}, or {own}")


def denied(memory: Memory, change: Change) -> list[Denied]:
    """Return the files of a change that who is at work may not write; what they were and what they become
    both count."""
    state, agent, now = _state(memory), memory.actor, memory.now
    if state is None or not forbidding(state, agent, now):
        return []
    from memctl.store.file_sections import parent_on_disk, sections

    texts = [(write.path, text) for write in change.writes for text in (write.old, write.text) if text is not None]
    texts += [(delete.path, delete.old) for delete in change.deletes]
    found: dict[str, Denied] = {}
    for path, text in texts:
        held = holding(state, sections(path, text, lambda marker: parent_on_disk(memory, marker)), now)
        if held and not held.lets_write(agent):
            found.setdefault(path, Denied(path, held))
    return list(found.values())


def forbidden(memory: Memory, records: Iterable[Record]) -> dict[str, str]:
    """Return the records that who is at work may not write, by path, each with the ownership that says so in words."""
    state, agent, now = _state(memory), memory.actor, memory.now
    if state is None or not forbidding(state, agent, now):
        return {}
    from memctl.store.file_sections import enclosing, parent_on_disk

    parent = cache(lambda marker: parent_on_disk(memory, marker))  # of thousands of records, a few markers
    found = {}
    for record in records:
        held = holding(state, enclosing(record.section or "", parent), now)
        if held and not held.lets_write(agent):
            found[record.path] = held.told
    return found


def _state(memory: Memory) -> State | None:
    """Return the state that agents share; None if there is none, and so nobody owns a section."""
    commit = memory.repository.tip(ref(memory))
    if not commit:
        return None
    from memctl.team import ref_state  # most memories have one agent

    return ref_state.at(memory, commit).state


def forbidding(state: State, agent: str, now: str) -> list[Ownership]:
    """Return the ownerships that keep an agent from writing."""
    return [held for held in state.section_ownership_map.values() if held.is_live(now) and not held.lets_write(agent)]


def holding(state: State, markers: tuple[str, ...], now: str) -> Ownership | None:
    """Return the ownership that decides about something in sections, the innermost first; None if nobody owns it."""
    return next((held for marker in markers if (held := state.live(marker, now))), None)


def _ask(memory: Memory, item: Denied) -> str:
    if item.ownership.owner_agent_id == memory.actor:  # of what is read-only
        return f"take it for yourself with `memctl own acquire {item.ownership.section_id} --type exclusive`"
    return f"ask {item.ownership.owner_agent_id} to release {item.ownership.section_id}"
