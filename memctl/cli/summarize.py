"""The command `memctl context summarize`: show what is in a large file, within a token budget."""

from __future__ import annotations

import click
import msgspec

from memctl.cli import memory_access, output, token_counter
from memctl.cli.command import command, number_option, reading
from memctl.pages.navigate import refuse_closed_file
from memctl.pages.repository_paths import file_named
from memctl.sources.summary import BUDGET, summary


@command(
    "summarize",
    ("memctl context summarize src/payment/api.py", "Print an outline of a large file, in at most 500 tokens."),
    (
        "memctl context summarize §4.payment.api --budget 1000",
        "Print an outline of a file that is named by its § marker, in at most 1,000 tokens.",
    ),
    ("memctl context summarize server.log --at v1.0 --json", "Print the outline of a file of a release as JSON."),
)
@click.argument("path", metavar="PATH|§4.…")
@number_option("--budget", default=BUDGET, help="Maximum number of tokens of the outline.")
@token_counter.model_option
@reading
def summarize_command(
    ctx: click.Context, /, path: str, budget: int, model: str | None, as_json: bool, at: str | None
) -> None:
    """Show what is in a large file, within a token budget.

    Code is shown by its imports and definitions with their docstrings, Markdown by its headings, JSON, YAML and TOML by
    their keys, logs and other text by how they begin and end and by their frequent lines. No model is asked: the same
    file always gives the same view.
    """
    memory, snapshot = memory_access.read(ctx, at)
    name = file_named(
        snapshot.files.names() | snapshot.withheld.files.keys(), memory.repository.top, ctx.obj.folder, path
    )
    refuse_closed_file(snapshot, name)
    counter = token_counter.counter(token_counter.model_of(model, memory), memory)
    outline = summary(snapshot, name, budget, counter, for_agent=memory.by_agent)
    if as_json:
        data = {"model": counter.family.name, "budget": budget, **msgspec.structs.asdict(outline)}
        output.json("summary", data)
    else:
        output.text(outline.text, newline=False)
