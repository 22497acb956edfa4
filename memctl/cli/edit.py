"""The commands that change existing records: `edit`, `link`, `resolve`, `archive`, `delete`, `restore` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memctl.cli import memory_access, output, record_options, write_command
from memctl.cli.command import command, complete, complete_id
from memctl.cli.text_input import keep_if_refused, name_of, open_editor, read
from memctl.cli.write_command import discard_option, not_empty, strict_option, take_flags, writing
from memctl.errors import USAGE, MemctlError
from memctl.record.change import Change
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.write import edit, links, remove

_allow_accepted = click.option(
    "--allow-accepted", is_flag=True, help="Allow changing the text of an accepted decision."
)


@command(
    "edit",
    ("memctl edit ISS-2025-11-04-001 --severity high --tag auth", "Change fields of an issue."),
    ('memctl edit STA-2025-11-04-002 --completion 80 --done "DELETE works"', "Update the progress of a state."),
    (
        'memctl edit STA-2025-11-04-002 --set next="Tests" --remove tags=auth',
        "Replace one list, and remove a tag from another.",
    ),
    ("memctl edit DEC-2025-11-04-003", "Edit the record in your editor."),
)
@click.argument("id", shell_complete=complete_id)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="FIELD=VALUE",
    shell_complete=complete("field"),
    help="Set a field; an empty value clears it. Repeatable.",
)
@click.option(
    "--add",
    "additions",
    multiple=True,
    metavar="FIELD=VALUE",
    shell_complete=complete("field"),
    help="Add to a list. Repeatable.",
)
@click.option(
    "--remove",
    "removals",
    multiple=True,
    metavar="FIELD=VALUE",
    shell_complete=complete("field"),
    help="Remove from a list. Repeatable.",
)
@click.option(
    "--file", "-f", "source", metavar="FILE", help="Read the whole record, as `show` prints it (- for standard input)."
)
@_allow_accepted
@strict_option
@writing
@click.pass_context
def edit_command(
    ctx: click.Context,
    /,
    id: str,
    assignments: tuple[str, ...],
    additions: tuple[str, ...],
    removals: tuple[str, ...],
    source: str | None,
    allow_accepted: bool,
    **given: Any,
) -> None:
    """Change fields of a record, or edit its text in your editor.

    Fields have the same options as in the command that made the record. A list option (--tag, --code, steps) adds to
    the list; for any other field, an empty text clears it. --set, --add and --remove take every field by its name in
    `show --json`. Everything else stays exactly as it is.
    """
    flags = take_flags(given)
    memory = memory_access.memory(ctx)
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if assignments or additions or removals or named:
        if source:
            raise MemctlError("--file can't be combined with options that set fields", exit_code=USAGE)

        setting, adding, removing = _pairs(assignments), _pairs(additions), _pairs(removals)

        def edited(snapshot: Snapshot) -> Change:
            to_set, to_add = record_options.edits(snapshot.resolve(id).kind, named)
            edits = edit.Edits([*to_set, *setting], [*to_add, *adding], removing)
            return edit.edit(snapshot, id, edits, memory.now, allow_accepted=allow_accepted)

        _carry_out(memory, edited, flags, id)
        return
    before = load.disk(memory)
    record = before.resolve(id)
    old = before.read(record.path)
    text = read(source) if source else open_editor(old)
    if source and not text.startswith("---"):
        hint = f"it must begin with front matter, as in `memctl show {record.id}`; use options to change single fields"
        raise MemctlError(f"{name_of(source)} is not a complete record", hint, USAGE)

    def change(snapshot: Snapshot) -> Change:
        if snapshot.read(record.path) != old:
            raise MemctlError(f"{record.id} was changed while you edited it", "edit it again")
        return edit.edit_text(snapshot, record, text, allow_accepted=allow_accepted)

    with keep_if_refused(memory, "" if source else text):
        _carry_out(memory, change, flags, id)


edit_command.params[4:4] = record_options.of_any_type()


class _Relation(click.Choice[str]):
    """A choice among fields of links, which may be written as options are: `blocked-by` for `blocked_by`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("-", "_"), param, ctx)


