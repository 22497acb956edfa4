"""`prompt`: the memory as part of a prompt."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import opening, output
from memctl.cli.command import command, reading
from memctl.cli.groups import Group
from memctl.cli.packing import Packing, counter_of, deliver, fill, packing
from memctl.cli.source import read
from memctl.errors import USAGE, MemctlError
from memctl.pack import prompt
from memctl.pack.supply import sources


@click.group("prompt", cls=Group)
def prompt_command() -> None:
    """Print the memory as part of a prompt: as a system prompt, or behind a user's message."""


@command(
    "system",
    ('memctl prompt system --agent codex --task "refunds by card"', "What an agent is told in every turn."),
    ('memctl prompt system --role-file role.md --criterion "All tests pass"', "With a role of your own."),
    group=prompt_command,
)
@click.option(
    "--agent", default="", metavar="NAME", help="Whom it is for; its role stands in config.yaml under agents."
)
@click.option("--role", default="", metavar="TEXT", help="The role that the prompt begins with.")
@click.option("--role-file", default="", metavar="FILE", help="The same from a file (- for standard input).")
@click.option("--task", default="", metavar="TEXT", help="What the agent is to do: what bears on it comes first.")
@click.option("--criterion", "criteria", multiple=True, metavar="TEXT", help="When the task is done. Repeatable.")
@packing(budget=f"{prompt.SYSTEM_BUDGET}")
@reading
@click.pass_context
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
    **options: Any,
) -> None:
    """Print a system prompt: role, project, current focus, critical knowledge, success criteria, what can be loaded.

    The role is taken whole; the other parts have budgets of their own: 1,000, 2,000, 3,000, 1,000 and 500 tokens.
    """
    if role and role_file:
        raise MemctlError("a role is given twice", "give --role or --role-file", USAGE)
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    given = Packing(**options)
    asked = prompt.PromptRequest(agent=agent, role=read(role_file) if role_file else role, task=task, criteria=criteria)
    count = counter_of(memory, given).tokens
    draft = prompt.system(snapshot, memory.now, asked, count, sources(memory, snapshot, at))
    pack = fill(memory, draft, given, prompt.SYSTEM_BUDGET)
    deliver(memory, snapshot, pack, given, "system-prompt", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))


@command(
    "user",
    ('memctl prompt user "Why does checkout time out?"', "A question, and what the memory knows that bears on it."),
    ("echo 'Mend the pool' | memctl prompt user - --format xml --budget 8000", "From standard input, in XML."),
    group=prompt_command,
)
@click.argument("query", metavar="QUERY|-")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=prompt.THRESHOLD,
    show_default=True,
    help="How relevant something must be to come in.",
)
@packing("xml", budget=f"{prompt.USER_BUDGET}")
@reading
@click.pass_context
def user(ctx: click.Context, /, query: str, threshold: float, as_json: bool, at: str | None, **options: Any) -> None:
    """Print a user's message with whatever of the memory is relevant to it behind it, best first."""
    text = read(query) if query == "-" else query
    if not text.strip():
        raise MemctlError("the query is empty", "say what the message is about", USAGE)
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    given = Packing(**options)
    draft = prompt.user(snapshot, memory.now, text, threshold, sources(memory, snapshot, at))
    pack = fill(memory, draft, given, prompt.USER_BUDGET)
    deliver(memory, snapshot, pack, given, "user-message", as_json=as_json)
    ctx.exit(output.finish(memory, snapshot))
