"""The commands `decide`, `issue`, `state` and `learn`, which create records. They are built from the record types."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from memctl.cli import memory_access, output, record_options, write_command
from memctl.cli.command import Command, complete_id, for_people, options
from memctl.cli.write_command import command_of, strict_option, take_flags, write_options, writing
from memctl.errors import USAGE, MemctlError
from memctl.record.change import Change
from memctl.record.kinds import STATE, Kind
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line
from memctl.write import create, transaction

if TYPE_CHECKING:
    from memctl.record.task_state import TaskState
    from memctl.store.memory import Memory


def command(kind: Kind) -> Command:
    """Build the command that creates records of a type, such as `memctl decide`."""
    return command_of(
        kind.verb, partial(run, kind), kind.help, _params(kind), *kind.examples, last=options(writing, strict_option)
    )


_LONGEST_TITLE = 120  # characters of a title that is made of a task
_UPDATES = ("update", "checkpoint", "completion_percentage")
_DEFAULT_NOTES = {  # how help texts show the default of a new record
    "--severity": " [default: medium]",
    "--completion": " [default: 0]",
    "--importance": " [default: depends on the type]",
    "--timestamp": " [default: now]",
    "--agent": " [default: MEMCTL_AGENT, or your name in Git]",
}


def _params(kind: Kind) -> list[click.Parameter]:
    ids: dict[str, Any] = {"multiple": True, "metavar": "ID", "shell_complete": complete_id}
    fields = [*record_options.own(kind), *record_options.common(kind.statuses)]
    for option in fields:
        option.help = f"{option.help}{_DEFAULT_NOTES.get(option.opts[0], '')}"
        if option.name == "status":
            option.help = f"{option.help} [default: {kind.statuses[0]}]"
    return [
        click.Argument(["title"], required=False),
        *fields,
        *(_of_states() if kind is STATE else []),
        click.Option(["--relates-to"], help="The id of a related record. Repeatable.", **ids),
        click.Option(["--supersedes"], help="The id of a record that the new record replaces. Repeatable.", **ids),
        click.Option(["--blocks"], help="The id of a record that the new record blocks. Repeatable.", **ids),
        click.Option(["--blocked-by"], help="The id of a record that blocks the new record. Repeatable.", **ids),
        click.Option(
            ["--parent", "parent_memory_id"],
            metavar="ID",
            shell_complete=complete_id,
            help="The id of the record that the new record is a part of.",
        ),
        click.Option(
            ["--file", "-f"],
            metavar="FILE",
            callback=for_people,
            help="Read the record's title and text from a Markdown or JSON file (- for standard input).",
        ),
        click.Option(
            ["--edit", "-e"], is_flag=True, callback=for_people, help="Write the record's text in your editor."
        ),
    ]


def _of_states() -> list[click.Parameter]:
    return [
        click.Option(
            ["--task-id"],
            metavar="NAME",
            help="A name for the task; the new state supersedes the last state with this name.",
        ),
        click.Option(
            ["--new", "is_new"],
            is_flag=True,
            help="Keep an earlier state with the same title, section and agent: it is about another task.",
        ),
        click.Option(
            ["--update"],
            metavar="ID",
            shell_complete=complete_id,
            help="Update the state with this id instead of recording a new one: move steps, replace next actions.",
        ),
        click.Option(
            ["--checkpoint"],
            metavar="ID",
            help="Take what is not given from this checkpoint; `newest` is where your work stands now.",
        ),
    ]


def _update(ctx: click.Context, given: dict[str, Any]) -> None:
    from memctl.write import task_state

    memory = memory_access.memory(ctx)
    flags, reference, named = take_flags(given), given["update"], given["checkpoint"]
    fields = {field.name: list(v) if isinstance(v := given[field.name], tuple) else v for field in STATE.fields}
    flags_by_name = {param.name: param.opts[0] for param in ctx.command.params}
    other = [
        flags_by_name.get(name, name)
        for name, value in given.items()
        if value not in (None, (), False) and name not in (*fields, *_UPDATES)
    ]
    if other:
        raise MemctlError(
            f"--update can't be combined with {', '.join(sorted(other))}",
            f"`memctl edit {reference}` changes other fields",
            USAGE,
        )

    def change(snapshot: Snapshot) -> Change:
        saved = _saved_state(memory, named) if named else None
        return task_state.update(snapshot, reference, fields, saved, given["completion_percentage"])

    result = transaction.carry_out(memory, lambda _: change(load.disk(memory)), write_options(flags))
    write_command.outcome(memory, result, flags)


def _saved_state(memory: Memory, named: str) -> TaskState:
    """`newest` stands for the agent's live state."""
    from memctl.task import checkpoints, live_state

    reading = memory_access.readable(memory, None)
    workflow = checkpoints.workflow_for(memory, reading)
    if named != "newest":
        return checkpoints.resolve(reading, named, workflow)
    live = live_state.read(live_state.folder_of(memory))
    if checkpoints.newest_of(reading, workflow) is None and live is not None and live.task.goal:
        return checkpoints.readable(reading, live.task)[0]
    return live_state.bring_up_to_date(memory, checkpoints.resolve(reading, "", workflow))


