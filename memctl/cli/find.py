"""`list` and `search`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.command import command, filtering, reading
from memctl.model.record import Record
from memctl.search import ranking
from memctl.search.filters import ORDERS, select

_STYLES: tuple[dict[str, Any], ...] = ({"fg": "yellow"}, {}, {"bold": True}, {})


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
    snapshot = opening.snapshot(memory, at)
    found = select(snapshot.records, opening.filters(memory, **given), order, reverse=reverse)
    shown = found[: limit or None]
    if as_json:
        data = {"total": len(found), "records": [output.record_data(memory, record) for record in shown]}
        output.json("records", data, snapshot.faults, memory)
    else:
        output.columns([_row(record) for record in shown], _STYLES)
        if len(found) > len(shown):
            output.note(f"{len(found) - len(shown):,} more: --limit 0 lists all")
        if not found:
            output.note("no records of that kind")
    ctx.exit(output.finish(memory, snapshot))


@command(
    "search",
    ("memctl search connection pool", "Records with both words (or if there are none, with either)."),
    ("memctl search '\"rate limit\"' --type decision --explain", "An exact phrase, and how each score came about."),
    ("memctl search auth* --since 30d --json", "Words that begin with auth, for a program."),
)
@click.argument("query", nargs=-1, required=True)
@filtering
@click.option("--limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many at most; 0 for all.")
@click.option("--explain", is_flag=True, help="Show what each part contributed to a score.")
@reading
@click.pass_context
def search_command(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    limit: int,
    explain: bool,
    as_json: bool,
    at: str | None,
    **given: Any,
) -> None:
    """Search the text of all records, best match first.

    A score is made of text (40 %), importance (25 %), recency (20 %) and how often a record was retrieved (15 %).
    """
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    found = ranking.search(snapshot, " ".join(query), opening.filters(memory, **given), memory.now)
    shown = found[: limit or None]
    if as_json:
        results = [{**_parts(r), "record": output.record_data(memory, r.record)} for r in shown]
        output.json(
            "search", {"query": " ".join(query), "total": len(found), "results": results}, snapshot.faults, memory
        )
    else:
        rows = []
        for result in shown:
            rows.append((f"{result.score:.2f}", *_row(result.record)))
        output.columns(rows, ({}, *_STYLES)) if not explain else _explain(shown)
        if len(found) > len(shown):
            output.note(f"{len(found) - len(shown):,} more: --limit 0 shows all")
        if not found:
            output.note("nothing matches")
    ctx.exit(output.finish(memory, snapshot))


def _row(record: Record) -> tuple[str, ...]:
    state: str = record.severity or ""
    if record.completion_percentage is not None:
        state = f"{record.completion_percentage} %"
    status = f"{record.status}{f' ({state})' if state else ''}{' archived' if record.is_archived else ''}"
    tags = f"  [{', '.join(record.tags)}]" if record.tags else ""
    return record.id, status, f"{record.importance:>2}", record.title + tags


def _parts(result: ranking.Ranked) -> dict[str, Any]:
    parts = msgspec.structs.asdict(result)
    del parts["record"]
    return {name: round(value, 6) for name, value in parts.items()}


def _explain(results: list[ranking.Ranked]) -> None:
    header = ("score", "title", "text", "importance", "recency", "access", "record")
    rows = [
        (*(f"{value:.3f}" for value in _parts(result).values()), f"{result.record.id} {result.record.title}")
        for result in results
    ]
    limits = ("1.000", "0.150", "0.250", "0.250", "0.200", "0.150", "the most that each part can give")
    output.columns([header, limits, *rows])
