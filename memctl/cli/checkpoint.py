"""The commands `memctl checkpoint …`: save the state of a task, and resume it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import Group, command, complete, json_option, limit_option, options, reading, text_options
from memctl.cli.event import workflow_option
from memctl.cli.write_command import naming_options, not_empty, real_text, take_flags, write_options, writing
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record.checkpoint import Checkpoint
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import PROGRESS, Step, TaskState
from memctl.store.memory import Memory
from memctl.task import checkpoints, events, formats, resume
from memctl.task.resume import StateGap
from memctl.write import task_state
from memctl.write.task_state import SaveOptions

_FORMS = {"markdown": formats.markdown, "xml": formats.xml}

# The options that set what a checkpoint holds: fields of the task's state, statuses of its steps, and its type.
_task_options = options(
    click.option(
        "--task", "goal", default="", callback=not_empty, metavar="TEXT", help="The goal that the task serves."
    ),
    text_options(
        ("--phase", "phase", "The phase of the workflow."),
        ("--planned", "planned", "A planned step. Repeatable."),
        ("--doing", "in_progress", "A step in progress. Repeatable."),
        ("--done", "done", "A finished step. Repeatable."),
        ("--claimed", "claimed", "A step reported as finished, but not verified. Repeatable."),
        ("--drop", "dropped", "A step to take off the list. Repeatable."),
        ("--next", "next_actions", "A next action. Repeatable."),
        ("--decision", "decisions", "A decision made so far. Repeatable."),
        ("--issue", "issues", "An open issue, or `none`. Repeatable."),
        ("--error", "errors", "An unsolved error, or `none`. Repeatable."),
        ("--blocker", "blockers", "A blocker, or `none`. Repeatable."),
        ("--learned", "lessons", "A lesson learned so far. Repeatable."),
        ("--summary", "summary", "A result of this context window. Repeatable."),
        ("--input", "inputs", "Something the work needs. Repeatable."),
        ("--expect", "success_criteria", "An expected result. Repeatable."),
        ("--constraint", "constraints", "A constraint, or `none`. Repeatable."),
        check=real_text,
    ),
    click.option(
        "--scs", "scs_size", type=click.IntRange(0), metavar="TOKENS", help="Size of the shared context slice."
    ),
    click.option(
        "--aws", "aws_size", type=click.IntRange(0), metavar="TOKENS", help="Size of the agent's working set."
    ),
    click.option("--base", default="", metavar="VERSION|ID", help="The checkpoint that this one continues."),
    click.option("--window", type=click.IntRange(1, 999_999), help="The number of your present context window."),
)


@command(
    "save",
    (
        'memctl checkpoint save --task "Refunds by card" --done GET --doing POST --planned DELETE --next "A test"',
        "Save the first checkpoint, which names the task.",
    ),
    (
        'memctl checkpoint save --done POST --doing DELETE --next "Cascade"',
        "Save the next one: what is done, begun and planned.",
    ),
    (
        "memctl checkpoint save --base 7 --window 3 --done DELETE",
        "Save only if version 7 is still the newest, and no later window has begun.",
    ),
)
@workflow_option
@_task_options
@writing
@click.pass_context
def save_command(ctx: click.Context, /, workflow: str, **given: Any) -> None:
    """Save the state of a task, as JSON and Markdown in one commit.

    A step stays in its list until you name it for another one; a step that is done stays done. Another task begins with
    empty lists. Decisions, issues and learnings are also taken from the memory, files from Git, and the rest from the
    checkpoint before. A checkpoint that continues from an older one than the newest is stale, and refused. If somebody
    else works on another task on this branch, yours gets its own workflow; `--workflow NAME` shares theirs. When every
    step is done, `--next none` says that the task is finished.
    """
    flags = take_flags(given)
    memory = memory_access.memory(ctx)
    how = SaveOptions(
        workflow=events.workflow(memory, workflow) if workflow else "",
        **{name: given.pop(name) for name in ("window", "base", "dropped", "scs_size", "aws_size")},
    )
    steps = [Step(text, status) for status in PROGRESS for text in given.pop(status)]
    phase = given.pop("phase")
    state = TaskState(steps=tuple(steps), phases=(phase,) if phase else (), **given)
    with naming_options(ctx):
        made, result = task_state.save(memory, state, how, write_options(flags))
    lines = [f"{made.checkpoint_id} {memory.tracked(made.number.path)}"]
    write_command.outcome(memory, result, flags, lines)
    _note_missing(resume.missing_fields(made))


@command(
    "list",
    ("memctl checkpoint list", "List all checkpoints, newest first."),
    ("memctl checkpoint list --workflow refunds --json", "List the checkpoints of one workflow, for a program."),
)
@click.option("--workflow", default="", metavar="NAME", help="List only this workflow's checkpoints.")
@limit_option(20)
@click.option(
    "--all", "everything", is_flag=True, help="Also list deleted checkpoints, which `memctl restore ID` restores."
)
@reading
@click.pass_context
def list_command(
    ctx: click.Context, /, workflow: str, limit: int, everything: bool, as_json: bool, at: str | None
) -> None:
    """List checkpoints, newest first.

    `memctl maintain` deletes those that newer ones have replaced; Git keeps them.
    """
    if everything and at is not None:
        raise MemctlError("--all lists checkpoints of the worktree, so it can't be combined with --at", exit_code=USAGE)
    memory, snapshot = memory_access.read(ctx, at)
    workflow = events.workflow(memory, workflow) if workflow else ""
    found = checkpoints.read(snapshot, workflow)
    shown = found.checkpoints[: limit or None]
    gone = [one.id for one in checkpoints.deleted_versions(memory, snapshot, workflow)] if everything else []
    if as_json:
        opened = [checkpoints.readable(snapshot, one)[0] for one in shown]
        data = {"total": len(found.checkpoints), "checkpoints": [_data(memory, one) for one in opened]}
        output.json("checkpoints", data | ({"deleted": gone} if everything else {}), found.faults, memory)
    else:
        output.columns([*(_row(one) for one in shown), *((name, "deleted", "", "", "") for name in gone)])
        output.rest(len(found.checkpoints) + len(gone), len(shown) + len(gone), "there are no checkpoints")
    _note_rest(memory, shown)
    output.faults(memory, found.faults)
    ctx.exit(REFUSED if found.faults else OK)


@command(
    "show",
    ("memctl checkpoint show", "Print the newest checkpoint of this branch's workflow."),
    ("memctl checkpoint show refunds-w2-v7 --json", "Print the checkpoint whose id begins so, as JSON for a program."),
    ("memctl checkpoint show --format xml", "Print the newest one for an agent that takes over."),
)
@click.argument("id", required=False, default="", shell_complete=complete("checkpoint"))
@workflow_option
@click.option("--format", "-f", "form", type=click.Choice(list(_FORMS)), default="markdown", show_default=True,
              help="The output format.")  # fmt: skip
@reading
@click.pass_context
def show_command(ctx: click.Context, /, id: str, workflow: str, form: str, as_json: bool, at: str | None) -> None:
    """Print a checkpoint as it was saved."""
    memory, snapshot = memory_access.read(ctx, at)
    saved = checkpoints.find(memory, snapshot, id, _workflow(memory, snapshot, workflow))
    found, withheld = checkpoints.readable(snapshot, saved)
    if as_json:
        output.json("checkpoint", _data(memory, found))
    else:
        output.text(_FORMS[form](found), newline=False)
    _note_rest(memory, [found], withheld)


@command(
    "resume",
    ("memctl checkpoint resume", "Print what a new context window needs to continue; hooks do the same."),
    ("memctl checkpoint resume refunds-w2-v7 --allow-stale", "Resume from an earlier checkpoint."),
    ("memctl checkpoint resume --strict --json", "Print whether it can be resumed and what is missing, for a program."),
)
@click.argument("id", required=False, default="", shell_complete=complete("checkpoint"))
@workflow_option
@click.option(
    "--allow-stale", is_flag=True, help="Resume although there is a newer checkpoint, or another of the same version."
)
@click.option("--strict", is_flag=True, help="Fail if anything is missing, not only the task or the next step.")
@json_option
@click.pass_context
def resume_command(
    ctx: click.Context, /, id: str, workflow: str, allow_stale: bool, strict: bool, as_json: bool
) -> None:
    """Print what somebody who knows nothing else needs to continue from a checkpoint, in at most 9,500 characters.

    It says what the checkpoint lacks, and how branch, commits and files have changed since. A branch without a
    checkpoint goes on with the task that it was made from. Exit code 1: it can't be resumed, since it is stale or lacks
    the task or the next step.
    """
    memory = memory_access.memory(ctx)
    snapshot = memory_access.readable(memory, None)
    found = resume.prepare(memory, snapshot, id, _workflow(memory, snapshot, workflow))
    obstacles = found.obstacles(allow_stale=allow_stale, strict=strict)
    if as_json:
        data = {name: getattr(found, name) for name in ("missing", "drift", "twins")}
        data |= {"resumable": not obstacles, "obstacles": obstacles, "newer": found.newer.id if found.newer else None}
        data |= {"next_window": found.checkpoint.window_id + 1, **msgspec.structs.asdict(found.text)}
        output.json("resumption", {**data, "checkpoint": _data(memory, found.checkpoint)})
    elif obstacles:
        hint = "`memctl checkpoint save` adds what is missing"
        if found.newer is not None:
            hint = "resume from the newer one (pull or merge if it is not here), or give --allow-stale"
        elif found.twins:
            hint = "give the id of the checkpoint to resume from"
        raise MemctlError("\n".join([f"{found.checkpoint.checkpoint_id} can't be resumed:", *obstacles]), hint)
    else:
        output.text(found.text.text, newline=False)
        _note_missing(found.missing)
    _note_rest(memory, [found.checkpoint], found.withheld)
    ctx.exit(REFUSED if obstacles else OK)


checkpoint_command = Group("checkpoint", help="Save the state of a task, and resume it.", no_args_is_help=False)
for member in (save_command, list_command, show_command, resume_command):
    checkpoint_command.add_command(member)


def _workflow(memory: Memory, snapshot: Snapshot, given: str) -> str:
    return events.workflow(memory, given) if given else checkpoints.workflow_to_resume(memory, snapshot)


def _note_missing(missing: Sequence[StateGap]) -> None:
    """Print what a checkpoint lacks: what nobody can continue without, and what only `resume --strict` requires."""
    output.note(*(f"missing to resume: {gap}" for gap in missing if gap.essential))
    if others := "; ".join(str(gap) for gap in missing if not gap.essential):
        output.note(f"not given: {others}")


def _note_rest(memory: Memory, shown: Sequence[Checkpoint], withheld: int = 0) -> None:
    """Print which of some checkpoints are not committed yet, and which parts the reader may not read."""
    if memory_access.has_pending(memory):
        from memctl.store import journal

        names = {name for entry in journal.entries(memory.pending) if not entry.undone for name in entry.change.ids}
        output.note(*(f"{one.checkpoint_id} is not committed: `memctl commit` commits it" for one in shown
                      if one.checkpoint_id in names))  # fmt: skip
    if withheld:
        output.note(
            f"files and records left out, since their owners restrict readers: {withheld:,} (`memctl own list`)"
        )


def _data(memory: Memory, one: Checkpoint) -> dict[str, Any]:
    return {**msgspec.structs.asdict(one), "path": memory.tracked(one.number.path)}


def _row(one: Checkpoint) -> tuple[str, ...]:
    claimed = f", {len(one.claimed)} claimed" if one.claimed else ""
    steps = f"{len(one.done)} done{claimed}, {len(one.in_progress)} in progress, {len(one.planned)} planned"
    return one.checkpoint_id, one.saved_at, one.saved_by, steps, one.goal