@command(
    "link",
    ("memctl link ISS-2025-11-04-001 DEC-2025-11-04-003", "Relate two records."),
    ("memctl link ISS-2025-11-04-001 STA-2025-11-04-002 --as blocks", "Record that the first one blocks the second."),
    ("memctl link ISS-2025-11-04-001 DEC-2025-11-04-003 --remove", "Remove the link."),
)
@click.argument("source", shell_complete=complete_id)
@click.argument("target", shell_complete=complete_id)
@click.option(
    "--as", "relation", type=_Relation(["relates_to", "blocks", "blocked_by", "parent"]), default="relates_to",
    show_default=True, help="The relation of the first record to the second (parent: the second is the parent).",
)  # fmt: skip
@click.option("--remove", is_flag=True, help="Remove the link.")
@writing
@click.pass_context
def link_command(ctx: click.Context, /, source: str, target: str, relation: str, remove: bool, **flags: Any) -> None:
    """Link two records, at both ends, in one commit."""
    _carry_out(
        memory_access.memory(ctx),
        lambda snapshot: links.link(snapshot, source, target, relation, remove=remove),
        flags,
        source,
        target,
    )


@command(
    "supersede",
    ("memctl supersede DEC-2025-11-04-003 DEC-2025-12-01-001", "Replace the first record with the second."),
)
@click.argument("old", shell_complete=complete_id)
@click.argument("new", shell_complete=complete_id)
@writing
@click.pass_context
def supersede_command(ctx: click.Context, /, old: str, new: str, **flags: Any) -> None:
    """Replace one record with another of its type: both ends change in one commit."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: links.supersede(snapshot, old, new), flags, old, new)


@command(
    "resolve",
    ('memctl resolve ISS-2025-11-04-001 --resolution "Queue with backpressure"', "Resolve an issue, and record how."),
    ("memctl resolve STA-2025-11-04-002", "Finish a task."),
)
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@click.option("--resolution", default="", callback=not_empty, help="What resolved it; becomes a section of the issue.")
@writing
@click.pass_context
def resolve_command(ctx: click.Context, /, ids: tuple[str, ...], resolution: str, **flags: Any) -> None:
    """Resolve issues, or finish states."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.close(snapshot, ids, resolution), flags, *ids)


@command("reopen", ('memctl reopen ISS-2025-11-04-001 --reason "Came back under load"', "Open an issue again."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
@click.pass_context
def reopen_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Open resolved issues or finished states again."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.reopen(snapshot, ids), flags, *ids)


@command("archive", ('memctl archive LRN-2025-11-04-001 --reason "No longer true"', "Archive a record."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
@click.pass_context
def archive_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Archive records. They keep their files; `list --archived` shows them."""
    memory = memory_access.memory(ctx)
    _carry_out(memory, lambda snapshot: edit.archive(snapshot, ids, memory.now), flags, *ids)


@command("unarchive", ("memctl unarchive LRN-2025-11-04-001", "Take a record out of the archive."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
@click.pass_context
def unarchive_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Take records out of the archive."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.unarchive(snapshot, ids), flags, *ids)


@command(
    "delete",
    ('memctl delete LRN-2025-11-04-001 --reason "Recorded twice"', "Delete a record."),
    ("memctl delete ISS-2025-11-04-001 --unlink", "Delete a record, and the links of others to it."),
)
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@click.option("--unlink", is_flag=True, help="Remove other records' links to it, in the same commit.")
@discard_option
@writing
@click.pass_context
def delete_command(ctx: click.Context, /, ids: tuple[str, ...], unlink: bool, **flags: Any) -> None:
    """Delete records; Git keeps them. `memctl restore ID` restores them."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: remove.delete(snapshot, ids, unlink=unlink), flags, *ids)


@command(
    "restore",
    ("memctl restore LRN-2025-11-04-001", "Restore a deleted record."),
    ("memctl restore DEC-2025-11-04-003 --at HEAD~3", "Restore the version of three commits ago."),
    ("memctl restore main-w1-v3-570863", "Restore a deleted checkpoint; `memctl checkpoint list --all` lists them."),
)
@click.argument("id", shell_complete=complete_id)
@click.option("--at", metavar="REV", help="The commit, branch or tag with the version to restore.")
@discard_option
@writing
@click.pass_context
def restore_command(ctx: click.Context, /, id: str, at: str | None, **flags: Any) -> None:
    """Restore a deleted record or checkpoint, or an earlier version of a record."""
    memory = memory_access.memory(ctx)
    _carry_out(memory, lambda snapshot: remove.restore(memory, snapshot, id, at), flags)


def _carry_out(memory: Memory, change: Callable[[Snapshot], Change], flags: dict[str, Any], *named: str) -> None:
    def plan(_: Sequence) -> Change:
        snapshot = load.disk(memory)
        made = change(snapshot)
        output.namesakes(snapshot, named)
        return made

    write_command.carry_out(memory, plan, flags)


def _pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = []
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise MemctlError(f"{item!r} is not of the form FIELD=VALUE", exit_code=USAGE)
        pairs.append((name.strip(), value))
    return pairs
