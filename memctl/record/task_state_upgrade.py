"""Convert a task's state from an earlier form to the fields of a `TaskState`.

Earlier forms are in checkpoints of format 1 and in files of older window managers. Their values are untrusted: a value
of the wrong shape raises msgspec.ValidationError. (`hooks/session_state.py` converts the hooks' own earlier files.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.record.required_text import is_meaningful
from memctl.record.task_state import steps
from memctl.text.actions import DELETED

_ASKED, _ERROR = "Asked last: ", "Not solved: "
# Fields that have only another name today.
_RENAMED = {"mission": "goal", "expected_outputs": "success_criteria", "task_goal": "goal", "state_version": "version"}
_Texts = tuple[str, ...]


class _File(msgspec.Struct, frozen=True):
    path: str
    deleted: bool = False


class _Earlier(msgspec.Struct, frozen=True):
    """The fields that have another shape today: those of a checkpoint, and behind the empty line those of a window."""

    done: _Texts = ()
    in_progress: _Texts = ()
    planned: _Texts = ()
    issues: _Texts = ()
    phase: str = ""
    recorded_decisions: tuple[Any, ...] = ()
    open_issues: tuple[Any, ...] = ()  # records in a checkpoint, texts in a window
    learnings: tuple[Any, ...] = ()  # as open_issues
    files_touched: tuple[_File, ...] = ()
    dirty_files: _Texts = ()
    branch: str = ""
    head: str = ""

    completed_subtasks: _Texts = ()
    current_subtask: str = ""
    remaining_subtasks: _Texts = ()
    compaction_summary: str = ""


def is_of_window(values: object) -> bool:
    """Return whether values decoded from JSON are a task's state in the form that window managers wrote earlier."""
    return isinstance(values, dict) and "task_goal" in values


def current(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a TaskState by name, converted from `values`, a state in an earlier form.

    `values` are decoded from JSON. Raises msgspec.ValidationError for a value of the wrong shape.
    """
    values = {name: value for name, value in values.items() if value is not None}
    old = msgspec.convert(values, _Earlier)
    started = (*old.in_progress, *filter(None, [old.current_subtask]))
    steps_of = steps(
        done=(*old.done, *old.completed_subtasks),
        in_progress=[text for text in started if not text.startswith(_ASKED)],
        planned=(*old.planned, *old.remaining_subtasks),
    )
    made = {
        **{_RENAMED.get(name, name): values[name] for name in values.keys() - {*_Earlier.__struct_fields__}},
        "steps": msgspec.to_builtins(steps_of),
        "said": [text.removeprefix(_ASKED) for text in started if text.startswith(_ASKED)],
        "issues": [text for text in old.issues if not text.startswith(_ERROR)],
        "errors": [text.removeprefix(_ERROR) for text in old.issues if text.startswith(_ERROR)],
        "phases": [old.phase] if old.phase else [],
        "records": [*old.recorded_decisions, *old.open_issues, *old.learnings],
        "files": [{"path": file.path, "action": DELETED if file.deleted else ""} for file in old.files_touched],
        "environment": {"branch": old.branch, "head": old.head, "dirty": [{"path": path} for path in old.dirty_files]},
    }
    if is_of_window(values):
        summary = [line for line in old.compaction_summary.split("\n") if is_meaningful(line)]
        made |= {"issues": old.open_issues, "lessons": old.learnings, "summary": summary, "records": ()}
    return made