def _publish(memory: Memory, given: dict[str, Any], named: str) -> None:
    from memctl.task import state_record

    saved = _saved_state(memory, named)
    for name, value in state_record.record_values(saved).items():
        given[name] = given[name] or value
    given["title"] = given["title"] or cut_at_word(one_line(saved.goal), _LONGEST_TITLE)
    if given["completion_percentage"] is None:
        given["completion_percentage"] = saved.completion


_READING = ("list", "ls", "show", "all")  # what people type for a command of their own


def run(kind: Kind, ctx: click.Context, given: dict[str, Any]) -> None:
    """Create a record from the values of a command's options, and print its id and path.

    `kind` is the record's type, and `given` has the values of the options by the names of their parameters. If --update
    is among the options, a state record that exists is changed instead.
    """
    if given.get("update"):
        _update(ctx, given)
        return
    given.pop("update", None)
    memory = memory_access.memory(ctx)
    if named := given.pop("checkpoint", None):
        _publish(memory, given, named)
    flags = take_flags(given)
    source, use_editor = given.pop("file"), given.pop("edit")
    if kind is STATE:
        from memctl.task import progress, state_record

        progress.refuse_conflicting(state_record.stated_steps(given))
    is_new = given.pop("is_new", False)
    draft = create.Draft(kind=kind, values={})
    if source:
        from memctl.cli.text_input import draft_from, name_of

        draft, notes = draft_from(kind, source)
        for line in notes:
            output.note(output.plain(f"note: {name_of(source)}: {line}"))
    draft.take(given)
    draft.is_new = is_new
    keeping: AbstractContextManager[None] = nullcontext()
    if use_editor:
        from memctl.cli.text_input import compose, keep_if_refused

        draft.body = compose(
            create.body_of(draft, create.template(memory, kind)) or create.template_text(memory, kind), draft
        )
        draft.content = {}
        keeping = keep_if_refused(memory, draft.body)
    if not str(draft.values.get("title", "")).strip():
        raise MemctlError(
            "the record has no title",
            f"give a title, as in `memctl {ctx.info_name} TITLE …`, or --file with a file that begins with a heading",
            USAGE,
        )
    if draft.values["title"] in _READING and not (source or draft.content or draft.body):
        hint = f"`memctl list --type {kind.name}` lists {kind.plural}, and `memctl show ID` shows one"
        raise MemctlError(
            f"the title {draft.values['title']!r} does not say what the {kind.name} is about", hint, USAGE
        )
    with keeping:
        result = create.add(memory, draft, write_options(flags))
    line = f"{result.change.ids[0]} {memory.tracked(result.change.writes[0].path)}"
    write_command.outcome(memory, result, flags, [line])
