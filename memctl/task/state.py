"""The state of a task, found where it is: in a workflow's newest checkpoint, or in the records of states.

`record/task_state.py` has the value, `progress` what changes it, `resume` the text with which work goes on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memctl.record import task_state
from memctl.record.content_fields import content
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import STATE
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_said
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import CLAIMED, IN_PROGRESS, TaskState
from memctl.text.fit import cut
from memctl.text.markdown import one_line

_MARKS = {IN_PROGRESS: " (in progress)", CLAIMED: " (claimed)"}
_MARKED = re.compile(r"\s*\((in progress|claimed)\)\W*$", re.IGNORECASE)


def of_record(snapshot: Snapshot, record: Record) -> TaskState:
    """The state that a record of a state holds; where its text can't be read, what its front matter says."""
    try:
        values = content(record.kind, snapshot.body(record))
    except (InvalidRecord, OSError):  # it changed just now
        values = {}
    marked = [(_MARKED.search(text), text) for text in _lines(values, "substeps_remaining")]
    left: dict[str, list[str]] = {"": [], "in progress": [], "claimed": []}
    for match, text in marked:
        left[match[1].lower() if match else ""].append(text[: match.start()] if match else text)
    goal = one_line(str(values.get("task_description") or "")) or record.title
    return TaskState(
        saved_at=record.timestamp,
        saved_by=record.agent_id,
        task_id=record.id,
        section=record.section or "",
        goal=cut(goal, LONGEST_MISSION),
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
    """What a record of a state says of a state's progress, as the fields of its text; `of_record` reads it."""
    left = [step for step in state.steps if step.status != task_state.DONE]
    return {
        "task_description": state.goal,
        "substeps_completed": list(state.done),
        "substeps_remaining": [f"{step.text}{_MARKS.get(step.status, '')}" for step in left],
        "blockers": list(state.blockers),
        "next_actions": list(state.next_actions),
    }


def record_of_sections(
    snapshot: Snapshot, sections: Collection[str], worked: Mapping[str, str], task_id: str = ""
) -> Record | None:
    """The record of the state of some sections ("§2.1"; all if there are none) that was worked on last, or of a task.

    `worked` says when a record was changed last, by its path. What is open goes before what is closed.
    """
    found = [one for one in snapshot.records if one.memory_type == STATE.name and not one.is_archived]
    if task_id:
        found = [one for one in found if task_id in (one.id, one.memory_id)]
    elif sections:
        found = [one for one in found if one.section in sections]
    ordered = sorted(found, key=lambda one: (one.timestamp, one.id, one.path))
    return max(ordered, key=lambda one: (one.is_open, worked.get(one.path, one.timestamp)), default=None)


def _lines(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given: Sequence[Any] = values.get(name) if isinstance(values.get(name), list) else ()  # type: ignore[assignment]
    return tuple(cut(one_line(str(text)), LONGEST_LINE) for text in given if is_said(str(text)))[:MOST_LINES]
