"""`coordination`: which agents are at work, on what, and what stands in their way."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.agreement import agreeing, carry_out, seen
from memctl.cli.command import command, json_option
from memctl.cli.groups import Group
from memctl.cli.write_options import said
from memctl.errors import USAGE, MemctlError
from memctl.record.required_text import refuse_stand_in
from memctl.team import agents
from memctl.team.state import Agent, State

coordination_command = Group(
    "coordination", help="Say which agents are at work, on what, and what stands in their way.", no_args_is_help=True
)
_REMOTE = click.option("--remote", metavar="NAME", help="Fetch the state of a remote first, and take it in.")


@command(
    "show",
    ("memctl coordination show", "Who is at work, who has what, what blocks."),
    ("memctl coordination show --remote origin --json", "Also what other machines have told, for a program."),
    group=coordination_command,
)
@_REMOTE
@json_option
@click.pass_context
def show_command(ctx: click.Context, /, remote: str | None, as_json: bool) -> None:
    """Show the state that all agents share, in every worktree of this clone."""
    memory = opening.memory(ctx)
    state = seen(memory, remote).state
    if as_json:
        output.json("coordination", msgspec.to_builtins(state))
        return
    for line in _lines(state, memory.now):
        output.text(line)


@command(
    "join",
    ("memctl coordination join --task 'Refunds'", "Tell the others that you are at work, and at what."),
    group=coordination_command,
)
@click.option("--task", default="", metavar="TEXT", callback=said, help="What you work at.")
@agreeing
@click.pass_context
def join_command(ctx: click.Context, /, task: str, **given: Any) -> None:
    """Be among the agents at work. MEMCTL_AGENT is who you are."""
    memory = opening.memory(ctx)
    carry_out(memory, agents.join(memory.actor, memory.now, task), given)


@command(
    "leave",
    ("memctl coordination leave --release", "Be gone, and give your sections back."),
    group=coordination_command,
)
@click.option("--agent", default="", help="Somebody else, who is gone without saying so; needs --reason.")
@click.option("--release", is_flag=True, help="Give all sections of the agent back.")
@agreeing
@click.pass_context
def leave_command(ctx: click.Context, /, agent: str, release: bool, **given: Any) -> None:
    """No longer be among the agents at work. Sections stay owned unless they are released."""
    memory = opening.memory(ctx)
    if agent not in ("", memory.actor) and not (given["reason"] or "").strip():
        raise MemctlError("--agent needs --reason: it is recorded why", exit_code=USAGE)
    carry_out(memory, agents.leave(agent or memory.actor, release=release), given)


@command(
    "assign",
    ("memctl coordination assign elena 'Write the refund worker'", "Give an agent a task."),
    ("memctl coordination assign elena 'Write the refund worker' --remove", "It is done, or somebody else's."),
    group=coordination_command,
)
@click.argument("agent")
@click.argument("task")
@click.option("--remove", is_flag=True, help="Take the task from the agent.")
@agreeing
@click.pass_context
def assign_command(ctx: click.Context, /, agent: str, task: str, remove: bool, **given: Any) -> None:
    """Give an agent a task, or take one from it."""
    if not remove:
        refuse_stand_in(task, "TASK")
    carry_out(opening.memory(ctx), agents.assign(agent, task, remove=remove), given)


@command(
    "block",
    ("memctl coordination block 'Staging is down'", "Tell all that nobody can go on."),
    group=coordination_command,
)
@click.argument("text", callback=said)
@agreeing
@click.pass_context
def block_command(ctx: click.Context, /, text: str, **given: Any) -> None:
    """Say what keeps all agents from going on."""
    memory = opening.memory(ctx)
    carry_out(memory, agents.block(text, memory.actor, memory.now), given)


@command(
    "unblock",
    ("memctl coordination unblock 'Staging is down'", "It no longer is."),
    group=coordination_command,
)
@click.argument("blocker")
@agreeing
@click.pass_context
def unblock_command(ctx: click.Context, /, blocker: str, **given: Any) -> None:
    """Take a blocker out, by its id or by its words."""
    carry_out(opening.memory(ctx), agents.unblock(blocker), given)


@command(
    "share",
    ("memctl coordination share staging 'elena, until noon'", "Tell all about something that they share."),
    ("memctl coordination share staging ''", "Take it out."),
    group=coordination_command,
)
@click.argument("name")
@click.argument("value")
@agreeing
@click.pass_context
def share_command(ctx: click.Context, /, name: str, value: str, **given: Any) -> None:
    """Tell all agents about a resource that they share; an empty value takes it out."""
    carry_out(opening.memory(ctx), agents.share(name, value), given)


def _by(agent: Agent) -> str:
    """The handoffs that an agent is at work by, with the sections that it has of them."""
    found = [" ".join([f"{name}:", *work.sections]).removesuffix(":") for name, work in agent.handoffs.items()]
    return f" ({', '.join(found)})" if found else ""


def _lines(state: State, now: str) -> list[str]:
    """The state for people; parts that are empty are left out."""
    changed = f", last changed {state.last_sync_timestamp}" if state.last_sync_timestamp else ""
    live = [held for _, held in sorted(state.section_ownership_map.items()) if held.is_live(now)]
    parts = {
        "at work": [
            f"{name}, since {agent.joined_at}{f': {agent.task}' if agent.task else ''}{_by(agent)}"
            for name, agent in sorted(state.active_agents.items())
        ],
        "owned": [held.told for held in live],
        "assigned": [
            f"{name}: {task}" for name, tasks in sorted(state.agent_task_assignments.items()) for task in tasks
        ],
        "blocked": [
            f"{key} {item.text} ({item.agent_id}, {item.since})" for key, item in sorted(state.global_blockers.items())
        ],
        "shared": [f"{name}: {value}" for name, value in sorted(state.shared_resources.items())],
    }
    lines = [f"version {state.sync_version}{changed}"]
    for title, items in parts.items():
        lines += [f"{title}:", *(f"  {' '.join(item.split())}" for item in items)] if items else []
    return lines
