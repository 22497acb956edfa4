"""Emitting events: from what was said to an event in the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.record.event import HANDED, Event, problems
from memctl.record.required_text import LONGEST_LINE, Wrong, misfits
from memctl.store import event_stream
from memctl.store.event_stream import Stream
from memctl.store.memory import Memory
from memctl.task import handed as handed_over
from memctl.task import names
from memctl.text.credentials import describe, find
from memctl.text.markdown import one_line

_SECTIONS = 8  # that an event names


def emit(memory: Memory, workflow: str, said: dict[str, Any]) -> Stream:
    """Add an event with the fields in `said` to the stream; raises MemctlError naming every one that is wrong."""

    def make(sequence: int) -> Event:
        values = {
            "event_id": memory.new_memory_id(f"event {workflow} {sequence}"),
            "sequence": sequence,
            "timestamp": memory.now,
            "workflow_id": workflow,
            "source_agent": memory.actor,
            "session": memory.session,
            **{name: _tidy(value) for name, value in said.items() if value not in (None, (), "")},
        }
        _refuse(values)
        return msgspec.convert(values, Event)

    return event_stream.append(memory, make)


def handed(memory: Memory, identifier: str, became: str, target: str, sections: Sequence[str]) -> str:
    """Note in the stream that a handoff was offered or answered, for whoever coordinates; what went wrong, or ""."""
    about = handed_over.about(identifier, became) + (f": {', '.join(sections[:_SECTIONS])}" if sections else "")
    about += f" and {len(sections) - _SECTIONS} more" if len(sections) > _SECTIONS else ""
    try:
        emit(memory, names.workflow(memory, ""), {"event_type": HANDED, "action_taken": about, "target_agent": target})
    except MemctlError as error:
        return f"no event tells of {identifier}: {error.message}"
    return ""


def _tidy(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    return tuple(one_line(item) for item in value) if isinstance(value, tuple) else value


def _refuse(values: dict[str, Any]) -> None:
    wrong = dict(misfits(values, Event))
    fitting = {name: value for name, value in values.items() if name not in wrong}
    try:
        event = msgspec.convert(fitting, Event)
    except msgspec.ValidationError:  # one that each event has does not fit
        raise Wrong("this is no event:", list(wrong.items())) from None
    wrong |= {name: message for name, message in reversed(problems(event)) if name not in wrong}
    if wrong:
        raise Wrong(f"this is no complete {event.event_type} event:", list(wrong.items()), "`memctl event emit -h`")
    around = ((name, getattr(event, name)) for name in ("source_agent", "session", "workflow_id"))
    for field, text in (*around, *event.texts()):
        for span in find(text):
            raise MemctlError(f"{field}: this {describe(text, span)}", "take it out")


def since_checkpoint(events: Sequence[Event], workflow: str) -> list[Event]:
    """The events of a workflow since its last checkpoint, oldest first."""
    found: list[Event] = []
    for event in events:
        if event.workflow_id == workflow:
            found = [] if event.checkpoint_id else [*found, event]
    return found


def told(events: Sequence[Event]) -> tuple[str, ...]:
    """What happened, a line an event."""
    abouts = ((event, event.action_taken or event.mission or "; ".join(event.deliverables)) for event in events)
    lines = [f"{event.event_type}: {about}" for event, about in abouts]
    return tuple(line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 2] + " …" for line in lines)


def is_due(events: list[Event]) -> bool:
    """Whether so many events have come that they are to be compressed to a checkpoint (trigger 8: above 50)."""
    from memctl.policy.triggers import EVENTS  # which takes 20 ms, and a hook that saves a checkpoint asks nothing

    return len(events) > EVENTS
