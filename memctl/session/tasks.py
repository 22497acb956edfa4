"""The list of tasks that an agent keeps of its own work, as its last word on each says: with a tool, or in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from memctl.record.task_state import DONE, IN_PROGRESS, PLANNED, Status, Step
from memctl.statements import labels, reader
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, Event

_STATUSES: dict[str, Status] = {
    "completed": DONE,
    "done": DONE,
    "in_progress": IN_PROGRESS,
    "in-progress": IN_PROGRESS,
    "pending": PLANNED,
}
_DROPPED = ("deleted", "cancelled", "canceled")
_IS_BEGUN = re.compile(r"\bin progress\b", re.IGNORECASE)
_WHOLE, _SINGLE = ("todowrite", "updateplan", "writetodos"), ("TaskCreate", "TaskUpdate")


def of_events(given: Iterable[Event]) -> list[Step]:
    """The tasks of the main agent: of TodoWrite and `update_plan`, which bring the whole list, or of TaskCreate."""
    events = list(given)
    whole: list[Step] = []
    numbered: dict[int, Step | None] = {}
    for event in events:
        if event.kind != CALL or event.agent:
            continue
        if is_whole(event.tool):
            told = listed(event.arguments)
            whole = whole if told is None else told
        elif (subject := created(event)) is not None:
            numbered[len(numbered) + 1] = Step(subject, PLANNED)
        elif event.tool == "TaskUpdate":
            number, status = updated(event)
            task = numbered.get(number)
            if task is not None and status is not None:
                numbered[number] = Step(task.text, status) if status else None
    return whole or [task for task in numbered.values() if task is not None] or _told(events)


def created(event: Event) -> str | None:
    """The task that a call makes by a number, the next one; None if it makes none."""
    subject = event.arguments.get("subject") if event.tool == "TaskCreate" else None
    return one_line(subject) if isinstance(subject, str) else None


def updated(event: Event) -> tuple[int, Status | Literal[""] | None]:
    """The number of the task that a call changes, and its status: "" if it is dropped, None if that does not change."""
    number, status = str(event.arguments.get("taskId")), str(event.arguments.get("status") or "")
    told = "" if status in _DROPPED else _STATUSES.get(status)
    return int(number) if number.isdecimal() else 0, told


def listed(arguments: Mapping[str, Any]) -> list[Step] | None:
    """The list that a call brings, None if it brings none."""
    given = next((arguments[name] for name in ("todos", "plan") if name in arguments), None)
    return None if given is None else _listed(given)


def _told(events: Sequence[Event]) -> list[Step]:
    """The steps of the task as a text last told them, with boxes or under labels."""
    for event in reversed(events):
        if event.kind in (ANSWER, PROMPT, DIGEST) and not event.agent:
            for made in reversed(reader.read(event.text)):
                done, left = made.items("substeps_completed"), made.items("substeps_remaining")
                if made.kind == labels.STATE and made.title and (done or left):
                    return [Step(one_line(text), DONE) for text in done] + [
                        Step(one_line(text), IN_PROGRESS if _IS_BEGUN.search(text) else PLANNED) for text in left
                    ]
    return []


def is_told(tool: str) -> bool:
    """Whether calls of a tool tell of tasks."""
    return tool in _SINGLE or is_whole(tool)


def is_whole(tool: str) -> bool:
    """Whether a call of a tool brings the whole list, so that what was told before counts no more."""
    return tool.lower().replace("_", "") in _WHOLE


def _listed(given: Any) -> list[Step]:
    found = []
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict):
            text = next((item[k] for k in ("content", "step", "description") if isinstance(item.get(k), str)), "")
            if text.strip() and item.get("status") not in _DROPPED:
                found.append(Step(one_line(text), _STATUSES.get(str(item.get("status")), PLANNED)))
    return found
