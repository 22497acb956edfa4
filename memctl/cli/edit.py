"""The commands that change existing records: `edit`, `link`, `resolve`, `archive`, `delete`, `restore` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from memctl.cli import memory_access, output, record_options, write_command
from memctl.cli.command import command, complete, complete_id, flag_option, text_options
from memctl.cli.text_input import keep_if_refused, name_of, open_editor, read
from memctl.cli.write_command import discard_option, not_empty, strict_option, take_flags, writing
from memctl.errors import USAGE, MemctlError
from memctl.record.change import Change
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.write import edit, links, remove

_allow_accepted = flag_option("--allow-accepted", help="Allow a change of the text of an accepted decision.")


@command(
    "edit",
    ("memctl edit ISS-2025-11-04-001 --severity high --tag auth", "Raise the severity of an issue, and add a tag."),
    ('memctl edit STA-2025-11-04-002 --completion 80 --done "DELETE works"', "Update the progress of a state."),
    (
        'memctl edit STA-2025-11-04-002 --set next="Tests" --remove tags=auth',
        "Replace the list of next steps, and remove a tag.",
    ),
    ("memctl edit DEC-2025-11-04-003", "Edit the text of a record in your editor."),
)
@click.argument("id", shell_complete=complete_id)
@text_options(
    ("--set", "assignments", "Set a field to a value; an empty value clears the field. Repeatable."),
    ("--add", "additions", "Add a value to a field that is a list. Repeatable."),
    ("--remove", "removals", "Remove a value from a field that is a list. Repeatable."),
    metavar="FIELD=VALUE",
    shell_complete=complete("field"),
)
@click.option(
    "--file",
    "-f",
    "source",
    metavar="FILE",
    help="Replace the whole record with this file, in the form that `memctl show` prints (- for standard input).",
)
@_allow_accepted
@strict_option
@writing
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

    The options for fields are those of the command that creates the record. An option for a list (such as --tag, --code
    or --done) adds to the list; any other option sets its field, and an empty text clears the field. --set, --add and
    --remove take the name of any field that `memctl show ID --json` prints. Everything else stays exactly as it is.
    """
    flags = take_flags(given)
    memory = memory_access.memory(ctx)
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if assignments or additions or removals or named:
        if source:
            raise MemctlError(
                "--file replaces the whole record, so it can't be combined with options that change single fields",
                exit_code=USAGE,
            )

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
        hint = f"begin the file with front matter, as in `memctl show {record.id}`, or change single fields by options"
        raise MemctlError(f"{name_of(source)} is not a complete record", hint, USAGE)

    def change(snapshot: Snapshot) -> Change:
        if snapshot.read(record.path) != old:
            raise MemctlError(
                f"the file of {record.id} was changed while you edited its text",
                f"run `memctl edit {record.id}` again, and edit the present text",
            )
        return edit.edit_text(snapshot, record, text, allow_accepted=allow_accepted)

    with keep_if_refused(memory, "" if source else text):
        _carry_out(memory, change, flags, id)


edit_command.params[4:4] = record_options.of_any_type()


class _Relation(click.Choice[str]):
    """The type of `--as`: a field of links, also spelled with a hyphen, such as `blocked-by` for `blocked_by`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(str(value).replace("-", "_"), param, ctx)


@command(
    "link",
    ("memctl link ISS-2025-11-04-001 DEC-2025-11-04-003", "Relate two records."),
    ("memctl link ISS-2025-11-04-001 STA-2025-11-04-002 --as blocks", "Record that the issue blocks the state."),
    ("memctl link ISS-2025-11-04-001 DEC-2025-11-04-003 --remove", "Remove the link between two records."),
)
@click.argument("source", shell_complete=complete_id)
@click.argument("target", shell_complete=complete_id)
@click.option(
    "--as", "relation", type=_Relation(["relates_to", "blocks", "blocked_by", "parent"]), default="relates_to",
    show_default=True, help="How the first record relates to the second; `parent`: the second is the parent.",
)  # fmt: skip
@flag_option("--remove", help="Remove the link between the two records instead of adding it.")
@writing
def link_command(ctx: click.Context, /, source: str, target: str, relation: str, remove: bool, **flags: Any) -> None:
    """Link two records with each other: both files get the link, in one commit."""
    _carry_out(
        memory_access.memory(ctx),
        lambda snapshot: links.link(snapshot, source, target, relation, remove=remove),
        flags,
        source,
        target,
    )


@command(
    "supersede",
    ("memctl supersede DEC-2025-11-04-003 DEC-2025-12-01-001", "Mark the first decision as superseded by the second."),
)
@click.argument("old", shell_complete=complete_id)
@click.argument("new", shell_complete=complete_id)
@writing
def supersede_command(ctx: click.Context, /, old: str, new: str, **flags: Any) -> None:
    """Mark one record as superseded by another of its type, in both records and in one commit."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: links.supersede(snapshot, old, new), flags, old, new)


