"""`rehydrate`."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import opening, output
from memctl.cli.command import command, reading
from memctl.cli.packing import Packing, counter_of, deliver, fill, packing
from memctl.pack import last_work, rehydrate
from memctl.pack.supply import sources
from memctl.record import timestamps


@command(
    "rehydrate",
    ("memctl rehydrate", "What somebody needs who starts to work now: paste it into a prompt."),
    (
        'memctl rehydrate --task "fix the checkout timeout" --budget 8000',
        "With what bears on a task first, in 8,000 tokens.",
    ),
    ("memctl rehydrate --section 2.1 --format auto --copy", "One section, in the form that suits its size."),
    ("memctl rehydrate --since 2d", "What came in the last two days, of any weight."),
    ("memctl rehydrate --at v1.0 --json", "As it would have been at a release, for a program."),
)
@click.option("--task", default="", metavar="TEXT", help="What the work is about: records that match come first.")
@click.option("--section", default="", help="Only this section, such as 2.1: its pages, and its records of any weight.")
@click.option("--since", default="", metavar="TIME", help="Only records from this time on, of any weight.")
@click.option("--agent", default="", help="Only records of this agent.")
@packing()
@reading
@click.pass_context
def rehydrate_command(
    ctx: click.Context,
    /,
    task: str,
    section: str,
    since: str,
    agent: str,
    as_json: bool,
    at: str | None,
    **options: Any,
) -> None:
    """Print what somebody needs who starts to work now, within a token budget.

    The last session and the tasks under way, decisions of weight, critical and high issues, learnings; then all other
    open records as far as they fit, and the rest by id and title.
    """
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    wanted = rehydrate.Wanted(
        task=task,
        section=opening.section(snapshot, section),
        since=timestamps.parse_option(since, memory.now) if since else "",
        agent=agent,
        reader=memory.actor,
    )
    given = Packing(**options)
    budget = given.budget or memory.config.rehydrate_budget
    count = counter_of(memory, given).tokens
    draft = rehydrate.draft(snapshot, memory.now, wanted, sources(memory, snapshot, at), count, last_work.room(budget))
    pack = fill(memory, draft, given, budget)
    deliver(memory, snapshot, pack, given, "rehydration", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))
