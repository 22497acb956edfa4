"""The commands `memctl event …`: record and show events of a workflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memctl.cli import memory_access, output
from memctl.cli.command import Group, choice_option, command, json_option, limit_option, options, text_options
from memctl.cli.write_command import naming_options
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record import time_input
from memctl.record.event import TYPES, ContextSizes, WorkflowEvent
from memctl.store import event_stream
from memctl.store.memory import Memory
from memctl.task import events as task_events
from memctl.task.formats import event_xml
from memctl.text.phrases import some

workflow_option = click.option(
    "--workflow", default="", metavar="NAME", help="The name of the workflow. [default: the workflow of the branch]"
)
_SHOWN = 5  # unreadable lines to name in a warning
_WHEN = ("before", "after")
_SIZES = {
    "scs": ("TOKENS", "Tokens of the shared slice (what the agents' contexts have in common)"),
    "aws": ("TOKENS", "Tokens in the whole window"),
    "debt": ("PERCENT", "Share of the window that is repeated or superseded text"),
}

# The options that set the fields of an event.
_event_options = options(
    click.option("--to", "target_agent", default="", metavar="AGENT", help="The agent that does the next phase."),
    text_options(
        ("--phase", "phase", "The phase that the event is about, such as design."),
        ("--action", "action_taken", "What was done, such as how a context was compressed."),
        ("--mission", "mission", "The goal of the work."),
        ("--decision", "critical_decisions", "A decision that the next agent must know. Repeatable."),
        ("--constraint", "constraints", "A constraint on the work, or `none` if there is none. Repeatable."),
        ("--input", "inputs", "An input for the next agent, such as a file. Repeatable."),
        ("--expect", "expected_outputs", "A result that the next agent is to produce. Repeatable."),
        ("--output", "deliverables", "A result of the phase, such as a file. Repeatable."),
    ),
    *(
        click.option(
            f"--{name}-{when}",
            type=click.IntRange(0) if unit == "TOKENS" else click.FloatRange(0, 100),
            metavar=unit,
            help=f"{what}, {when} the event.",
        )
        for when in _WHEN
        for name, (unit, what) in _SIZES.items()
    ),
)


@command(
    "emit",
    (
        'memctl event emit --type phase_complete --phase design --output "docs/api.md"',
        "Record the end of a phase, and its results.",
    ),
    (
        'memctl event emit --type phase_start --phase build --to codex --mission "Refunds by card" --input docs/api.md'
        ' --expect "POST /refunds with tests" --constraint "no new dependencies"',
        "Record the start of the next phase, with all that its agent needs.",
    ),
    (
        'memctl event emit --type compression --action "summarised the research" --aws-before 9000 --aws-after 4100',
        "Record a compression of the context.",
    ),
)
@click.option("--type", "event_type", required=True, type=click.Choice(TYPES), help="The type of the event.")
@workflow_option
@_event_options
@json_option
def emit_command(ctx: click.Context, /, workflow: str, as_json: bool, **given: Any) -> None:
    """Record an event of a workflow: a phase begins or ends, a context is compressed, an agent is called.

    If an option that this type of event needs is missing, the command names the option and records nothing.
    """
    memory = memory_access.memory(ctx)
    before, after = (ContextSizes(*(given.pop(f"{name}_{when}") for name in _SIZES)) for when in _WHEN)
    name = task_events.workflow(memory, workflow)
    with naming_options(ctx):
        stream = task_events.emit(memory, name, {**given, "before_state": before, "after_state": after})
    event = stream.events[-1]
    waiting = task_events.since_checkpoint(stream.events, name)
    if as_json:
        data = {"event": event, "since_checkpoint": len(waiting), "is_due": task_events.is_due(waiting)}
        output.answer("event", data)
    else:
        output.text(f"{event.sequence} {event.event_type}")
    _warn(memory, stream, name)


@command(
    "list",
    ("memctl event list", "List the latest events of all workflows, newest first."),
    ("memctl event list --type compression --since 7d --json", "List the compressions of the last seven days as JSON."),
)
@click.option(
    "--type", "types", multiple=True, type=click.Choice(TYPES), help="List only events of this type. Repeatable."
)
@click.option("--workflow", default="", metavar="NAME", help="List only events of this workflow.")
@text_options(
    ("--since", "since", "List only events since this time: 2025-11-04, or 7d for seven days ago."), metavar="TIME"
)
@limit_option(20)
@json_option
def list_command(
    ctx: click.Context, /, types: tuple[str, ...], workflow: str, since: str, limit: int, as_json: bool
) -> None:
    """List events, newest first."""
    memory = memory_access.memory(ctx)
    stream = event_stream.read(memory)
    name = task_events.workflow(memory, workflow)
    earliest = time_input.parse(since, memory.now) if since else ""
    events = [
        event
        for event in reversed(stream.events)
        if (not types or event.event_type in types)
        and (not workflow or event.workflow_id == name)
        and event.timestamp >= earliest
    ]
    shown = events[: limit or None]
    if as_json:
        rows = [{"event": event} for event in shown]
        output.answer("events", {"total": len(events), "unreadable_lines": stream.broken, "events": rows})
    else:
        output.columns([_row(event) for event in shown])
        output.rest(len(events), len(shown), "no event matches")
    _warn(memory, stream, name)
    ctx.exit(REFUSED if stream.broken else OK)


@command(
    "show",
    ("memctl event show --format xml", "Print the latest event as XML, for the next agent."),
    ("memctl event show 12 --json", "Print the event with the number 12 as JSON."),
)
@click.argument("number", required=False, type=click.IntRange(min=1))
@choice_option("--format", "-f", "form", among=["xml", "json"], default="xml", help="The format to print the event in.")
@json_option
def show_command(ctx: click.Context, /, number: int | None, form: str, as_json: bool) -> None:
    """Print one event: the one with NUMBER, or else the latest."""
    stream = event_stream.read(memory_access.memory(ctx))
    event = next((item for item in reversed(stream.events) if number in (None, item.sequence)), None)
    if event is None:
        message = f"there is no event {number}" if number else "there are no events"
        hint = "`memctl event list --limit 0` lists all events" if stream.events else "`memctl event emit` records one"
        raise MemctlError(message, hint, USAGE if number else REFUSED)
    if as_json or form == "json":
        output.answer("event", {"event": event})
        return
    output.text(event_xml(event, compressions(stream.events, event)), newline=False, is_pack=True)


event_command = Group("event", help="Record and show events of a workflow.", no_args_is_help=False)
for member in (emit_command, list_command, show_command):
    event_command.add_command(member)


def compressions(events: Sequence[WorkflowEvent], until: WorkflowEvent) -> int:
    """Return how many compressions of the context a workflow has had, up to the event `until` and including it.

    `events` may have events of several workflows; those of the workflow of `until` are counted.
    """
    return sum(
        event.event_type == "compression"
        and event.workflow_id == until.workflow_id
        and event.sequence <= until.sequence
        for event in events
    )


def _row(event: WorkflowEvent) -> tuple[str, ...]:
    to = f" -> {event.target_agent}" if event.target_agent else ""
    return (
        str(event.sequence),
        event.timestamp,
        event.event_type,
        event.workflow_id,
        f"{event.source_agent}{to}",
        event.about,
    )


def _warn(memory: Memory, stream: event_stream.Stream, workflow: str) -> None:
    if stream.broken:
        file, numbers = event_stream.file_of(memory), some([str(number) for number in stream.broken], _SHOWN)
        output.note(f"warning: events are left out, because these lines of {file} can't be read: {numbers}")
        output.note("hint: delete these lines; the state of each task is kept in its checkpoints, not in this file")
    waiting = task_events.since_checkpoint(stream.events, workflow)
    if task_events.is_due(waiting):
        output.note(f"the workflow {workflow} has had {len(waiting)} events since its last checkpoint")
        output.note("hint: `memctl checkpoint save` saves a checkpoint that includes them")
