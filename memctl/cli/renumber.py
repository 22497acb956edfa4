"""The command `memctl renumber`: give one of two records or pages with the same id another id."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command
from memctl.pages.links import FOLDER
from memctl.store.memory import Memory
from memctl.team import ref_state
from memctl.team.state import SECTION, State
from memctl.text.phrases import quantity, some
from memctl.write import renumber
from memctl.write.commit import Outcome


@command(
    "renumber",
    (
        "memctl renumber --dry-run",
        "Show which records and pages would get a new id, and which references would change.",
    ),
    ("memctl renumber", "Give new ids to the records and pages that `check` reports after a merge (MEM104, MEM302)."),
    ("memctl renumber --json", "Renumber, and print the new ids and the unclear references as JSON."),
)
@write_command.writing
def renumber_command(ctx: click.Context, /, **flags: Any) -> None:
    """Renumber one of two records or pages with the same id, and update references.

    Two clones can give the same id to two records. A record that was pushed keeps the id; of two that were pushed, or
    were not, the one that was made first, as the memory_ids say, and of two pages the one that was committed first. In
    a memory of format 1 it does not matter what was pushed. The other record gets a new id, the same in every clone,
    and keeps the old one as an alias. A reference to the old id is changed to the new one if its writer can't have
    known the record that keeps the id; unclear references are listed and left as they are.

    During a merge by Git, the files written are staged, so that `git commit` concludes the merge with them; if one of
    them has unstaged changes, nothing is staged.
    """
    memory = memory_access.memory(ctx)
    done = renumber.carry_out(memory, write_command.write_options(flags))
    made, result, within = done.made, done.outcome, done.within
    if flags["as_json"]:
        data = write_command.change_data(memory, result, flags["dry_run"]) | {"made": made, "within": within}
        output.answer("renumbering", {**data, "settled": done.settled}, memory=memory)
        return
    if within or memory.repository.under_way():
        result = msgspec.structs.replace(result, pending="", hint="")  # `_to_conclude` gives better hints
    write_command.outcome(
        memory, result, flags, (f"{holder.name} -> {holder.now}  {holder.title}" for holder in made.renamed)
    )
    for reference in made.unclear:
        place = f"{output.name(memory.tracked(reference.path))}:{reference.line}"
        output.note(
            f"unclear reference in {place}: {reference.name} was left as it is, and now means {reference.taken_for!r};"
            " if the text means what was renumbered, write the new id there"
        )
    for path, lost in made.lost:
        output.note(
            f"note: {output.name(memory.tracked(path))}: in the field {lost.key}, {lost.lost!r} was replaced"
            f" by {lost.kept!r}"
        )
    output.note(*_owner_hints(memory, made), *done.settled)
    for path, identifier in made.returned:
        name = output.name(memory.tracked(path))
        output.note(
            f"the file {name} has the old id of {identifier}: copy what is new in the file to {identifier},"
            " then delete the file"
        )
    if not flags["dry_run"]:
        output.note(*_to_conclude(memory, result, within))


def _owner_hints(memory: Memory, made: renumber.Renumbering) -> Iterator[str]:
    """Only the owner of a number that two sections had knows which one was meant."""
    pages = [holder for holder in made.renamed if holder.record is None and SECTION.fullmatch(holder.name)]
    state = ref_state.read(memory).state if pages else State()
    for holder in pages:
        if held := state.live(holder.name, memory.now):
            moved = f"{holder.now} {holder.title!r}"
            commands = f"`memctl team own release {holder.name[1:]}` and `memctl team own acquire {holder.now[1:]}`"
            yield f"hint: {held.description}; if the owner meant {moved}, {held.owner_agent_id} should run {commands}"


def _to_conclude(memory: Memory, result: Outcome, within: renumber.StagedMerge | None) -> Iterator[str]:
    stage = f"`git add --all -- {shlex.quote(memory.prefix)}`"
    if within is None:
        if not result.change.is_empty and (operation := memory.repository.under_way()):
            yield f"commit pending: {operation} is under way, and nothing was staged"
            yield f"hint: {stage}, then continue the {operation[2:]}"
    elif within.why:
        yield f"nothing was staged: {within.why}"
        yield f"hint: to include the renumbered files in the merge, {stage}, then `git commit --no-edit`"
    else:
        yield f"staged for the merge: {quantity(len(within.staged), 'renumbered file')} of {memory.prefix}"
        if within.warning:
            yield f"warning: {within.warning}"
        if within.conflicts:
            rendered = [path for path in within.conflicts if path.startswith(f"{memory.tracked(FOLDER)}/")]
            others = len(rendered) < len(within.conflicts)
            yield f"files with conflicts: {output.name(some(within.conflicts, 1))}"
            yield (
                "hint: "
                + ("resolve the conflicts, `git add` the files, then " if others else "")
                + (f"`memctl page render`, {stage}, " if rendered else "")
                + "`git commit --no-edit`"
            )
        else:
            yield "hint: `git commit --no-edit` finishes the merge"
