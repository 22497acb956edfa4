"""Read the state of a task from its record in the memory, and write its fields.

The state as a value is defined in `record/task_state.py`, changed by `progress` and saved by `write/task_state.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memctl.record.content_fields import content
from memctl.record.errors import InvalidRecord
from memctl.record.record import Record
from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import CLAIMED, DONE, IN_PROGRESS, PLANNED, PROGRESS, Status, Step, TaskState, key
from memctl.text.fit import cut
from memctl.text.markdown import one_line

_MARKS = {IN_PROGRESS: " (in progress)", CLAIMED: " (claimed)"}
_MARKED = re.compile(r"\s*\((in progress|claimed)\)\W*$", re.IGNORECASE)


def of_record(snapshot: Snapshot, record: Record) -> TaskState:
    """Return the state of a task that a record of the type state holds.

    If the body of the record can't be read, the result has only what the front matter says: goal, section, time and
    author.
    """
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
    """Return the state of a task from the content fields of a record, by name, such as `substeps_completed`.

    A text of `substeps_remaining` may end in "(in progress)" or "(claimed)", which is the status of the step.
    """
    steps: dict[str, Step] = {}
    for step in sorted(stated_steps(values), key=lambda step: PROGRESS.index(step.status), reverse=True):
        steps.setdefault(key(step.text), step)
    return TaskState(
        goal=cut(one_line(str(values.get("task_description") or "")), LONGEST_MISSION),
        steps=tuple(steps.values())[:MOST_LINES],
        next_actions=_lines(values, "next_actions"),
        blockers=_lines(values, "blockers"),
    )


def stated_steps(values: Mapping[str, Any]) -> Iterator[Step]:
    """Yield the steps in two content fields of a state's record, `substeps_completed` and `substeps_remaining`.

    A step that is in both fields is yielded twice.
    """
    for text in _lines(values, "substeps_completed"):
        yield Step(text, DONE)
    for text in _lines(values, "substeps_remaining"):
        match = _MARKED.search(text)
        status: Status = PLANNED if match is None else IN_PROGRESS if " " in match[1] else CLAIMED
        yield Step(text[: match.start()] if match else text, status)


def record_values(state: TaskState) -> dict[str, Any]:
    """Return the goal and progress of a task's state as the content fields of its record, which `of_values` reads."""
    left = [step for step in state.steps if step.status != DONE]
    return {
        "task_description": state.goal,
        "substeps_completed": list(state.done),
        "substeps_remaining": [f"{step.text}{_MARKS.get(step.status, '')}" for step in left],
        "blockers": list(state.blockers),
        "next_actions": list(state.next_actions),
    }


def _lines(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name)
    texts = [str(text) for text in value] if isinstance(value, list | tuple) else []
    return tuple(cut(one_line(text), LONGEST_LINE) for text in texts if is_meaningful(text))[:MOST_LINES]
