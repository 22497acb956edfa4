"""The command `memctl list`: list records, filtered and ordered by options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memctl.cli import memory_access, output
from memctl.cli.command import choice_option, command, complete_id, filtering, flag_option, limit_option, reading
from memctl.errors import USAGE, MemctlError
from memctl.record.filters import ORDERS, select
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot

_FEW = 3  # blocking records to name


@command(
    "list",
    ("memctl list --type decision --importance 7", "List important decisions, newest first."),
    ("memctl list --type issue --status open --sort severity", "List open issues, the most severe first."),
    ("memctl list --open --section 2.1", "List the open records of a section."),
    ("memctl list --since 7d --json", "List the records of the last seven days as JSON."),
    ("memctl list --ready --sort importance", "List open issues and states that nothing blocks."),
    ("memctl list --blocked", "List blocked issues and states, and what blocks them."),
    ("memctl list --parent ISS-2025-11-04-001 --all", "List the records that are parts of an issue."),
)
@filtering
@flag_option("--ready", help="Only open issues and states that nothing blocks; `memctl next` shows the best first.")
@flag_option("--blocked", help="Only open issues and states that something blocks.")
@click.option("--parent", metavar="ID", help="Only records that are parts of record ID.", shell_complete=complete_id)
@choice_option("--sort", "order", among=ORDERS, default="date", help="The field to sort the records by.")
@flag_option("--reverse", help="List the records in reverse order.")
@limit_option(50)
@reading
def list_command(
    ctx: click.Context,
    /,
    ready: bool,
    blocked: bool,
    parent: str | None,
    order: str,
    reverse: bool,
    limit: int,
    as_json: bool,
    at: str | None,
    **given: Any,
) -> None:
    """List records, newest first, without archived ones.

    For --ready and --blocked, work means open issues and active states. Work is blocked by other open work and by
    proposed decisions, if a link `blocks` or `blocked_by` of the record or of its parent says so, and by the blockers
    that a state names. Of work with open parts only the parts can be ready.
    """
    if ready and blocked:
        raise MemctlError("--ready and --blocked can't be combined", "give one of them", USAGE)
    memory, snapshot = memory_access.read(ctx, at)
    filters = memory_access.filters(memory, snapshot, **given)
    waits: dict[str, tuple[Sequence[Record], Sequence[str]]] = {}
    if ready or blocked or parent:
        among, waits = _work(snapshot, ready, blocked, parent)
        matching = select(among, filters, order, reverse=reverse)
        shown, total = matching[: limit or None], len(matching)
    else:
        shown, total = snapshot.catalogue.select(filters.conditions(), order, reverse=reverse, limit=limit)
    if as_json:
        data: dict[str, Any] = {"total": total, "records": [output.record_data(memory, record) for record in shown]}
        if blocked:
            data["waits_for"] = {record.id: [other.id for other in waits[record.memory_id][0]] for record in shown}
            data["stated_blockers"] = {record.id: why for record in shown if (why := list(waits[record.memory_id][1]))}
        output.json("records", data, snapshot.faults, memory)
    else:
        below = [_waits(*waits.get(record.memory_id, ((), ()))) for record in shown]
        output.columns([output.record_row(record) for record in shown], output.RECORD_STYLES, below)
        is_there = total or at is None or snapshot.names("")
        output.rest(total, len(shown), "no record matches" if is_there else f"the revision {at} has no memory")
    ctx.exit(output.finish(memory, snapshot))


def _work(
    snapshot: Snapshot, ready: bool, blocked: bool, parent: str | None
) -> tuple[list[Record], dict[str, tuple[Sequence[Record], Sequence[str]]]]:
    """Return the records below a parent that are ready, blocked, or any; and what each waits for, by memory_id.

    That is the records that block it, and the blockers that its text states.
    """
    waits: dict[str, tuple[Sequence[Record], Sequence[str]]] = {}
    among: Sequence[Record] = ()
    if ready or blocked:
        from memctl.search.readiness import open_work

        work = open_work(snapshot)
        among = work.ready if ready else work.blocked
        waits = {record.memory_id: (work.blockers(record), work.stated(record)) for record in among} if blocked else {}
    if parent is None:
        return list(among), waits
    whole = snapshot.resolve(parent).memory_id
    candidates = among if ready or blocked else snapshot.records
    return [record for record in candidates if record.parent_memory_id == whole], waits


def _waits(blockers: Sequence[Record], stated: Sequence[str]) -> str:
    if not blockers and not stated:
        return ""
    from memctl.text.markdown import one_line  # most lists name no blocked work
    from memctl.text.phrases import some

    names = some([f"{blocker.id} ({blocker.status}) {blocker.title}" for blocker in blockers], _FEW, "; ", "; and ")
    texts = some([one_line(text) for text in stated], _FEW, "; ", "; and ")
    parts = [f"waits for {names}"] if names else []
    parts += [f"blocked: {texts}"] if texts else []
    return f"      {output.plain('; '.join(parts))}"
