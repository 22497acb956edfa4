"""The commands `memctl import` and `export`: records as JSON Lines, as files of decisions (ADRs), from other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import memory_access, output, progress, terminal, write_command
from memctl.cli.command import command, filtering, flag_option, reading
from memctl.cli.text_input import name_of, read
from memctl.errors import REFUSED, USAGE, MemctlError
from memctl.exchange import jsonl
from memctl.record.filters import select
from memctl.store import load, output_file
from memctl.text.phrases import quantity, some
from memctl.write import transaction

if TYPE_CHECKING:
    from memctl.exchange.adr_folder import AdrImport
    from memctl.exchange.adr_text import Form
    from memctl.exchange.row_import import ImportResult, ImportTarget
    from memctl.record.change import Change
    from memctl.record.record import Record
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory
    from memctl.store.sequence import Sequence as IdSequence

_FORMATS = ("adr", "jsonl")
_MANY = 500  # records of an import after which the search index is made at once; 10,000 take 3 s of CPU
_TRACKERS = ("beads", "backlog")  # formats of `import` alone
_SHOWN = 10  # names to print on one line
_INDEX = re.compile("readme|index|toc|summary|contributing", re.IGNORECASE)  # names of files about the others
_NOTED = 20  # notes to print, of possibly thousands


@command(
    "import",
    ("memctl import records.jsonl", "Import all records of a file, in one commit."),
    ("other-tool --json | memctl import - -n", "Read records from standard input, and print what would be imported."),
    ("memctl import decisions.md", "Import what a Markdown file states under labels such as `## DECISION: …`."),
    ("memctl import adr docs/adr", "Import the architecture decision records (ADRs) of a folder as decisions."),
    ("memctl import beads .beads/issues.jsonl", "Import the issues of the tool beads, with their ids and links."),
    ("memctl import backlog backlog/tasks", "Import the tasks of the tool Backlog.md."),
)
@click.argument("first", metavar="FILE|adr|beads|backlog")
@click.argument("second", metavar="[PLACE]", required=False)
@flag_option("--strict", help="Import nothing if any item or link can't be imported.")
@write_command.writing
def import_command(ctx: click.Context, /, first: str, second: str | None, strict: bool, **flags: Any) -> None:
    """Import records from a file or another tool, in one commit; what was imported before is skipped.

    A line of JSON needs `memory_type` and `title`; everything else that an export has is optional. The `id` of another
    tool is kept as `source_id`: `show` and `search` find the record by it, and links and `parent` may use it.

    Items that can't be read, and links to what is not imported, are left out and listed; with --strict, one of them is
    enough to import nothing.

    In Markdown, text under a label becomes a record: `## DECISION: …`, `BUG-12 [CRITICAL]: …`, `TASK: …`, `Lesson: …`.
    What has no label is not imported, and is listed.

    `adr` turns each file such as 0001-title.md or adr-001-title.md into a decision, in MADR's or Nygard's form, as well
    as files of other names that state a status or have at least two headings of these forms. `memctl export adr` writes
    the files back, unchanged if their decisions are. Decisions that supersede each other are linked. A file that was
    imported before is skipped, even if it has changed since; templates are skipped, too.

    `beads` imports the file issues.jsonl of the tool beads, `backlog` the folder of Backlog.md: each issue or task
    becomes an issue with its id, links, severity, labels and dates.
    """
    format_, source = _format_and_place("import", first, second, (*_FORMATS, *_TRACKERS))
    if source is None:
        raise MemctlError(
            "the argument that names the file or folder to import is missing",
            "use `memctl import FILE`, or `memctl import adr DIR`",
            USAGE,
        )
    memory = memory_access.memory(ctx)
    bring = _importer(format_, source)
    results: list[ImportResult] = []

    def plan(sequence: IdSequence) -> Change:
        from memctl.exchange.row_import import ImportTarget

        options = {"is_strict": strict, "allow_secret": flags["allow_secret"]}
        results.append(bring(ImportTarget(memory, sequence, load.disk(memory), **options)))
        return results[-1].change

    with progress.working("importing"):
        result = transaction.carry_out(memory, plan, write_command.write_options(flags))
        near = [] if flags["dry_run"] else _near(memory, result.change)
    imported = results[-1]
    if len(imported.change.writes) >= _MANY and not flags["dry_run"]:
        with progress.working("indexing"):
            load.disk(memory).texts.titles(())  # else the first search would be slow
    files: AdrImport | None = imported if format_ == "adr" else None  # type: ignore[assignment]
    if flags["as_json"]:
        data = write_command.change_data(memory, result, flags["dry_run"])
        data |= {name: list(getattr(imported, name)) for name in ("known", "notes", "refused")}
        data["near"] = near
        if files is not None:
            data |= {"files": files.added, "changed": files.changed, "templates": files.templates}
            data["passed_over"] = [output.name(name) for name in (*files.skipped, *files.templates)]
        output.json("change", data)
        return
    lines = [f"{identifier} {file}" for file, identifier in files.added.items()] if files else ()
    write_command.outcome(memory, result, flags, lines)
    _print_notes("warning: not imported", imported.refused)
    _print_notes("note", imported.notes)
    _print_notes("note", near)
    if near:
        output.note("hint: `memctl check` lists such pairs, and what to do; `memctl merge ID ID` makes one of two")
    if files is not None:
        _print_skipped(files)
    if imported.known:
        output.note(f"skipped these items, because they were imported before: {_few(imported.known)}")


def _near(memory: Memory, change: Change) -> list[str]:
    from memctl.write import hints

    return hints.near_imported(memory, change.ids)


def _importer(format_: str, source: str) -> Callable[[ImportTarget], ImportResult]:
    if format_ == "adr":
        from memctl.exchange import adr_folder

        return lambda target: adr_folder.import_folder(target, Path(source))
    if format_ == "backlog":
        from memctl.exchange import backlog

        return lambda target: backlog.import_backlog(target, Path(source))
    if Path(source).is_dir():
        hint = f"give the format of its files: `memctl import adr {source}`, or `memctl import backlog {source}`"
        raise MemctlError(f"{source} is a folder, and its format is not given", hint, USAGE)
    text = read(source, errors="surrogateescape")  # a line that is not UTF-8 leaves the others as they are
    if format_ == "beads":
        from memctl.exchange import beads

        return lambda target: beads.import_beads(target, text)
    from memctl.exchange import markdown

    if markdown.is_markdown(source, text):
        return lambda target: markdown.import_text(target, text, name_of(source))
    return lambda target: jsonl.import_json(target, text)


def _print_notes(label: str, lines: Sequence[str]) -> None:
    output.note(*(output.plain(terminal.one_line(f"{label}: {line}")) for line in lines[:_NOTED]))
    if len(lines) > _NOTED:
        output.note(f"… and {len(lines) - _NOTED:,} more such lines: --json prints all of them")


def _print_skipped(files: AdrImport) -> None:
    if files.templates:
        output.note(f"skipped these files, because they are templates: {_few(files.templates)}")
    if files.skipped:
        output.note(f"skipped these files, because they are not decisions: {_few(files.skipped)}")
    if any(name.endswith(".md") and not _INDEX.match(name) for name in files.skipped):
        output.note(
            "hint: a file is imported if it has a name such as 0001-title.md, or states a status below its title"
        )
    if files.changed:
        names = [f"{file} ({identifier})" for file, identifier in files.changed.items()]
        output.note(f"skipped these files, because they differ from their decisions in the memory: {_few(names)}")
        output.note("hint: `memctl edit ID` changes the decision, `memctl export adr DIR --force` overwrites the file")


@command(
    "export",
    ("memctl export --all > memory.jsonl", "Export all records, including archived ones."),
    ("memctl export --type decision --at v1.0", "Export the decisions of a release."),
    ("memctl export adr docs/adr -n", "Print which architecture decision records (ADRs) would be written to a folder."),
    (
        "memctl export adr docs/adr --form nygard --section 2",
        "Write the decisions of a section as ADRs, in the form that adr-tools uses.",
    ),
)
@click.argument("first", metavar="[adr]", required=False)
@click.argument("second", metavar="[DIR]", required=False)
@filtering
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of standard output.",
)
@click.option(
    "--form",
    type=click.Choice(("madr", "nygard")),
    help="With `adr`: the form of the written files. [default: that of the imported file, else madr]",
)
@flag_option("--force", help="With `adr`: overwrite files that were edited since the import.")
@flag_option("--dry-run", "-n", help="With `adr`: show what would be written, and write nothing.")
@reading
def export_command(
    ctx: click.Context, /, first: str | None, second: str | None, as_json: bool, at: str | None, **given: Any
) -> None:
    """Print records as JSON Lines, or write decisions as ADRs, in the forms that `import` reads.

    With --json, all records are in one JSON object.

    With `adr`, a decision that was imported from a file is written back to that file, with what has changed since; each
    other decision gets a new file with the next number. A file that was edited since the import is overwritten only
    with --force.
    """
    format_, place = _format_and_place("export", first, second, _FORMATS)
    out, form, force, dry_run = (given.pop(name) for name in ("out", "form", "force", "dry_run"))
    if format_ == "adr" and place is None:
        raise MemctlError(
            "the argument DIR, which names the folder to write to, is missing",
            "`memctl export adr DIR` writes to the folder DIR",
            USAGE,
        )
    if format_ == "jsonl" and (form or force or dry_run or place):
        raise MemctlError(
            "a folder, --form, --force and --dry-run are only for `memctl export adr DIR`", exit_code=USAGE
        )
    if format_ == "adr" and out:
        raise MemctlError(
            "--out can't be combined with `adr`", "`memctl export adr DIR` writes to the folder DIR", USAGE
        )
    memory, snapshot = memory_access.read(ctx, at)
    records = select(snapshot.records, memory_access.filters(memory, snapshot, **given), "id")
    if format_ == "adr":
        how = {"force": force, "dry_run": dry_run, "as_json": as_json}
        _export_adr(memory, snapshot, records, Path(str(place)), form, how)
    else:
        _print_lines(memory, snapshot, records, out, as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


def _format_and_place(
    name: str, first: str | None, second: str | None, formats: Sequence[str]
) -> tuple[str, str | None]:
    if first in formats:
        return str(first), second
    if second is not None or (name == "export" and first is not None):
        raise MemctlError(f"there is no format {first!r}", "give one of " + ", ".join(formats), USAGE)
    return "jsonl", first


def _print_lines(memory: Memory, snapshot: Snapshot, records: list[Record], out: Path | None, *, as_json: bool) -> None:
    lines = jsonl.export_lines(snapshot, records)
    if as_json:
        rows = (msgspec.Raw(line.encode()) for line in lines)
        output.json_list("export", rows, snapshot.faults, memory, name="records")
    elif out is not None:
        output_file.write(out, "".join(line + "\n" for line in lines))
    else:
        for line in lines:
            output.json_text(line)


def _few(names: Sequence[str]) -> str:
    return output.name(terminal.one_line(some(names, _SHOWN)))


def _export_adr(
    memory: Memory, snapshot: Snapshot, records: list[Record], folder: Path, form: Form | None, how: Mapping[str, bool]
) -> None:
    """`how` has --force, --dry-run and --json by name."""
    from memctl.exchange import adr_export

    exported = adr_export.export_folder(memory, snapshot, records, folder, form)
    edited = [item.file for item in exported if item.state == "edited"]
    if edited and not (how["dry_run"] or how["force"]):
        raise MemctlError(
            f"nothing was written, because these files differ from their decisions: {_few(edited)}",
            "--force overwrites these files; text that is only in them, not in the memory, is lost",
            REFUSED,
        )
    if not how["dry_run"]:
        output_file.refuse_place(folder)
        adr_export.write_folder(memory, folder, exported)
    if how["as_json"]:
        data = [{"id": item.id, "file": item.file, "state": item.state} for item in exported]
        output.json_list("export-adr", data, snapshot.faults, memory, name="files")
        return
    output.columns([(item.state, item.file, item.id) for item in exported if item.state != "same"])
    same = sum(item.state == "same" for item in exported)
    if same:
        output.note(f"already up to date: {quantity(same, 'file')}")
    if not exported:
        output.note("no decision matches these options")
    if how["dry_run"] and edited:
        output.note("hint: --force overwrites files that are marked `edited`")
