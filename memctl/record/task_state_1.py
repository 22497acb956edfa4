"""Conversion of earlier forms of a task's state to the fields of a `TaskState`.

The earlier forms are in checkpoints of format 1 and in the files of a window's manager. Their values are untrusted: a
value of the wrong shape raises msgspec.ValidationError. (`hooks/session_state.py` converts the hooks' own earlier
files.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.record.required_text import is_meaningful
from memctl.record.task_state import steps
from memctl.text.actions import DELETED

_ASKED, _ERROR = "Asked last: ", "Not solved: "
_RENAMED = {"mission": "goal", "expected_outputs": "success_criteria"}
_OF_WINDOW = ("window_id", "saved_at", "success_criteria", "constraints", "decisions")
_Texts = tuple[str, ...]


class _File(msgspec.Struct, frozen=True):
    path: str
    deleted: bool = False


class _Checkpoint(msgspec.Struct, frozen=True):
    """The fields of a checkpoint of format 1 that have another form or name today."""

    done: _Texts = ()
    in_progress: _Texts = ()
    planned: _Texts = ()
    issues: _Texts = ()
    phase: str = ""
    recorded_decisions: tuple[Any, ...] = ()
    open_issues: tuple[Any, ...] = ()
    learnings: tuple[Any, ...] = ()
    files_touched: tuple[_File, ...] = ()
    dirty_files: _Texts = ()
    branch: str = ""
    head: str = ""


class _Window(msgspec.Struct, frozen=True):
    """The state file of a context window's manager, but for the fields of _OF_WINDOW."""

    state_version: int = 0
    task_goal: str = ""
    completed_subtasks: _Texts = ()
    current_subtask: str = ""
    remaining_subtasks: _Texts = ()
    open_issues: _Texts = ()
    learnings: _Texts = ()
    compaction_summary: str = ""


def convert_checkpoint(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of today's format for those of a checkpoint of format 1, decoded from JSON."""
    old = msgspec.convert(values, _Checkpoint)
    started = [text for text in old.in_progress if not text.startswith(_ASKED)]
    same = values.keys() - {*_Checkpoint.__struct_fields__}
    return {
        **{_RENAMED.get(name, name): values[name] for name in same},
        "steps": msgspec.to_builtins(steps(done=old.done, in_progress=started, planned=old.planned)),
        "said": [text.removeprefix(_ASKED) for text in old.in_progress if text.startswith(_ASKED)],
        "issues": [text for text in old.issues if not text.startswith(_ERROR)],
        "errors": [text.removeprefix(_ERROR) for text in old.issues if text.startswith(_ERROR)],
        "phases": [old.phase] if old.phase else [],
        "records": [*old.recorded_decisions, *old.open_issues, *old.learnings],
        "files": [{"path": one.path, "action": DELETED if one.deleted else ""} for one in old.files_touched],
        "environment": {"branch": old.branch, "head": old.head, "dirty": [{"path": path} for path in old.dirty_files]},
    }


def convert_window(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a `TaskState` from those of a state file of a window's manager, decoded from JSON."""
    values = {name: value for name, value in values.items() if value is not None}
    old = msgspec.convert(values, _Window)
    started = [old.current_subtask] if old.current_subtask else []
    found = steps(done=old.completed_subtasks, in_progress=started, planned=old.remaining_subtasks)
    return {
        **{name: values[name] for name in _OF_WINDOW if name in values},
        "version": old.state_version,
        "goal": old.task_goal,
        "steps": msgspec.to_builtins(found),
        "issues": old.open_issues,
        "lessons": old.learnings,
        "summary": [line for line in old.compaction_summary.split("\n") if is_meaningful(line)],
    }
