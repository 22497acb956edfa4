"""Events of workflows: the name of a workflow, adding an event to the event stream, and events as lines of text.

The event stream is a file of one clone, which is not synced and keeps only the latest events. For instance, if a
handoff is offered in one clone and accepted in another, the event of the acceptance is only in the other clone's
stream. A sync brings just the handoff's record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.event import AGENT_HANDOFF, WorkflowEvent, problems
from memctl.record.required_text import LONGEST_LINE, InvalidFields, type_errors
from memctl.store import event_stream
from memctl.store.event_stream import Stream
from memctl.store.memory import Memory
from memctl.text.credentials import describe, find, redact
from memctl.text.file_names import portable
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.text.phrases import some

_LONGEST_NAME = 40
MOST_EVENTS = 50  # of a workflow since its last checkpoint; rules.md#compression-triggers


def workflow(memory: Memory, given: str) -> str:
    """Return a valid name of a workflow that is made from `given`: `slug` replaces characters that it can't have.

    If `given` is "", the name is made from that of HEAD's branch, or else from that of the project. What looks like a
    credential is redacted. Raises MemctlError if `given` is a path, or has no letter or digit.
    """
    if given.startswith(("/", ".", "~")) or ".." in given.split("/"):
        result = slug(given.rpartition("/")[2])
        hint = f"give a name such as `--workflow {result}`" if result else "use letters, digits, dots and dashes"
        raise MemctlError(f"{given!r} is a path, not the name of a workflow", hint, USAGE)
    branch = memory.repository.branch()[0].removeprefix("refs/heads/")
    name = slug(redact(given or branch or memory.config.project, strict=False)) or ("" if given else "workflow")
    if not name:
        raise MemctlError(
            f"{given!r} is not a valid name for a workflow", "use letters, digits, dots and dashes", USAGE
        )
    return name


def slug(text: str) -> str:
    """Return a text as a name for files: lower-case letters, digits, dots, dashes and underscores.

    The name has at most 40 characters. If the text does not fit, or has letters outside of ASCII, the name ends in a
    hash of the text, so that two such texts do not name the same workflow.
    """
    name = re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")
    if len(name) > _LONGEST_NAME or any(c.isalnum() and not c.isascii() for c in text):
        from hashlib import blake2b  # 3 ms

        mark = blake2b(text.encode(errors="surrogatepass"), digest_size=3).hexdigest()
        name = f"{name[: _LONGEST_NAME - len(mark) - 1].strip('-._')}-{mark}".lstrip("-")
    return portable(name)


_SECTIONS = 8  # that an event names


def emit(memory: Memory, workflow: str, fields: dict[str, Any]) -> Stream:
    """Add an event of a workflow, with the given fields, to this clone's event stream; return the whole stream.

    Raises MemctlError for wrong fields, which the error names, and for a text with a credential.
    """

    def make(sequence: int) -> WorkflowEvent:
        values = {
            "event_id": memory.new_memory_id(f"event {workflow} {sequence}"),
            "sequence": sequence,
            "timestamp": memory.now,
            "workflow_id": workflow,
            "source_agent": memory.actor,
            "session": memory.session,
            **{name: _tidy(value) for name, value in fields.items() if value not in (None, (), "")},
        }
        return _checked(values)

    return event_stream.append(memory, make)


def note_handoff(
    memory: Memory, identifier: str, became: str, target: str, sections: Sequence[str], **more: Sequence[str]
) -> Iterator[str]:
    """Add an event on a handoff's new status to this clone's event stream; yield a warning if that fails.

    The event is added when the result is iterated over. `identifier` is the handoff's id, and `became` its new status,
    such as "accepted". `target` is the agent that the event is meant for, `sections` are the sections of the handoff,
    and `more` are further fields of the event.
    """
    about = f"{identifier} was {became}" + (f": {some(sections, _SECTIONS)}" if sections else "")
    values = {"event_type": AGENT_HANDOFF, "action_taken": about, "target_agent": target, **more}
    try:
        emit(memory, workflow(memory, ""), values)
    except MemctlError as error:
        yield f"warning: the event for {identifier} could not be added to the event stream: {error.message}"


def _tidy(value: Any) -> Any:
    if isinstance(value, str):
        return one_line(value)
    return tuple(one_line(item) for item in value) if isinstance(value, tuple) else value


def _checked(values: dict[str, Any]) -> WorkflowEvent:
    """Return the event with these values; raises MemctlError for faults of its fields, and for a credential."""
    if not (wrong := list(type_errors(values, WorkflowEvent))):
        event = msgspec.convert(values, WorkflowEvent)
        wrong = list(dict(reversed(problems(event))).items())[::-1]  # of each field the first fault
    if wrong:
        kind = values.get("event_type")
        raise InvalidFields(
            f"fields of this event (type {kind}) are missing or wrong:",
            wrong,
            "`memctl event emit -h` lists what each type requires",
        )
    around = ((name, getattr(event, name)) for name in ("source_agent", "session", "workflow_id"))
    for field, text in (*around, *event.texts()):
        for span in find(text):
            raise MemctlError(f"{field}: the text {describe(text, span)}", "remove the credential")
    return event


def since_checkpoint(events: Sequence[WorkflowEvent], workflow: str) -> list[WorkflowEvent]:
    """Return the events of a workflow that happened after its last checkpoint was saved, oldest first."""
    since: list[WorkflowEvent] = []
    for event in events:
        if event.workflow_id == workflow:
            since = [] if event.checkpoint_id else [*since, event]
    return since


def lines(events: Sequence[WorkflowEvent]) -> tuple[str, ...]:
    """Return each event as one line: its type and what happened."""
    return tuple(cut(f"{event.event_type}: {event.about}", LONGEST_LINE) for event in events)


def is_due(events: list[WorkflowEvent]) -> bool:
    """Return whether a checkpoint is due because more than 50 events have happened since the last one.

    `events` are those since the last checkpoint. The number is trigger 8 of rules.md#compression-triggers.
    """
    return len(events) > MOST_EVENTS
