"""`handoff`: what one agent hands to another."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import opening, output
from memctl.cli.command import command, reading
from memctl.cli.packing import Packing, deliver, fill, packing, sources
from memctl.packs import handoff
from memctl.packs.formats.choice import AUTO


@command(
    "handoff",
    ("memctl handoff --to codex", "Everything the next agent needs, as one event."),
    (
        'memctl handoff --to dba --type specialist --section 2.1 --reason "a schema for refunds"',
        "One section, for a question to a specialist.",
    ),
    ('memctl handoff --to next --type continuation --note "The pool is the culprit" --copy', "To go on afresh."),
)
@click.option("--to", "target", required=True, metavar="AGENT", help="Who takes over.")
@click.option(
    "--type",
    "kind",
    type=click.Choice(list(handoff.BUDGETS)),
    default="complete",
    show_default=True,
    help="What for; it sets the budget.",
)
@click.option("--section", "sections", multiple=True, help="Only this section, such as 2.1. Repeatable.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is handed over.")
@click.option("--task", default="", metavar="TEXT", help="What the other agent is to do.")
@click.option(
    "--note", "notes", multiple=True, metavar="TEXT", help="An observation, an approach, a pitfall. Repeatable."
)
@packing(AUTO, budget=", ".join(f"{name} {budget}" for name, budget in handoff.BUDGETS.items()))
@reading
@click.pass_context
def handoff_command(
    ctx: click.Context,
    /,
    target: str,
    kind: str,
    sections: tuple[str, ...],
    reason: str,
    task: str,
    notes: tuple[str, ...],
    as_json: bool,
    at: str | None,
    **options: Any,
) -> None:
    """Print what one agent hands to another.

    The state of its work, what blocks it, decisions, issues, what is done, what was learned, and what comes next.
    """
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    asked = handoff.Asked(
        source=memory.actor,
        target=target,
        kind=kind,
        reason=reason,
        task=task,
        sections=tuple(opening.section(snapshot, section) for section in sections),
        notes=notes,
    )
    draft = handoff.draft(snapshot, memory.now, asked, sources(memory, snapshot, at))
    given = Packing(**options)
    pack = fill(memory, draft, given, handoff.BUDGETS[kind], inter_agent=True)
    deliver(memory, snapshot, pack, given, "handoff", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))
