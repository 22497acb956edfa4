"""The state of a task that passes from one window to the next, and what a keeper of it does."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.record.errors import describe
from memctl.record.required_text import is_said
from memctl.text.characters import encodable


class TaskCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a task that outlives a window (rules.md#window-state). Planned, under way and done are kept apart.

    `state_version` is the version that it goes on from: None for the one that its keeper loaded or saved last.
    """

    window_id: int = 1
    state_version: int | None = None
    task_goal: str = ""
    success_criteria: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    completed_subtasks: tuple[str, ...] = ()
    current_subtask: str = ""
    remaining_subtasks: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open_issues: tuple[str, ...] = ()
    learnings: tuple[str, ...] = ()
    compaction_summary: str = ""
    saved_at: str = ""


class NotCopied(MemctlError):
    """A state is kept, as `kept_as`, and only a copy of it could not be written."""

    def __init__(self, kept_as: str, why: MemctlError) -> None:
        super().__init__(f"the state is kept as {kept_as}, but not its copy: {why.message}", why.hint)
        self.kept_as = kept_as


class StateKeeper(Protocol):
    """Keeps the state of a task from one window to the next."""

    def save(self, checkpoint: TaskCheckpoint) -> str:
        """Keep a state; the id that it has now. Raises MemctlError if it is stale, NotCopied if it is kept all the
        same."""

    def load(self) -> TaskCheckpoint | None:
        """The state that was kept last, None if there is none."""

    def bootstrap_prompt(self) -> str:
        """The text with which a new window takes the task up, "" if nothing was kept."""


@runtime_checkable
class Archiving(Protocol):
    """A keeper that can put the state of a task that is done aside."""

    def archive(self) -> None:
        """Put the state that was kept last aside: no later run takes it up."""


class Validation(msgspec.Struct, frozen=True):
    """What is wrong with a state: with errors nobody can go on from it, warnings can be lived with."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors


def sound(checkpoint: TaskCheckpoint) -> TaskCheckpoint:
    """A state whose fields are what they are to be, with texts that can be written; raises MemctlError if they are not.

    Nothing checks them when one is made, and one that is kept with a text for a list could not be read again.
    """
    argument_checks.instance(checkpoint, TaskCheckpoint, "checkpoint", "a TaskCheckpoint")
    values = {name: _encodable(value) for name, value in msgspec.structs.asdict(checkpoint).items()}
    try:
        return msgspec.convert(values, TaskCheckpoint)
    except msgspec.ValidationError as error:
        raise MemctlError(f"the state can't be kept: {describe(error)}", exit_code=USAGE) from None


def _encodable(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_encodable(one) for one in value]
    return encodable(value) if isinstance(value, str) else value


def validate(checkpoint: TaskCheckpoint) -> Validation:
    """What makes a state useless, and what may lead astray (rules.md#checkpoints)."""
    errors, warnings = [], []
    if not is_said(checkpoint.task_goal):
        errors.append("Missing task_goal: the agent will have no objective")
    if checkpoint.window_id < 1:
        errors.append(f"Invalid window_id: {checkpoint.window_id}")
    if checkpoint.state_version is not None and checkpoint.state_version < 1:
        errors.append(f"Invalid state_version: {checkpoint.state_version}")
    if checkpoint.remaining_subtasks and not checkpoint.current_subtask:
        warnings.append("Has remaining subtasks but no current_subtask: the agent may pick the wrong starting point")
    return Validation(tuple(errors), tuple(warnings))
