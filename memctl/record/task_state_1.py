"""Earlier forms of a task's state, converted to the fields of a `TaskState`.

These are checkpoints of format 1 and the files of a window's manager; `hooks/session_state.py` reads its own. Their
values are untrusted: what does not have the shape of such a form is returned unchanged, and the reader refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memctl.record.required_text import is_said
from memctl.record.task_state import CLAIMED, DELETED, DONE, IN_PROGRESS, PLANNED, key

_ASKED, _ERROR = "Asked last: ", "Not solved: "
_RENAMED = {"mission": "goal", "expected_outputs": "success_criteria"}
_LISTS = {"done": DONE, "in_progress": IN_PROGRESS, "planned": PLANNED}
_RECORDS = ("recorded_decisions", "open_issues", "learnings")
_WINDOW = {
    "window_id": "window_id",
    "state_version": "version",
    "saved_at": "saved_at",
    "task_goal": "goal",
    "success_criteria": "success_criteria",
    "constraints": "constraints",
    "decisions": "decisions",
    "open_issues": "issues",
    "learnings": "lessons",
}


def of_checkpoint(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a checkpoint of format 1 in today's form."""
    values = {_RENAMED.get(name, name): value for name, value in given.items()}
    gone = {name: values.pop(name, ()) for name in (*_LISTS, *_RECORDS, "files_touched", "dirty_files")}
    asked = [text for text in _texts(gone["in_progress"]) if text.startswith(_ASKED)]
    values["steps"] = _steps({_LISTS[name]: [t for t in _texts(gone[name]) if t not in asked] for name in _LISTS})
    values["said"] = [text.removeprefix(_ASKED) for text in asked]
    issues = _texts(values.get("issues"))
    values["issues"] = [text for text in issues if not text.startswith(_ERROR)]
    values["errors"] = [text.removeprefix(_ERROR) for text in issues if text.startswith(_ERROR)]
    values["phases"] = [phase] if (phase := values.pop("phase", "")) else []
    values["records"] = [one for name in _RECORDS for one in gone[name] or ()]
    values["files"] = [
        {"path": one.get("path"), "action": DELETED if one.get("deleted") else ""} if isinstance(one, dict) else one
        for one in gone["files_touched"] or ()
    ]
    values["environment"] = {
        "branch": values.pop("branch", ""),
        "head": values.pop("head", ""),
        "dirty": [{"path": path} for path in gone["dirty_files"] or ()],
    }
    return values


def of_window(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task state's fields from the contents of a context window manager's state file."""
    values = {name: given[old] for old, name in _WINDOW.items() if old in given and given[old] is not None}
    current = given.get("current_subtask")
    values["steps"] = _steps(
        {
            DONE: _texts(given.get("completed_subtasks")),
            IN_PROGRESS: _texts([current] if current else ()),
            PLANNED: _texts(given.get("remaining_subtasks")),
        }
    )
    values["summary"] = [line for line in str(given.get("compaction_summary") or "").split("\n") if is_said(line)]
    return values


def _steps(lists: Mapping[str, list[str]]) -> list[dict[str, str]]:
    """Return steps by their status, each once: of a step in two lists the most advanced status counts."""
    found: dict[str, dict[str, str]] = {}
    for status in (DONE, CLAIMED, IN_PROGRESS, PLANNED):
        for text in lists.get(status, ()):
            found.setdefault(key(text), {"text": text, "status": status})
    return [*found.values()]


def _texts(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else []
