"""`import` and `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from memctl.cli import opening, output, report
from memctl.cli.command import command, filtering, how, reading, writing
from memctl.cli.source import read
from memctl.exchange import jsonl
from memctl.lifecycle import door
from memctl.search.filters import select
from memctl.store import files, load


@command(
    "import",
    ("memctl import records.jsonl", "Add all records of a file, in one commit."),
    ("other-tool --json | memctl import - -n", "See what would be added from standard input."),
)
@click.argument("file")
@writing
@click.pass_context
def import_command(ctx: click.Context, /, file: str, **flags: Any) -> None:
    """Add records from JSON Lines, all or none, in one commit.

    A line needs `memory_type` and `title`; everything else of an export is optional. Records that are there already
    with the same text are passed over.
    """
    memory = opening.memory(ctx)
    lines = read(file).split("\n")
    result = door.carry_out(
        memory,
        lambda sequence: jsonl.import_lines(memory, sequence, load.disk(memory), opening.told(lines)),
        how(flags),
    )
    report.outcome(memory, result, as_json=flags["as_json"], dry_run=flags["dry_run"])


@command(
    "export",
    ("memctl export --all > memory.jsonl", "Everything, archived records too."),
    ("memctl export --type decision --at v1.0", "The decisions of a release."),
)
@filtering
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file, atomically.")
@reading
@click.pass_context
def export_command(ctx: click.Context, /, out: Path | None, as_json: bool, at: str | None, **given: Any) -> None:
    """Print records as JSON Lines, the form that `import` reads. With --json: one envelope that holds them all."""
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    records = select(snapshot.records, opening.filters(memory, **given), "id")
    lines = jsonl.export_lines(snapshot, records)
    if as_json:
        output.json("export", [msgspec.Raw(line.encode()) for line in lines], snapshot.faults, memory)
    elif out is not None:
        files.write_out(out, "".join(line + "\n" for line in lines))
    else:
        for line in lines:
            output.text(line)
    ctx.exit(output.finish(memory, snapshot))
