"""The commands `memctl rehydrate`, `prompt` and `load`, which print packs (parts of the memory) for a model."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import (
    Group,
    command,
    complete,
    flag_option,
    reading,
    section_named,
    text_option,
    text_options,
)
from memctl.cli.pack_options import PackOptions, counter_of, deliver, fill, pack_options
from memctl.cli.text_input import read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.pack import budget_fill, last_work, prompt, rehydrate
from memctl.pack.budget_fill import Pack
from memctl.pack.item_sources import places, sources
from memctl.pages.links import known_section
from memctl.record import time_input
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.markdown import one_line


@command(
    "rehydrate",
    ("memctl rehydrate", "Print what an agent needs to start work, as text for its prompt."),
    (
        'memctl rehydrate --task "fix the checkout timeout" --budget 8000',
        "Print first what is relevant to a task, in at most 8,000 tokens.",
    ),
    (
        "memctl rehydrate --section 2.1 --format auto --copy",
        "Copy a pack about one section, in the format that suits its size.",
    ),
    ("memctl rehydrate --since 2d", "Print the records of the last two days, of any importance."),
    ("memctl rehydrate --at v1.0 --json", "Print the pack of a release as JSON."),
    ("memctl rehydrate --budget 2000 --explain", "Say of each open record where it is in the pack, and why."),
)
@text_option("--task", help="The task that the pack is for; matching records come first.")
@click.option(
    "--section", default="", callback=section_named, shell_complete=complete("section"),
    help="Only this section, such as 2.1 or its name: its pages, and its records of any importance.",
)  # fmt: skip
@text_option("--since", metavar="TIME", help="Only records since this time, of any importance.")
@click.option("--agent", default="", help="Only records that this agent created.")
@flag_option("--explain", help="Print where each open record is in the pack, and why, in place of the pack.")
@pack_options()
@reading
def rehydrate_command(
    ctx: click.Context,
    /,
    task: str,
    section: str,
    since: str,
    agent: str,
    explain: bool,
    as_json: bool,
    at: str | None,
    **values: Any,
) -> None:
    """Print what an agent needs to start work, within a token budget.

    First come critical and high issues, important decisions and learnings; then the last session and the tasks under
    way; then all other open records as long as there is room, and the rest by id and title.
    """
    memory, snapshot = memory_access.read(ctx, at)
    wanted = rehydrate.RehydrationRequest(
        task=task,
        section=known_section(snapshot, section),
        since=time_input.parse(since, memory.now) if since else "",
        agent=agent,
        reader=memory.actor,
    )
    options = PackOptions(**values)
    budget = options.budget or memory.config.rehydrate_budget
    count = cache(counter_of(memory, options).tokens)  # a task is measured for its room, and for the pack
    draft = rehydrate.draft(snapshot, memory.now, wanted, sources(memory, snapshot, at), count, last_work.room(budget))
    pack = fill(memory, draft, options, count, budget)
    if explain:
        _explain(memory, snapshot, pack, wanted, as_json=as_json)
    else:
        deliver(memory, snapshot, pack, options, "rehydration", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


def _explain(
    memory: Memory, snapshot: Snapshot, pack: Pack, request: rehydrate.RehydrationRequest, *, as_json: bool
) -> None:
    from memctl.pack.explain import explain  # seldom wanted

    placed = list(explain(snapshot, pack, request, memory.now))
    if as_json:
        output.json(
            "explanation", {"records": [msgspec.structs.asdict(each) for each in placed]}, snapshot.faults, memory
        )
        return
    for each in placed:
        output.text(f"{each.place:<8}  {each.id} {one_line(each.title)}: {each.why}")


@click.group("prompt", cls=Group)
def prompt_command() -> None:
    """Print the memory as part of a prompt: as a system prompt, or after a user's message."""


