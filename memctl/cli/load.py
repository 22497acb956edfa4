"""`load`: what an agent's reply asks for."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.command import command, reading
from memctl.cli.packing import Packing, counter_of, deliver, fill, packing
from memctl.cli.source import read
from memctl.errors import OK, REFUSED
from memctl.pack import directives, filling, requested
from memctl.pack.supply import places, sources
from memctl.pages.repository_paths import file_named
from memctl.sources.summary import BUDGET, summary


@command(
    "load",
    ("echo 'Please load §3.1.2 and §4.src/pay.py' | memctl load", "What the agent needs for its next turn."),
    (
        "memctl load reply.txt --format xml --budget 20000 --json",
        "From a file, with what may be dropped, for a program.",
    ),
)
@click.argument("source", metavar="[FILE|-]", default="-")
@packing()
@reading
@click.pass_context
def load_command(ctx: click.Context, /, source: str, as_json: bool, at: str | None, **options: Any) -> None:
    """Answer what an agent's reply asks for, and say what may go.

    `load §3.1.2`, `load DEC-…` and `summarize src/big.py` ask for something; `PRUNE: §4.old.py - reason` says what may
    go, which is listed. The exit code is 1 if something that is asked for does not exist.
    """
    memory = opening.memory(ctx)
    given = Packing(**options)
    counter = counter_of(memory, given)
    asked = directives.read(read(source))
    if asked.is_empty:
        output.note("nothing is asked for: `load §3.1`, `load ID`, `summarize PATH` or a line `PRUNE: § - reason`")
        if as_json:
            empty = filling.Pack("", 0, given.budget or memory.config.rehydrate_budget, given.form, {"loaded": []}, [])
            more = {"model": counter.family.name, "prune": [], "not_found": [], "ignored": 0}
            output.json("loaded", {**msgspec.structs.asdict(empty), **more})
        return
    snapshot = opening.readable(memory, at)
    named = partial(file_named, snapshot.files.names(), memory.repository.top, ctx.obj.folder)
    ways = requested.Ways(
        place=places(memory, snapshot),
        summary=lambda path: summary(snapshot, named(path), BUDGET, counter).text,
        count=counter.tokens,
        sources=sources(memory, snapshot, at),
    )
    answer = requested.answer(snapshot, memory.now, asked, ways)
    pack = fill(memory, answer.draft, given, memory.config.rehydrate_budget)
    more = {"prune": list(asked.prune), "not_found": list(answer.unknown), "ignored": asked.ignored}
    deliver(memory, snapshot, pack, given, "loaded", as_json=as_json, more=msgspec.to_builtins(more))
    code = output.finish(memory, snapshot)
    ctx.exit(code if code != OK else REFUSED if answer.unknown else OK)
