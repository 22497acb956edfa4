"""`own`: which agent may write which section."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.command import Command, Group, json_option
from memctl.coordination import ownership, shared
from memctl.coordination.ownership import Claim
from memctl.coordination.shared import Outcome, Plan, Terms
from memctl.coordination.state import TYPES, Ownership, State
from memctl.errors import USAGE, MemctlError
from memctl.model import moments
from memctl.store import load
from memctl.store.memory import Memory

own_command = Group(
    "own", help="Say who owns which section, and take, give back and hand over sections.", no_args_is_help=True
)
_FORCE = "Although another owns it; needs --reason."


def agreeing(function: Any) -> Any:
    """The options of every command that changes the shared state."""
    for option in reversed(
        (
            click.option("--reason", default="", help="Why; the history of the state keeps it."),
            click.option(
                "--expect-version", "expected", type=click.IntRange(min=0), metavar="N",
                help="Only if the state is at this version still.",
            ),
            click.option("--dry-run", "-n", is_flag=True, help="Say what would change, and change nothing."),
        )
    ):  # fmt: skip
        function = option(function)
    return json_option(function)


def carry_out(memory: Memory, plan: Plan, given: dict[str, Any], then: Callable[[Outcome], str]) -> None:
    """Change the shared state and say what came of it: as JSON, or in the line that `then` makes of it."""
    terms = Terms(given["reason"], given["dry_run"], given["expected"])
    result = shared.update(memory, plan, terms)
    state = result.step.state
    if given["as_json"]:
        data = {
            "op": result.step.op,
            "title": result.step.title,
            "changed": result.changed,
            "sync_version": state.sync_version,
            "commit": result.commit or None,
        }
        output.json("coordination-change", data)
    elif not result.changed:
        output.text(output.plain(then(result)))
        output.note("nothing to change")
    else:
        output.text(output.plain(f"{'would ' if terms.dry_run else ''}{then(result)}"))


@own_command.command(
    "acquire",
    cls=Command,
    examples=(
        ("memctl own acquire §2.1 --for 4h --reason 'New schema'", "Only you write there for the next four hours."),
        ("memctl own acquire §2.1 §3.2 --type shared-write", "All may write there, and see that it is shared."),
        ("memctl own acquire §3.2 --reader elena", "Besides you, only Elena reads these details."),
    ),
)
@click.argument("sections", metavar="§2.N…", nargs=-1, required=True)
@click.option("--type", "ownership_type", type=click.Choice(TYPES), default=TYPES[0], show_default=True,
              help="Who may write: you, all, nobody.")  # fmt: skip
@click.option("--for", "span", default="", metavar="SPAN", help="How long, such as 4h, 7d, 2w. [default: no end]")
@click.option("--until", default="", metavar="TIME", help="Until when.")
@click.option("--reader", "readers", multiple=True, metavar="AGENT", help="Besides you only these read its details.")
@click.option("--force", is_flag=True, help=_FORCE)
@agreeing
@click.pass_context
def acquire_command(
    ctx: click.Context,
    /,
    sections: tuple[str, ...],
    ownership_type: str,
    span: str,
    until: str,
    readers: tuple[str, ...],
    force: bool,
    **given: Any,
) -> None:
    """Take sections, all or none: details, records and code of §2.N go with it.

    Who has a section takes it again to change the type, the end or the reason. Refused is what another owns; what has
    come to its end is free. MEMCTL_AGENT is who you are.
    """
    if span and until:
        raise MemctlError("--for and --until exclude each other", exit_code=USAGE)
    memory = opening.memory(ctx)
    now = memory.now
    markers = _known(memory, sections)
    claim = Claim(
        sections=markers,
        agent=memory.actor,
        now=now,
        ownership_type=ownership_type,
        expires_at=moments.parse_option(span or until, now, ahead=True, whole_day=True) if span or until else None,
        reason=given["reason"],
        readers=tuple(map(ownership.agent_name, readers)) if readers else None,
        force=force,
    )
    carry_out(memory, ownership.acquire(claim), given, lambda result: _told(result.step.state, markers))


@own_command.command(
    "release", cls=Command, examples=(("memctl own release §2.1", "Give it back."),)
)  # fmt: skip
@click.argument("sections", metavar="§2.N…", nargs=-1, required=True)
@click.option("--force", is_flag=True, help=_FORCE)
@agreeing
@click.pass_context
def release_command(ctx: click.Context, /, sections: tuple[str, ...], force: bool, **given: Any) -> None:
    """Give sections back."""
    memory = opening.memory(ctx)
    markers = tuple(map(ownership.section_id, sections))
    plan = ownership.release(markers, memory.actor, memory.now, force=force, reason=given["reason"])
    carry_out(memory, plan, given, lambda _: f"release {', '.join(markers)}")


@own_command.command(
    "transfer",
    cls=Command,
    examples=(("memctl own transfer §2.1 --to elena --reason 'She knows the schema'", "Hand it to another agent."),),
)
@click.argument("sections", metavar="§2.N…", nargs=-1, required=True)
@click.option("--to", required=True, metavar="AGENT", help="Who is to own it.")
@click.option("--force", is_flag=True, help=_FORCE)
@agreeing
@click.pass_context
def transfer_command(ctx: click.Context, /, sections: tuple[str, ...], to: str, force: bool, **given: Any) -> None:
    """Hand sections to another agent, all or none, with type and end as they are."""
    memory = opening.memory(ctx)
    markers = tuple(map(ownership.section_id, sections))
    plan = ownership.transfer(markers, memory.actor, to, memory.now, force=force, reason=given["reason"])
    carry_out(memory, plan, given, lambda result: _told(result.step.state, markers))


@own_command.command(
    "list",
    cls=Command,
    examples=(
        ("memctl own list", "Every section that somebody owns."),
        ("memctl own list --agent elena --json", "What one agent has, for a program."),
    ),
)
@click.option("--agent", default="", help="Only what this agent owns.")
@click.option("--all", "everything", is_flag=True, help="Also what has come to its end.")
@json_option
@click.pass_context
def list_command(ctx: click.Context, /, agent: str, everything: bool, as_json: bool) -> None:
    """List who owns which sections, since when and until when."""
    memory = opening.memory(ctx)
    now = memory.now
    state = shared.read(memory).state
    found = [
        item
        for _, item in sorted(state.section_ownership_map.items(), key=lambda pair: _order(pair[0]))
        if (everything or item.is_live(now)) and agent in ("", item.owner_agent_id)
    ]
    if as_json:
        rows = [{**msgspec.to_builtins(item), "is_live": item.is_live(now)} for item in found]
        output.json("ownership", {"sync_version": state.sync_version, "sections": rows})
        return
    header = ("section", "owner", "type", "since", "until", "reason")
    shown = [_row(item, now) for item in found]
    if shown:
        output.columns([header, *shown])
    else:
        output.note("nobody owns a section")


def _row(item: Ownership, now: str) -> tuple[str, ...]:
    until = item.expires_at or "-"
    until += "" if item.is_live(now) else " (over)"
    return item.section_id, item.owner_agent_id, item.ownership_type, item.acquired_at, until, item.lock_reason


def _order(section: str) -> tuple[int, ...]:
    return tuple(int(part) for part in section.removeprefix("§").split("."))


def _told(state: State, markers: tuple[str, ...]) -> str:
    return "\n".join(state.section_ownership_map[marker].told for marker in markers)


def _known(memory: Memory, sections: tuple[str, ...]) -> tuple[str, ...]:
    """The markers of sections that this worktree has; raises MemctlError for others, which would be slips."""
    outline = load.disk(memory).outline
    markers = tuple(dict.fromkeys(map(ownership.section_id, sections)))
    for marker in markers:
        if outline.find(marker) is None and outline.fault_of(marker) is None:
            known = ", ".join(page.id for page in (*outline.sections, *outline.details)) or "none"
            raise MemctlError(f"there is no section {marker}", f"there are {known}", USAGE)
    return markers
