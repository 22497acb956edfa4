"""The state of a task as a record of the memory holds it.

`record/task_state.py` has the value, `progress` what changes it, `write/task_state.py` saves it, and `resume_text`
has the text with which work goes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memctl.record import task_state
from memctl.record.content_fields import content
from memctl.record.errors import InvalidRecord
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import CLAIMED, IN_PROGRESS, TaskState
from memctl.text.fit import cut
from memctl.text.markdown import one_line

_MARKS = {IN_PROGRESS: " (in progress)", CLAIMED: " (claimed)"}
_MARKED = re.compile(r"\s*\((in progress|claimed)\)\W*$", re.IGNORECASE)


def of_record(snapshot: Snapshot, record: Record) -> TaskState:
    """Return the state that a record of a state holds; where its text can't be read, what its front matter says."""
    try:
        values = content(record.kind, snapshot.body(record))
    except (InvalidRecord, OSError):  # it changed just now
        values = {}
    made = of_values(values)
    return msgspec.structs.replace(
        made,
        saved_at=record.timestamp,
        saved_by=record.agent_id,
        task_id=record.id,
        section=record.section or "",
        goal=made.goal or cut(record.title, LONGEST_MISSION),
    )


def of_values(values: Mapping[str, Any]) -> TaskState:
    """Return what the fields of a state's text say; a step that remains may be marked "(in progress)" or
    "(claimed)"."""
    left: dict[str, list[str]] = {"": [], "in progress": [], "claimed": []}
    for text in _lines(values, "substeps_remaining"):
        match = _MARKED.search(text)
        left[match[1].lower() if match else ""].append(text[: match.start()] if match else text)
    return TaskState(
        goal=cut(one_line(str(values.get("task_description") or "")), LONGEST_MISSION),
        steps=task_state.steps(
            done=_lines(values, "substeps_completed"),
            claimed=left["claimed"],
            in_progress=left["in progress"],
            planned=left[""],
        )[:MOST_LINES],
        next_actions=_lines(values, "next_actions"),
        blockers=_lines(values, "blockers"),
    )


def record_values(state: TaskState) -> dict[str, Any]:
    """Return what a record of a state says of a state's progress, as the fields of its text; `of_record` reads it."""
    left = [step for step in state.steps if step.status != task_state.DONE]
    return {
        "task_description": state.goal,
        "substeps_completed": list(state.done),
        "substeps_remaining": [f"{step.text}{_MARKS.get(step.status, '')}" for step in left],
        "blockers": list(state.blockers),
        "next_actions": list(state.next_actions),
    }


def _lines(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given: Sequence[Any] = values.get(name) if isinstance(values.get(name), list) else ()  # type: ignore[assignment]
    return tuple(cut(one_line(str(text)), LONGEST_LINE) for text in given if is_meaningful(str(text)))[:MOST_LINES]
