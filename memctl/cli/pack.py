"""`rehydrate` and `tokens`."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import opening, output
from memctl.cli.command import command, json_option, reading
from memctl.cli.packing import Packing, deliver, fill, packing, sources
from memctl.cli.source import read
from memctl.model import moments
from memctl.packs import rehydrate
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES, family_of, kind_of_text

_MODELS = ", ".join(FAMILIES)


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

    The latest state, decisions of weight, critical and high issues, learnings; then what was left out, by id and title.
    """
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    wanted = rehydrate.Wanted(
        task=task,
        section=opening.section(snapshot, section),
        since=moments.parse_option(since, memory.now) if since else "",
        agent=agent,
    )
    draft = rehydrate.draft(snapshot, memory.now, wanted, sources(memory, snapshot, at))
    given = Packing(**options)
    pack = fill(memory, draft, given, memory.config.rehydrate_budget)
    deliver(memory, snapshot, pack, given, "rehydration", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


@command(
    "tokens",
    ("memctl tokens src/*.py README.md", "Count files for the default model family."),
    ("git diff | memctl tokens - --model gpt-5", "Count standard input for a model."),
)
@click.argument("sources", metavar="FILE…|-", nargs=-1, required=True)
@click.option("--model", default="claude", show_default=True, help=f"Whose tokens: a model, or one of {_MODELS}.")
@json_option
@click.pass_context
def tokens_command(ctx: click.Context, /, sources: tuple[str, ...], model: str, as_json: bool) -> None:
    """Count the tokens of files, each figure with its source and how far it may be off."""
    counter = Counter(family_of(model))
    rows = []
    for source in sources:
        text = read(source)
        kind = kind_of_text(source, text)
        rows.append((source, kind, counter.count(text, kind)))
    if as_json:
        data = [
            {"file": name, "kind": kind, "tokens": c.tokens, "source": c.source, "error": c.error}
            for name, kind, c in rows
        ]
        total = sum(count.tokens for _, _, count in rows)
        output.json("tokens", {"model": counter.family.name, "total": total, "files": data})
        return
    shown = [
        (f"{c.tokens:,}", "exact" if c.error == 0 else f"± {c.error:.0%}", c.source, kind, name)
        for name, kind, c in rows
    ]
    if len(rows) > 1:
        shown.append((f"{sum(c.tokens for _, _, c in rows):,}", "", "", "", "total"))
    output.columns(shown)
