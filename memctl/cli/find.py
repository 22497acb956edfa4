"""`list`, and how a list shows a record."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import opening, output
from memctl.cli.command import command, filtering, reading
from memctl.record.record import Record
from memctl.search.filters import ORDERS, select

STYLES: tuple[dict[str, Any], ...] = ({"fg": "yellow"}, {}, {"bold": True}, {})


@command(
    "list",
    ("memctl list --type decision --importance 7", "Decisions that matter, newest first."),
    ("memctl list --type issue --status open --sort severity", "Open issues, the worst first."),
    ("memctl list --since 7d --json", "What the last week brought, for a program."),
)
@filtering
@click.option(
    "--sort", "order", type=click.Choice(list(ORDERS)), default="date", show_default=True, help="What to order by."
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many at most; 0 for all.")
@reading
@click.pass_context
def list_command(
    ctx: click.Context, /, order: str, reverse: bool, limit: int, as_json: bool, at: str | None, **given: Any
) -> None:
    """List records, newest first, without the archived ones."""
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    found = select(snapshot.records, opening.filters(memory, **given), order, reverse=reverse)
    shown = found[: limit or None]
    if as_json:
        data = {"total": len(found), "records": [output.record_data(memory, record) for record in shown]}
        output.json("records", data, snapshot.faults, memory)
    else:
        output.columns([row(record) for record in shown], STYLES)
        if len(found) > len(shown):
            output.note(f"{len(found) - len(shown):,} more: --limit 0 lists all")
        if not found:
            output.note("no records of that kind")
    ctx.exit(output.finish(memory, snapshot))


def row(record: Record) -> tuple[str, ...]:
    """What a list shows of a record, cell by cell."""
    state: str = record.severity or ""
    if record.completion_percentage is not None:
        state = f"{record.completion_percentage} %"
    status = f"{record.status}{f' ({state})' if state else ''}{' archived' if record.is_archived else ''}"
    tags = f"  [{', '.join(record.tags)}]" if record.tags else ""
    return record.id, status, f"{record.importance:>2}", record.title + tags
