"""The commands `memctl team …` and `memctl team own …`: who works on what, and who may write in which section."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import Group, command, complete, flag_option, json_option, options, section_named, text_options
from memctl.cli.groups import Members
from memctl.cli.write_command import real_text
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.pages.links import missing_section
from memctl.record import time_input
from memctl.record.pages import PROJECT_ID
from memctl.record.required_text import refuse_placeholder
from memctl.store import load
from memctl.store.memory import Memory
from memctl.team import agents, ownership, ref_state, remote_state
from memctl.team.ref_state import Plan, ReadState, StateOutcome, Terms
from memctl.team.state import TYPES, Agent, Ownership, State, agent_name
from memctl.write import ownership_transaction, transaction

# The options of every command that changes the shared state.
agreeing = options(
    json_option,
    click.option(
        "--reason",
        callback=real_text,
        help="Why you make this change; the history of the shared state keeps the reason.",
    ),
    click.option("--remote", metavar="NAME", help="Make the change on this remote, too: fetch, change and push."),
    click.option(
        "--expect-version",
        "expected",
        type=click.IntRange(min=0),
        metavar="N",
        help="Make the change only if the shared state still has this version.",
    ),
    flag_option("--dry-run", "-n", help="Show what would change, and change nothing."),
)


def read_state(memory: Memory, remote: str | None) -> ReadState:
    """Return the coordination state of this clone; if `remote` names a remote, merged with the state there."""
    if remote is None:
        return ref_state.read(memory)
    taken = remote_state.fetch_and_merge(memory, remote)
    output.warnings(taken.lost)
    return taken.seen


def carry_out(
    memory: Memory, plan: Plan, flags: dict[str, Any], then: Callable[[StateOutcome], str] | None = None
) -> None:
    """Change the coordination state by a plan (such as "acquire §2.1"), and print what changed.

    `flags` has the values of the command's options, such as `remote` and `dry_run`. With --json the change is printed
    as JSON, otherwise as the text that `then` returns for the change; if `then` is None, the text is the name of the
    operation and its title, such as "release §2.1". Raises MemctlError if the plan is refused.
    """
    remote = flags["remote"]
    if not flags["dry_run"]:
        ownership_transaction.recover(memory, transaction.write, ask_remote=bool(remote))
    terms = Terms(flags["reason"] or "", flags["dry_run"], flags["expected"])
    result = remote_state.update(memory, remote, plan, terms)  # --remote "" is a script's slip, and is refused
    output.warnings(result.lost)
    if flags["as_json"]:
        data = {
            "op": result.step.op,
            "title": result.step.title,
            "changed": result.is_changed,
            "sync_version": result.step.state.sync_version,
            "commit": result.commit or None,
            "lost": list(result.lost),
        }
        output.json("coordination-change", data)
        return
    done = f"{result.step.op} {result.step.title}"
    output.text(f"would {done}" if terms.dry_run else then(result) if then else done)
    if not result.is_changed:
        output.note("nothing to change")


own_command = Group("own", help="Show who owns which section; acquire, release and transfer sections.", default="list")
_sections = click.argument(
    "sections", metavar="§2.N…", nargs=-1, required=True, callback=section_named, shell_complete=complete("section")
)
_fetch_option = click.option(
    "--remote", metavar="NAME", help="First fetch the shared state from this remote, and merge it."
)
_force = flag_option("--force", help="Act even though another agent owns the section; needs --reason.")


@command(
    "acquire",
    (
        "memctl team own acquire §2.1 --for 4h --reason 'New schema'",
        "Own a section for four hours, in which nobody else may write to it.",
    ),
    ("memctl team own acquire §2.1 §3.2 --type shared-write", "Own sections to which all agents may write."),
    ("memctl team own acquire §3.2 --reader elena", "Let only yourself and Elena read a page of details."),
    ("memctl team own acquire §1.0 --type read-only", "Own the project's page, and let nobody write to it."),
    ("memctl team own acquire §2.1 --reason ''", "Remove the reason of an ownership, and still own the section."),
    group=own_command,
)
@_sections
@click.option("--type", "ownership_type", type=click.Choice(TYPES),
              help="Who may write: exclusive (you), shared-write (all) or read-only (nobody). "
              f"[default: {TYPES[0]}]")  # fmt: skip
@click.option(
    "--for",
    "span",
    default="",
    metavar="SPAN",
    help="How long you own the sections, such as 4h, 7d or 2w. [default: no end]",
)
@click.option("--until", default="", metavar="TIME", help="When the ownership ends: a date or a time.")
@text_options(
    ("--reader", "readers", "Let only yourself and this agent read the section's details and files. Repeatable."),
    metavar="AGENT",
)
@_force
@agreeing
def acquire_command(ctx: click.Context, /, sections: tuple[str, ...], span: str, until: str, **flags: Any) -> None:
    """Own sections: all of the given ones, or none if one can't be had.

    A section §2.N includes its details, records and code; §1.0 is the project's own page.

    Acquire a section that you already own to change type, end, readers or reason; what you leave out stays. A section
    that another agent owns is refused until that ownership expires. The variable MEMCTL_AGENT says who you are.
    """
    if span and until:
        raise MemctlError("--for and --until can't be combined", "give one of them", USAGE)
    memory = memory_access.memory(ctx)
    now, outline = memory.now, load.disk(memory).outline
    markers = tuple(dict.fromkeys(map(ownership.section_id, sections)))
    for marker in markers:
        if marker != PROJECT_ID and outline.find(marker) is None and outline.fault_of(marker) is None:
            raise missing_section(outline, marker)
    claim = ownership.Claim(
        sections=markers,
        parents={page.id: page.section for page in outline.details if page.section},
        agent=memory.actor,
        now=now,
        ownership_type=flags["ownership_type"],
        expires_at=time_input.parse(span or until, now, ahead=True, whole_day=True) if span or until else None,
        reason=flags["reason"],
        readers=tuple(map(agent_name, flags["readers"])) or None,
        force=flags["force"],
    )
    plan = partial(ownership.acquire, claim=claim)
    carry_out(memory, plan, flags, lambda result: _ownership_lines(result.step.state, markers))


@command("release", ("memctl team own release §2.1", "Release a section."), group=own_command,)  # fmt: skip
@_sections
@_force
@agreeing
def release_command(ctx: click.Context, /, sections: tuple[str, ...], force: bool, **flags: Any) -> None:
    """Release sections, so that nobody owns them."""
    memory = memory_access.memory(ctx)
    markers = tuple(map(ownership.section_id, sections))
    why = flags["reason"] or ""
    plan = partial(ownership.release, sections=markers, agent=memory.actor, now=memory.now, force=force, reason=why)
    carry_out(memory, plan, flags, lambda _: f"release {', '.join(markers)}")


@command(
    "transfer",
    ("memctl team own transfer §2.1 --to elena --reason 'She knows the schema'", "Give a section to another agent."),
    group=own_command,
)
@_sections
@click.option("--to", required=True, metavar="AGENT", help="The agent that gets the sections.")
@_force
@agreeing
def transfer_command(ctx: click.Context, /, sections: tuple[str, ...], to: str, force: bool, **flags: Any) -> None:
    """Give sections to another agent: all of the given ones, or none. Type and end of the ownership stay the same."""
    memory = memory_access.memory(ctx)
    markers = tuple(map(ownership.section_id, sections))
    give, why = partial(ownership.transfer, sections=markers, agent=memory.actor, to=to), flags["reason"] or ""
    plan = partial(give, now=memory.now, force=force, reason=why)
    carry_out(memory, plan, flags, lambda result: _ownership_lines(result.step.state, markers))


@command(
    "list",
    ("memctl team own list", "List all owned sections."),
    ("memctl team own list --agent elena --json", "List the sections of one agent, for a program."),
    group=own_command,
)
@click.option("--agent", default="", help="List only the sections that this agent owns.")
@flag_option("--all", "everything", help="Also list ownership that has expired.")
@_fetch_option
@json_option
def list_command(ctx: click.Context, /, agent: str, everything: bool, remote: str | None, as_json: bool) -> None:
    """List who owns which sections, since when and until when."""
    memory = memory_access.memory(ctx)
    now = memory.now
    state = read_state(memory, remote).state
    owned = sorted(state.section_ownership_map.values(), key=lambda held: [*map(int, held.section_id[1:].split("."))])
    shown = [held for held in owned if (everything or held.is_live(now)) and agent in ("", held.owner_agent_id)]
    if as_json:
        rows = [{**msgspec.to_builtins(item), "is_live": item.is_live(now)} for item in shown]
        data = {"total": len(rows), "sync_version": state.sync_version, "sections": rows}
        output.json("ownership", data)
        return
    header = ("section", "owner", "type", "since", "until", "reason")
    restricted = any(item.agents_with_read_access is not None for item in shown)
    if shown:
        output.columns([(*header[:5], "readers", header[5]) if restricted else header,
                        *(_row(item, now, restricted) for item in shown)])  # fmt: skip
    else:
        output.note("no section has an owner")


@command(
    "check",
    (
        "memctl team own check §2.1 src/auth/jwt.py",
        "Print whether you may write to a section and a file; exit with 1 if not.",
    ),
    ("memctl team own check §3.2 --read --agent elena", "Print whether Elena may read a page of details."),
    group=own_command,
)
@click.argument("places", metavar="§2.N|PATH…", nargs=-1, required=True)
@click.option("--agent", default="", help="Check what this agent may do, in place of what you may.")
@flag_option("--read", "reading", help="Check who may read, in place of who may write.")
@_fetch_option
@json_option
def check_command(
    ctx: click.Context, /, places: tuple[str, ...], agent: str, reading: bool, remote: str | None, as_json: bool
) -> None:
    """Check whether you may write to sections, or to files that they cover, even files that do not exist yet.

    PATH is relative to this folder or to the top of the worktree; a folder stands for all files in it. Exit code 0: you
    may write everywhere; 1: not everywhere.
    """
    from memctl.pages import governing_sections

    memory = memory_access.memory(ctx)
    name = agent_name(agent) if agent else memory.actor
    state, snapshot = read_state(memory, remote).state, load.disk(memory)
    ownerships: dict[str, list[Ownership]] = {}
    granted: dict[str, bool] = {}
    for place in places:
        governing = governing_sections.governing_sections(
            memory, snapshot, state.section_ownership_map, ctx.obj.folder, place
        )
        held = (state.innermost(markers, memory.now) for markers in governing)
        ownerships[place] = list(dict.fromkeys(entry for entry in held if entry is not None))
        is_open = reading and re.fullmatch("§?(?:1[.]0|2[.][0-9]+)", place) is not None  # all read levels 1 and 2
        granted[place] = is_open or all(
            entry.lets_read(name) if reading else entry.lets_write(name) for entry in ownerships[place]
        )
    if as_json:
        data = [
            {"place": place, "granted": granted[place], "ownerships": msgspec.to_builtins(ownerships[place])}
            for place in ownerships
        ]
        output.json_list("ownership-check", data, name="places")
    else:
        for place, owned in ownerships.items():
            why = (
                "; ".join(_describe(entry) if reading else entry.description for entry in owned)
                or "no agent owns this place"
            )
            output.text(f"{place}: {'yes' if granted[place] else 'no'}, {why}")
    ctx.exit(OK if all(granted.values()) else REFUSED)


def _row(item: Ownership, now: str, restricted: bool) -> tuple[str, ...]:
    until = item.expires_at or "-"
    until += "" if item.is_live(now) else " (over)"
    row = item.section_id, item.owner_agent_id, item.ownership_type, item.acquired_at, until
    return (*row, item.readers or "all", item.lock_reason) if restricted else (*row, item.lock_reason)


def _ownership_lines(state: State, markers: tuple[str, ...]) -> str:
    return "\n".join(_describe(state.section_ownership_map[marker]) for marker in markers)


def _describe(held: Ownership) -> str:
    return (
        f"{held.description}; only {held.readers} may read its details and files" if held.readers else held.description
    )


team_command = Members("team", help="Show who is at work; own sections, hand work to other agents.", default="show")


@command(
    "show",
    ("memctl team show", "Show agents at work, owners of sections, and blockers."),
    (
        "memctl team show --remote origin --json",
        "Show the shared state with what others have pushed to origin, as JSON.",
    ),
    group=team_command,
)
@_fetch_option
@json_option
def show_command(ctx: click.Context, /, remote: str | None, as_json: bool) -> None:
    """Show the state that all agents share, in every worktree of this clone."""
    memory = memory_access.memory(ctx)
    state = read_state(memory, remote).state
    if as_json:
        output.json("coordination", msgspec.to_builtins(state))
        return
    for line in _lines(state, memory.now):
        output.text(line)


@command(
    "join",
    ("memctl team join --task 'Refunds'", "Tell the other agents that you are at work, and on what."),
    group=team_command,
)
@click.option("--task", default="", metavar="TEXT", callback=real_text, help="The task that you work on.")
@agreeing
def join_command(ctx: click.Context, /, task: str, **flags: Any) -> None:
    """List yourself among the agents at work. MEMCTL_AGENT says who you are."""
    memory = memory_access.memory(ctx)
    carry_out(memory, lambda state: agents.join(state, memory.actor, memory.now, task), flags)


@command(
    "leave",
    ("memctl team leave --release", "Tell the other agents that you have stopped, and release your sections."),
    group=team_command,
)
@click.option("--agent", default="", help="Take this other agent off the list instead of yourself; needs --reason.")
@flag_option("--release", help="Also release all sections that the agent owns.")
@agreeing
def leave_command(ctx: click.Context, /, agent: str, release: bool, **flags: Any) -> None:
    """Take yourself off the list of agents at work. Your sections stay yours unless you release them."""
    memory = memory_access.memory(ctx)
    if agent not in ("", memory.actor) and not (flags["reason"] or "").strip():
        raise MemctlError("--agent needs --reason, because you take another agent off the list", exit_code=USAGE)
    carry_out(memory, lambda state: agents.leave(state, agent or memory.actor, release=release), flags)


@command(
    "assign",
    ("memctl team assign elena 'Write the refund worker'", "Assign a task to an agent."),
    ("memctl team assign elena 'Write the refund worker' --remove", "Take a task away from an agent."),
    group=team_command,
)
@click.argument("agent")
@click.argument("task")
@flag_option("--remove", help="Take the task away from the agent.")
@agreeing
def assign_command(ctx: click.Context, /, agent: str, task: str, remove: bool, **flags: Any) -> None:
    """Assign a task to an agent, or take it away from the agent with --remove."""
    if not remove:
        refuse_placeholder(task, "TASK")
    carry_out(memory_access.memory(ctx), lambda state: agents.assign(state, agent, task, remove=remove), flags)


@command(
    "block",
    ("memctl team block 'Staging is down'", "Tell all agents that nobody can continue."),
    group=team_command,
)
@click.argument("text", callback=real_text)
@agreeing
def block_command(ctx: click.Context, /, text: str, **flags: Any) -> None:
    """Report something that blocks all agents."""
    memory = memory_access.memory(ctx)
    carry_out(memory, lambda state: agents.block(state, text, memory.actor, memory.now), flags)


@command(
    "unblock",
    ("memctl team unblock 'Staging is down'", "Tell all agents that the blocker is gone."),
    group=team_command,
)
@click.argument("blocker")
@agreeing
def unblock_command(ctx: click.Context, /, blocker: str, **flags: Any) -> None:
    """Remove a blocker, named by its id or its text."""
    carry_out(memory_access.memory(ctx), lambda state: agents.unblock(state, blocker), flags)


@command(
    "share",
    ("memctl team share staging 'elena, until noon'", "Tell all agents about a shared resource."),
    ("memctl team share staging ''", "Remove it."),
    group=team_command,
)
@click.argument("name")
@click.argument("value")
@agreeing
def share_command(ctx: click.Context, /, name: str, value: str, **flags: Any) -> None:
    """Tell all agents about a shared resource; an empty VALUE removes the resource."""
    carry_out(memory_access.memory(ctx), lambda state: agents.share(state, name, value), flags)


def _by(agent: Agent) -> str:
    texts = [" ".join([f"{name}:", *work.sections]).removesuffix(":") for name, work in agent.handoffs.items()]
    return f" ({', '.join(texts)})" if texts else ""


def _lines(state: State, now: str) -> list[str]:
    changed = f", last changed {state.last_sync_timestamp}" if state.last_sync_timestamp else ""
    live = [held for _, held in sorted(state.section_ownership_map.items()) if held.is_live(now)]
    parts = {
        "at work": [
            f"{name}, since {agent.joined_at}{f': {agent.task}' if agent.task else ''}{_by(agent)}"
            for name, agent in sorted(state.active_agents.items())
        ],
        "owned": [held.description for held in live],
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