@command(
    "system",
    (
        'memctl context prompt system --agent codex --task "refunds by card"',
        "Print a system prompt for an agent and a task.",
    ),
    (
        'memctl context prompt system --role-file role.md --criterion "All tests pass"',
        "Print a system prompt with a role from a file.",
    ),
    group=prompt_command,
)
@text_option(
    "--agent", metavar="NAME", help="The agent that the prompt is for; config.yaml may have its role under `agents`."
)
@text_option("--role", help="The text of the role, which begins the prompt.")
@text_option("--role-file", metavar="FILE", help="A file with the text of the role (- for standard input).")
@text_option("--task", help="The agent's task; what is relevant to it comes first.")
@text_options(("--criterion", "criteria", "A condition that must hold before the task counts as done. Repeatable."))
@pack_options(budget=f"{prompt.SYSTEM_BUDGET}")
@reading
def system(
    ctx: click.Context,
    /,
    agent: str,
    role: str,
    role_file: str,
    task: str,
    criteria: tuple[str, ...],
    as_json: bool,
    at: str | None,
    **values: Any,
) -> None:
    """Print a system prompt: role, project, current focus, critical knowledge, success criteria, what can be loaded.

    The role is never shortened; the other parts have budgets of their own: 1,000, 2,000, 3,000, 1,000 and 500 tokens.
    """
    if role and role_file:
        raise MemctlError("--role and --role-file can't be combined", "give one of them", USAGE)
    memory, snapshot = memory_access.read(ctx, at)
    options = PackOptions(**values)
    request = prompt.PromptRequest(
        agent=agent, role=read(role_file) if role_file else role, task=task, criteria=criteria
    )
    count = counter_of(memory, options).tokens
    draft = prompt.system(snapshot, memory.now, request, count, sources(memory, snapshot, at))
    pack = fill(memory, draft, options, count, prompt.SYSTEM_BUDGET)
    deliver(memory, snapshot, pack, options, "system-prompt", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


@command(
    "user",
    (
        'memctl context prompt user "Why does checkout time out?"',
        "Print a question, and what in the memory is relevant to it.",
    ),
    (
        "echo 'Fix the pool' | memctl context prompt user - --format xml --budget 8000",
        "Read the user's message from standard input, and print XML.",
    ),
    group=prompt_command,
)
@click.argument("query", metavar="QUERY|-")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=prompt.THRESHOLD,
    show_default=True,
    help="The lowest relevance with which a record is included.",
)
@pack_options("xml", budget=f"{prompt.USER_BUDGET}")
@reading
def user(ctx: click.Context, /, query: str, threshold: float, as_json: bool, at: str | None, **values: Any) -> None:
    """Print a user's message, followed by what is relevant to it in the memory, best first."""
    text = read(query) if query == "-" else query
    if not text.strip():
        raise MemctlError(
            "the user's message is empty", "give the message as QUERY, or - to read it from standard input", USAGE
        )
    memory, snapshot = memory_access.read(ctx, at)
    options = PackOptions(**values)
    draft = prompt.user(snapshot, memory.now, text, threshold, sources(memory, snapshot, at))
    pack = fill(memory, draft, options, counter_of(memory, options).tokens, prompt.USER_BUDGET)
    deliver(memory, snapshot, pack, options, "user-message", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


@command(
    "load",
    (
        "echo 'Please load §3.1.2 and §4.src/pay.py' | memctl context load",
        "Print the sections and files that an agent's reply asks for.",
    ),
    (
        "memctl context load reply.txt --format xml --budget 20000 --json",
        "Read an agent's reply from a file; the JSON also lists what the agent no longer needs.",
    ),
)
@click.argument("source", metavar="[FILE|-]", default="-")
@pack_options()
@reading
def load_command(ctx: click.Context, /, source: str, as_json: bool, at: str | None, **values: Any) -> None:
    """Print the texts that an agent's reply asks for, and list what the agent no longer needs.

    `load §3.1.2`, `load DEC-…` and `summarize src/big.py` ask for something; `PRUNE: §4.old.py - reason` names what may
    go. Exit code 1: something asked for does not exist.
    """
    from memctl.pack import load
    from memctl.pages.repository_paths import file_named
    from memctl.sources.summary import BUDGET, summary

    memory = memory_access.memory(ctx)
    options = PackOptions(**values)
    counter = counter_of(memory, options)
    directives = load.read(read(source))
    if directives.is_empty:
        output.note(
            "the reply asks for nothing; requests are `load §3.1`, `load ID`, `summarize PATH` or `PRUNE: § - reason`"
        )
        if as_json:
            empty = budget_fill.Pack(
                "", 0, options.budget or memory.config.rehydrate_budget, options.form, {"loaded": []}, []
            )
            more = {"model": counter.family.name, "prune": [], "not_found": [], "ignored": 0}
            output.json("loaded", {**msgspec.structs.asdict(empty), **more})
        return
    snapshot = memory_access.readable(memory, at)
    named = partial(file_named, snapshot.files.names(), memory.repository.top, ctx.obj.folder)
    loader = load.Loader(
        place=places(memory, snapshot),
        summary=lambda path: summary(snapshot, named(path), BUDGET, counter, for_agent=memory.by_agent).text,
        count=counter.tokens,
        sources=sources(memory, snapshot, at),
    )
    draft, unknown = load.answer(snapshot, memory.now, directives, loader)
    pack = fill(memory, draft, options, counter.tokens, memory.config.rehydrate_budget)
    more = {"prune": list(directives.prune), "not_found": unknown, "ignored": directives.ignored}
    deliver(memory, snapshot, pack, options, "loaded", as_json=as_json, more=msgspec.to_builtins(more))
    code = output.finish(memory, snapshot)
    ctx.exit(code if code != OK else REFUSED if unknown else OK)
