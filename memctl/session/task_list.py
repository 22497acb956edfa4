"""Read the task list that an agent keeps for itself, from its tool calls and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from memctl.record.task_state import DONE, IN_PROGRESS, PLANNED, Status, Step
from memctl.statements import labels, reader
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, DIGEST, PROMPT, Event

_STATUSES: dict[str, Status] = {
    "completed": DONE,
    "done": DONE,
    "in_progress": IN_PROGRESS,
    "in-progress": IN_PROGRESS,
    "pending": PLANNED,
}
_DROPPED = ("deleted", "cancelled", "canceled")
_NUMBER = re.compile(r"\bTask #([1-9]\d{0,6}) created\b")
_MOST_TASKS = 10_000  # numbers of a session's tasks
_IS_BEGUN = re.compile(r"\bin progress\b", re.IGNORECASE)
_WHOLE, _SINGLE = ("todowrite", "updateplan", "writetodos"), ("TaskCreate", "TaskUpdate")


def is_list(tool: str) -> bool:
    """Return whether a tool writes the agent's whole task list with each call, such as TodoWrite."""
    return tool.lower().replace("_", "") in _WHOLE


def is_of_tasks(tool: str) -> bool:
    """Return whether a tool writes the agent's task list, as a whole or task by task."""
    return tool in _SINGLE or is_list(tool)


def task_list(arguments: Mapping[str, Any]) -> list[Step] | None:
    """Return the agent's task list in the arguments of a call, as steps of a task; None if there is none."""
    items = next((arguments[name] for name in ("todos", "plan") if name in arguments), None)
    if items is None:
        return None
    steps = []
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            text = next((item[k] for k in ("content", "step", "description") if isinstance(item.get(k), str)), "")
            if text.strip() and item.get("status") not in _DROPPED:
                steps.append(Step(one_line(text), _STATUSES.get(str(item.get("status")), PLANNED)))
    return steps


def new_task(event: Event) -> str | None:
    """Return the text of the task that a call adds to the agent's task list, None if it adds none."""
    subject = event.arguments.get("subject") if event.tool == "TaskCreate" else None
    return one_line(subject) if isinstance(subject, str) else None


def with_task(created: tuple[str, ...], text: str, result: Event | None) -> tuple[str, ...]:
    """Return the texts of all tasks by their numbers, from 1, with a task that was added.

    Its number is in the `result` of the call that added it. Without a result it is the next number.
    """
    match = _NUMBER.search(result.text) if result is not None else None
    number = min(int(match[1]), _MOST_TASKS) if match else len(created) + 1
    texts = [*created, *[""] * (number - len(created))]
    texts[number - 1] = text
    return tuple(texts)


def task_update(event: Event) -> tuple[int, Status | Literal[""] | None]:
    """Return the number of the task that a call changes (0 if the call names none), and the task's new status.

    The status is "" if the task is dropped, and None if the call does not change it.
    """
    number, status = str(event.arguments.get("taskId")), str(event.arguments.get("status") or "")
    new_status = "" if status in _DROPPED else _STATUSES.get(status)
    return int(number) if number.isdecimal() else 0, new_status


def in_texts(events: Iterable[Event]) -> list[Step]:
    """Return the steps that the last message with a list of a task's steps names; [] if no message has one.

    Such a list has check boxes, or labels for what is done and what remains.
    """
    for event in reversed([*events]):
        if event.kind in (ANSWER, PROMPT, DIGEST) and not event.agent:
            for made in reversed(reader.read(event.text)):
                done, left = made.items("substeps_completed"), made.items("substeps_remaining")
                if made.kind == labels.STATE and made.title and (done or left):
                    return [
                        *(Step(one_line(text), DONE) for text in done),
                        *(Step(one_line(t), IN_PROGRESS if _IS_BEGUN.search(t) else PLANNED) for t in left),
                    ]
    return []
