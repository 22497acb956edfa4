"""The commands `memctl checkpoint …`: save the state of a task, and resume it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import (
    Group,
    command,
    complete,
    flag_option,
    json_option,
    limit_option,
    number_option,
    options,
    reading,
    text_option,
    text_options,
)
from memctl.cli.event import workflow_option
from memctl.cli.write_command import naming_options, not_empty, real_text, take_flags, write_options, writing
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.record.checkpoint import Checkpoint
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import PROGRESS, Step, TaskState
from memctl.store.memory import Memory
from memctl.task import checkpoints, events, formats, resume
from memctl.write import task_state

_FORMS = {"markdown": formats.markdown, "xml": formats.xml}

# The options that set what a checkpoint holds: fields of the task's state, statuses of its steps, and its type.
_task_options = options(
    text_option("--task", "goal", callback=not_empty, help="The task: what the work is to achieve."),
    text_options(
        ("--phase", "phase", "The phase that the work is in, such as planning."),
        ("--planned", "planned", "A planned step. Repeatable."),
        ("--doing", "in_progress", "A step in progress. Repeatable."),
        ("--done", "done", "A finished step. Repeatable."),
        ("--claimed", "claimed", "A step reported as finished, but not verified. Repeatable."),
        ("--drop", "dropped", "A step to remove from the task. Repeatable."),
        ("--next", "next_actions", "A next action, or `none` if the task is finished. Repeatable."),
        ("--decision", "decisions", "A decision made during the task. Repeatable."),
        ("--issue", "issues", "An open issue, or `none` if there is none. Repeatable."),
        ("--error", "errors", "An unsolved error, or `none` if there is none. Repeatable."),
        ("--blocker", "blockers", "Something that blocks the work, or `none` if nothing does. Repeatable."),
        ("--learned", "lessons", "A lesson learned during the task. Repeatable."),
        ("--summary", "summary", "Something that was achieved in this context window. Repeatable."),
        ("--input", "inputs", "Something that the work needs, such as a file. Repeatable."),
        ("--expect", "success_criteria", "A result that the work is to produce. Repeatable."),
        ("--constraint", "constraints", "A constraint on the work, or `none` if there is none. Repeatable."),
        callback=real_text,
    ),
    number_option(
        "--scs",
        "scs_size",
        least=0,
        metavar="TOKENS",
        help="Tokens of the shared slice: what the contexts of parallel agents have in common.",
    ),
    number_option(
        "--aws",
        "aws_size",
        least=0,
        metavar="TOKENS",
        help="Tokens of the working set: all that is in the agent's window.",
    ),
    text_option(
        "--base",
        metavar="VERSION|ID",
        help="The version or id of the checkpoint that the new one continues; it must be the newest.",
    ),
    click.option(
        "--window",
        type=click.IntRange(1, 999_999),
        help="The number of your present context window: 1 for the first one of the task.",
    ),
)


@command(
    "save",
    (
        'memctl checkpoint save --task "Refunds by card" --done GET --doing POST --planned DELETE --next "A test"',
        "Save the first checkpoint, which names the task.",
    ),
    (
        'memctl checkpoint save --done POST --doing DELETE --next "Cascade"',
        "Save the next checkpoint: one step is done, another has begun.",
    ),
    (
        "memctl checkpoint save --base 7 --window 3 --done DELETE",
        "Save a checkpoint only if version 7 is still the newest, and no later window has begun.",
    ),
)
@workflow_option
@_task_options
@writing
def save_command(ctx: click.Context, /, workflow: str, **given: Any) -> None:
    """Save the state of a task, as JSON and Markdown in one commit.

    A step stays in its list until you give it with the option of another list; a step that is done stays done. Another
    task begins with empty lists. Decisions, issues and learnings are also taken from the memory, files from Git, and
    the rest from the previous checkpoint. A checkpoint is refused as stale if --base or --window shows that it does not
    continue the newest one. If somebody else works on another task on this branch, your task gets a workflow of its
    own; with `--workflow NAME` you share a workflow. When every step is done, `--next none` says that the task is
    finished.
    """
    flags = take_flags(given)
    memory = memory_access.memory(ctx)
    how = task_state.SaveOptions(
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
    ("memctl checkpoint list", "List the latest checkpoints, newest first."),
    ("memctl checkpoint list --workflow refunds --json", "List the checkpoints of one workflow as JSON."),
)
@text_option("--workflow", metavar="NAME", help="List only this workflow's checkpoints.")
@limit_option(20)
@flag_option("--all", "everything", help="Also list deleted checkpoints, which `memctl restore ID` restores.")
@reading
def list_command(
    ctx: click.Context, /, workflow: str, limit: int, everything: bool, as_json: bool, at: str | None
) -> None:
    """List checkpoints, newest first.

    `memctl maintain` deletes old checkpoints that newer ones have replaced; Git keeps them.
    """
    if everything and at is not None:
        raise MemctlError(
            "--all can't be combined with --at: deleted checkpoints are listed only for the present memory",
            "leave out --all or --at",
            USAGE,
        )
    memory, snapshot = memory_access.read(ctx, at)
    workflow = events.workflow(memory, workflow) if workflow else ""
    listed = checkpoints.read(snapshot, workflow)
    shown = listed.checkpoints[: limit or None]
    gone = [version.id for version in checkpoints.deleted_versions(memory, snapshot, workflow)] if everything else []
    if as_json:
        opened = [checkpoints.readable(snapshot, checkpoint)[0] for checkpoint in shown]
        data = {"total": len(listed.checkpoints), "checkpoints": opened, "deleted": gone if everything else None}
        output.answer("checkpoints", data, listed.faults, memory)
    else:
        output.columns([*(_row(checkpoint) for checkpoint in shown), *((name, "deleted", "", "", "") for name in gone)])
        output.rest(
            len(listed.checkpoints) + len(gone),
            len(shown) + len(gone),
            "there are no checkpoints; `memctl checkpoint save` saves one",
        )
    _note_rest(memory, shown)
    output.faults(memory, listed.faults)
    ctx.exit(REFUSED if listed.faults else OK)


@command(
    "show",
    ("memctl checkpoint show", "Print the newest checkpoint of this branch's workflow."),
    (
        "memctl checkpoint show refunds-w2-v7 --json",
        "Print the checkpoint whose id begins with refunds-w2-v7, as JSON.",
    ),
    (
        "memctl checkpoint show --format xml",
        "Print the newest checkpoint as XML, for an agent that takes over the task.",
    ),
)
@click.argument("id", required=False, default="", shell_complete=complete("checkpoint"))
@workflow_option
@click.option("--format", "-f", "form", type=click.Choice(list(_FORMS)), default="markdown", show_default=True,
              help="The format to print the checkpoint in.")  # fmt: skip
@reading
def show_command(ctx: click.Context, /, id: str, workflow: str, form: str, as_json: bool, at: str | None) -> None:
    """Print a checkpoint as it was saved."""
    memory, snapshot = memory_access.read(ctx, at)
    saved = checkpoints.find(memory, snapshot, id, _workflow(memory, snapshot, workflow))
    checkpoint, withheld = checkpoints.readable(snapshot, saved)
    if as_json:
        output.answer("checkpoint", checkpoint, memory=memory)
    else:
        output.text(_FORMS[form](checkpoint), newline=False, is_pack=True)
    _note_rest(memory, [checkpoint], withheld)


@command(
    "resume",
    (
        "memctl checkpoint resume",
        "Print what a new context window needs to continue the task, as hooks do after a compaction.",
    ),
    ("memctl checkpoint resume refunds-w2-v7 --allow-stale", "Resume the task from an earlier checkpoint."),
    (
        "memctl checkpoint resume --strict --json",
        "Print whether the task can be resumed, and what the checkpoint lacks, as JSON.",
    ),
)
@click.argument("id", required=False, default="", shell_complete=complete("checkpoint"))
@workflow_option
@flag_option("--allow-stale", help="Resume although there is a newer checkpoint, or another of the same version.")
@flag_option(
    "--strict",
    help="Exit with 1 if the checkpoint lacks anything; without --strict, only if it lacks the task or the next step.",
)
@json_option
def resume_command(
    ctx: click.Context, /, id: str, workflow: str, allow_stale: bool, strict: bool, as_json: bool
) -> None:
    """Print what somebody who knows nothing else needs to continue from a checkpoint, in at most 9,500 characters.

    Without an ID the text has the work since the last checkpoint, too, as the live state of its session tells it.
    The text says what the checkpoint lacks, and how branch, commits and files have changed since. On a branch without a
    checkpoint, the task of the branch that it was made from is resumed. Exit code 1: the checkpoint can't be resumed,
    because it is stale or lacks the task or the next step.
    """
    memory = memory_access.memory(ctx)
    snapshot = memory_access.readable(memory, None)
    resumption = resume.prepare(memory, snapshot, id, _workflow(memory, snapshot, workflow))
    obstacles = resumption.obstacles(allow_stale=allow_stale, strict=strict)
    if as_json:
        data = {"resumption": resumption, "resumable": not obstacles, "obstacles": obstacles}
        data["next_window"] = resumption.checkpoint.window_id + 1
        output.answer("resumption", data, memory=memory)
    elif obstacles:
        hint = "`memctl checkpoint save` saves a checkpoint with what is missing"
        if resumption.newer is not None:
            hint = (
                "resume from the newer checkpoint (pull or merge if this clone does not have it), or give --allow-stale"
            )
        elif resumption.twins:
            hint = "give the id of the checkpoint to resume from"
        raise MemctlError(
            "\n".join([f"the checkpoint {resumption.checkpoint.checkpoint_id} can't be resumed:", *obstacles]), hint
        )
    else:
        output.text(resumption.text.text, newline=False)
        _note_missing(resumption.missing)
    _note_rest(memory, [resumption.checkpoint], resumption.withheld)
    ctx.exit(REFUSED if obstacles else OK)


checkpoint_command = Group("checkpoint", help="Save the state of a task, and resume it.", no_args_is_help=False)
for member in (save_command, list_command, show_command, resume_command):
    checkpoint_command.add_command(member)


def _workflow(memory: Memory, snapshot: Snapshot, name: str) -> str:
    return events.workflow(memory, name) if name else checkpoints.workflow_to_resume(memory, snapshot)


def _note_missing(missing: Sequence[resume.StateGap]) -> None:
    output.note(*(f"the checkpoint lacks what is needed to resume: {gap}" for gap in missing if gap.essential))
    if others := "; ".join(str(gap) for gap in missing if not gap.essential):
        output.note(f"the checkpoint does not state: {others}")


def _note_rest(memory: Memory, shown: Sequence[Checkpoint], withheld: int = 0) -> None:
    if memory_access.has_pending(memory):
        from memctl.store import journal

        names = {name for entry in journal.entries(memory.pending) if not entry.undone for name in entry.change.ids}
        output.note(*(f"the checkpoint {checkpoint.checkpoint_id} is not committed: `memctl commit` commits it"
                      for checkpoint in shown if checkpoint.checkpoint_id in names))  # fmt: skip
    if withheld:
        output.note(
            f"files and records that you may not read are left out: {withheld:,} (`memctl team own list` shows who may)"
        )


def _row(checkpoint: Checkpoint) -> tuple[str, ...]:
    claimed = f", {len(checkpoint.claimed)} claimed" if checkpoint.claimed else ""
    done = f"{len(checkpoint.done)} done{claimed}"
    steps = f"{done}, {len(checkpoint.in_progress)} in progress, {len(checkpoint.planned)} planned"
    return checkpoint.checkpoint_id, checkpoint.saved_at, checkpoint.saved_by, steps, checkpoint.goal