@command(
    "merge",
    ("memctl merge ISS-2025-11-04-001 ISS-2025-11-05-002", "Make one issue of two that say the same."),
    ("memctl merge DEC-2025-11-04-003 DEC-2025-12-01-001 -n", "Show what would be written."),
)
@click.argument("kept", shell_complete=complete_id)
@click.argument("other", shell_complete=complete_id)
@writing
def merge_command(ctx: click.Context, /, kept: str, other: str, **flags: Any) -> None:
    """Make one record of two that say the same.

    Both are of one type. KEPT gets the text of OTHER below its own, and OTHER's tags, code references, links and
    children. OTHER keeps its text and becomes superseded by KEPT, or a resolved duplicate of it if it is an issue.
    """
    _carry_out(memory_access.memory(ctx), lambda snapshot: links.merge(snapshot, kept, other), flags, kept, other)


@command(
    "resolve",
    (
        'memctl resolve ISS-2025-11-04-001 --resolution "Queue with backpressure"',
        "Resolve an issue, and record how it was resolved.",
    ),
    ("memctl resolve STA-2025-11-04-002", "Mark the state of a task as done."),
)
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@click.option(
    "--resolution",
    default="",
    callback=not_empty,
    help="What resolved the issue; added to the record's text under the heading Resolution.",
)
@writing
def resolve_command(ctx: click.Context, /, ids: tuple[str, ...], resolution: str, **flags: Any) -> None:
    """Resolve issues, or finish states."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.close(snapshot, ids, resolution), flags, *ids)


@command("reopen", ('memctl reopen ISS-2025-11-04-001 --reason "Came back under load"', "Open a resolved issue again."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
def reopen_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Open resolved issues or finished states again."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.reopen(snapshot, ids), flags, *ids)


@command("archive", ('memctl archive LRN-2025-11-04-001 --reason "No longer true"', "Archive a record."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
def archive_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Archive records. Their files stay; `memctl list --archived` lists archived records."""
    memory = memory_access.memory(ctx)
    _carry_out(memory, lambda snapshot: edit.archive(snapshot, ids, memory.now), flags, *ids)


@command("unarchive", ("memctl unarchive LRN-2025-11-04-001", "Take a record out of the archive."))
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@writing
def unarchive_command(ctx: click.Context, /, ids: tuple[str, ...], **flags: Any) -> None:
    """Take records out of the archive."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: edit.unarchive(snapshot, ids), flags, *ids)


@command(
    "delete",
    ('memctl delete LRN-2025-11-04-001 --reason "Recorded twice"', "Delete a record."),
    ("memctl delete ISS-2025-11-04-001 --unlink", "Delete a record, and the links of other records to it."),
)
@click.argument("ids", nargs=-1, required=True, shell_complete=complete_id)
@flag_option("--unlink", help="Also remove the links of other records to the deleted ones.")
@discard_option
@writing
def delete_command(ctx: click.Context, /, ids: tuple[str, ...], unlink: bool, **flags: Any) -> None:
    """Delete records. Git keeps their text: `memctl restore ID` restores a record."""
    _carry_out(memory_access.memory(ctx), lambda snapshot: remove.delete(snapshot, ids, unlink=unlink), flags, *ids)


@command(
    "restore",
    ("memctl restore LRN-2025-11-04-001", "Restore a deleted record."),
    ("memctl restore DEC-2025-11-04-003 --at HEAD~3", "Restore a record as it was three commits ago."),
    ("memctl restore main-w1-v3-570863", "Restore a deleted checkpoint; `memctl checkpoint list --all` lists them."),
)
@click.argument("id", shell_complete=complete_id)
@click.option("--at", metavar="REV", help="The commit, branch or tag that has the version to restore.")
@discard_option
@writing
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


def _pairs(assignments: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = []
    for item in assignments:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise MemctlError(
                f"--set, --add and --remove take FIELD=VALUE, not {item!r}", "`memctl edit ID --set title=TITLE`", USAGE
            )
        pairs.append((name.strip(), value))
    return pairs
