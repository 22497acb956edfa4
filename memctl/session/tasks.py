"""The list of tasks that an agent keeps of its own work, as its last word on each says: with a tool, or in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from memctl.statements import labels, reader
from memctl.text.markdown import one_line
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, Event

DONE, UNDER_WAY, PENDING = "done", "in progress", "pending"
_STATUSES = {"completed": DONE, "done": DONE, "in_progress": UNDER_WAY, "in-progress": UNDER_WAY}
_DROPPED = ("deleted", "cancelled", "canceled")
_IS_BEGUN = re.compile(r"\bin progress\b", re.IGNORECASE)
_WHOLE, _SINGLE = ("todowrite", "updateplan", "writetodos"), ("TaskCreate", "TaskUpdate")


class Task(msgspec.Struct, frozen=True):
    """A task and how far it is: done, in progress or pending."""

    text: str
    status: str


def of_events(given: Iterable[Event]) -> list[Task]:
    """The tasks of the main agent: of TodoWrite and `update_plan`, which bring the whole list, or of TaskCreate."""
    events = list(given)
    whole: list[Task] = []
    numbered: dict[str, Task] = {}
    for event in events:
        if event.kind != CALL or event.agent:
            continue
        arguments = event.arguments
        for key in ("todos", "plan"):
            if is_whole(event.tool) and key in arguments:
                whole = _listed(arguments[key])
        if event.tool == "TaskCreate" and isinstance(arguments.get("subject"), str):
            numbered[str(len(numbered) + 1)] = Task(one_line(arguments["subject"]), PENDING)
        elif event.tool == "TaskUpdate" and (task := numbered.get(str(arguments.get("taskId")))) is not None:
            status = str(arguments.get("status") or "")
            told = _DROPPED[0] if status in _DROPPED else _STATUSES.get(status, task.status)
            numbered[str(arguments["taskId"])] = msgspec.structs.replace(task, status=told)
    return whole or [task for task in numbered.values() if task.status != _DROPPED[0]] or _told(events)


def _told(events: Sequence[Event]) -> list[Task]:
    """The steps of the task as a text last told them, with boxes or under labels."""
    for event in reversed(events):
        if event.kind in (ANSWER, PROMPT, DIGEST) and not event.agent:
            for made in reversed(reader.read(event.text)):
                done, left = made.items("substeps_completed"), made.items("substeps_remaining")
                if made.kind == labels.STATE and made.title and (done or left):
                    return [Task(one_line(text), DONE) for text in done] + [
                        Task(one_line(text), UNDER_WAY if _IS_BEGUN.search(text) else PENDING) for text in left
                    ]
    return []


def is_told(tool: str) -> bool:
    """Whether calls of a tool tell of tasks."""
    return tool in _SINGLE or is_whole(tool)


def is_whole(tool: str) -> bool:
    """Whether a call of a tool brings the whole list, so that what was told before counts no more."""
    return tool.lower().replace("_", "") in _WHOLE


def _listed(given: Any) -> list[Task]:
    found = []
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict):
            text = next((item[k] for k in ("content", "step", "description") if isinstance(item.get(k), str)), "")
            if text.strip() and item.get("status") not in _DROPPED:
                found.append(Task(one_line(text), _STATUSES.get(str(item.get("status")), PENDING)))
    return found
