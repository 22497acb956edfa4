"""`rehydrate` and `tokens`."""

from __future__ import annotations

from pathlib import Path

import click

from memctl.cli import opening, output
from memctl.cli.command import command, json_option, reading
from memctl.cli.source import read
from memctl.packs.rehydrate import rehydrate
from memctl.store import access, files, load
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
    ("memctl rehydrate --at v1.0 --json", "As it would have been at a release, for a program."),
)
@click.option(
    "--budget", type=click.IntRange(min=1), help="Tokens at most. [default: rehydrate_budget in config.yaml, or 20000]"
)
@click.option("--model", help=f"Whose tokens: a model, or one of {_MODELS}. [default: model in config.yaml, or claude]")
@click.option("--task", default="", metavar="TEXT", help="What the work is about: records that match come first.")
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file, atomically.")
@reading
@click.pass_context
def rehydrate_command(
    ctx: click.Context,
    /,
    budget: int | None,
    model: str | None,
    task: str,
    out: Path | None,
    as_json: bool,
    at: str | None,
) -> None:
    """Print what somebody needs who starts to work now, within a token budget.

    The latest state, decisions of weight, critical and high issues, learnings; then what was left out, by id and title.
    """
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    counter = Counter(family_of(model or memory.config.model), load.open_cache(memory))
    pack = rehydrate(snapshot, memory.now, budget or memory.config.rehydrate_budget, counter.tokens, task)
    if as_json:
        data = {
            "text": pack.text,
            "tokens": pack.tokens,
            "budget": pack.budget,
            "model": counter.family.name,
            "records": pack.parts,
            "left_out": [{"id": record.id, "title": record.title} for record in pack.left_out],
        }
        output.json("rehydration", data, snapshot.faults, memory)
    elif out is not None:
        files.write_out(out, pack.text)
        output.note(f"{pack.tokens:,} tokens of {counter.family.name} in {out}")
    else:
        output.text(output.plain(pack.text), newline=False)
    if at is None:
        included = set(pack.included())
        access.count(memory.repository.shared, [r.memory_id for r in snapshot.records if r.id in included], memory.now)
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
