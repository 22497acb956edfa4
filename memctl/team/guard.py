"""Decide which files of the memory an agent may write, by who owns their sections.

Only the owner of a section may change it (rules.md#ownership-and-access). To a section belong its page, its pages of
details, and the records that name it or one of these. The code that its globs cover belongs to it, too, but changes of
code are judged by `memctl check`. Level 1 (`project.md`) is owned like a section. If a section and one of its pages of
details have different owners, the owner of the details decides about the details.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.change import Change
from memctl.record.required_text import is_meaningful
from memctl.store.memory import Memory
from memctl.team.coordination_ref import ref
from memctl.text.phrases import some

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.team.state import Ownership, State

_SHOWN = 5  # refused files that a message names


class DeniedFile(msgspec.Struct, frozen=True):
    """A file that the agent at work may not write, and the ownership that forbids it; `path` is below `.memory/`."""

    path: str
    ownership: Ownership


def permit(memory: Memory, change: Change, allow_owned: bool) -> Change:
    """Return a change if its actor may make it; raises MemctlError if it writes to another agent's section.

    With `allow_owned` the actor may write to the sections of other agents, but must give a reason in the change. The
    names of these sections and of their owners are added to the reason in the returned change.
    """
    denied = denied_files(memory, change)
    if not denied:
        return change
    if not allow_owned:
        lines = [f"{memory.tracked(item.path)}: {item.ownership.description}" for item in denied]
        over = f"{'ask the user to ' if memory.by_agent else ''}write with --allow-owned --reason WHY"
        raise MemctlError(some(lines, _SHOWN, "\n", "\nand "), f"{_ask(memory, denied[0])}, or {over}")
    if not is_meaningful(change.reason):
        raise MemctlError("--allow-owned needs --reason WHY: memctl records the reason", exit_code=USAGE)
    owned = dict.fromkeys(f"{item.ownership.section_id} of {item.ownership.owner_agent_id}" for item in denied)
    return msgspec.structs.replace(change, reason=f"{change.reason} (written to {', '.join(owned)})")


def refuse_manual_edits(memory: Memory, change: Change) -> None:
    """Raise MemctlError if a change of files that were edited by hand touches a section that another agent owns."""
    if denied := denied_files(memory, change):
        section = denied[0].ownership.section_id
        own = f"take the section over with `memctl team own acquire {section} --force --reason WHY`"
        raise MemctlError(denied[0].ownership.description, f"{_ask(memory, denied[0])}, or {own}")


def denied_files(memory: Memory, change: Change) -> list[DeniedFile]:
    """Return the files of a change that the agent at work may not write because of who owns their section.

    A file whose section changes is checked for both, the section before and the section after the change.
    """
    if (state := _restricting(memory)) is None:
        return []
    from memctl.store import load
    from memctl.store.file_sections import sections

    outline = load.disk(memory).outline
    texts = [(write.path, text) for write in change.writes for text in (write.old, write.text) if text is not None]
    texts += [(delete.path, delete.old) for delete in change.deletes]
    denied: dict[str, DeniedFile] = {}
    for path, text in texts:
        for markers in sections(path, text, outline):
            if held := state.forbidding(markers, memory.actor, memory.now):
                denied.setdefault(path, DeniedFile(path, held))
    return list(denied.values())


def forbidden_records(memory: Memory, snapshot: Snapshot) -> dict[str, str]:
    """Return the records that the agent at work may not write: record's path -> ownership of its section, in words."""
    if (state := _restricting(memory)) is None:
        return {}
    enclosing = snapshot.outline.enclosing
    return {
        record.path: held.description
        for record in snapshot.records
        if record.section and (held := state.forbidding(enclosing(record.section), memory.actor, memory.now))
    }


def _restricting(memory: Memory) -> State | None:
    """Return the coordination state if an ownership in it keeps the agent at work from writing, else None."""
    commit = memory.repository.tip(ref(memory))
    if not commit:
        return None
    from memctl.team import ref_state  # most memories have one agent

    state = ref_state.at(memory, commit).state
    return state if state.restricts(memory.actor, memory.now) else None


def _ask(memory: Memory, item: DeniedFile) -> str:
    if item.ownership.owner_agent_id == memory.actor:  # of what is read-only
        own = f"`memctl team own acquire {item.ownership.section_id} --type exclusive`"
        return f"make the section writable for yourself with {own}"
    return f"ask {item.ownership.owner_agent_id} to release {item.ownership.section_id}"
