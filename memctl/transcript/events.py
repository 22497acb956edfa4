"""A session as its transcript tells it: events in their order, whatever wrote them down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from memctl.record.frontmatter import clean_newlines
from memctl.text import timestamps
from memctl.transcript import messages
from memctl.transcript.line import text_in
from memctl.transcript.messages import Block, decode_json

PROMPT, ANSWER, CALL, RESULT, COMPACTION, DIGEST = "prompt", "answer", "call", "result", "compaction", "digest"

GIT = "Git"  # the form of a session of which only Git tells


class Event(msgspec.Struct, frozen=True):
    """One thing that happened.

    PROMPT and ANSWER have a `text`, DIGEST is what a compaction left of them; a CALL has the `tool`, its `arguments`
    and the id `call` by which its RESULT names it, "" if it is known that there is none. `moment` is canonical UTC, ""
    if nobody noted it; `agent` names a sub-agent, "" is the main one; `cwd` is the folder that it worked in. `details`
    is what the host keeps of a result beside the text that the model saw. `line` is where it stands in what was read
    of a transcript, counted from 1; 0 where lines are not counted.
    """

    kind: str
    text: str = ""
    moment: str = ""
    agent: str = ""
    cwd: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    call: str = ""
    is_error: bool = False
    details: dict[str, Any] = {}
    line: int = 0


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the model reported them, summed over its requests: read by it, and written."""

    read: int = 0
    written: int = 0

    @classmethod
    def of(cls, read: Any, written: Any) -> Usage:
        """Return what a transcript reports; what is not a number counts for nothing."""
        return cls(*(number if isinstance(number, int) else 0 for number in (read, written)))

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Return the sum of some."""
        found = [(one.read, one.written) for one in usages]
        return cls(sum(read for read, _ in found), sum(written for _, written in found))


class Session(msgspec.Struct, frozen=True):
    """All that a transcript holds: `form` is what wrote it, `answers` counts requests, `broken` lines nobody can read.

    `started` and `ended` are canonical times, "" if the transcript has none.
    """

    form: str
    events: tuple[Event, ...]
    id: str = ""
    model: str = ""
    branch: str = ""
    usage: Usage = Usage()
    answers: int = 0
    broken: int = 0
    started: str = ""
    ended: str = ""

    @property
    def cwd(self) -> str:
        """The folder that the session began in, "" if nobody noted it."""
        return next((event.cwd for event in self.events if event.cwd), "")

    def count(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.events)


class Unanswered:
    """The calls whose results are still to come, by their ids, as events are taken in their order.

    An agent that goes on (it speaks, or calls again after a result) waits for no result any more: there was one that
    the transcript does not have, or that is not text. A call without an id has none in any case.
    """

    def __init__(self) -> None:
        self._calls: dict[str, set[str]] = {}  # by their agents
        self._answered: set[str] = set()  # the agents that got a result last

    def take(self, event: Event) -> None:
        if event.kind == PROMPT:  # the user may speak while calls run
            return
        calls = self._calls.setdefault(event.agent, set())
        if event.kind == RESULT:
            calls.discard(event.call)
            self._answered.add(event.agent)
            return
        if event.kind != CALL or event.agent in self._answered:
            calls.clear()
        self._answered.discard(event.agent)
        if event.kind == CALL and event.call:
            calls.add(event.call)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset().union(*self._calls.values())


def unanswered(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of the calls of some events whose results are still to come."""
    calls = Unanswered()
    for event in events:
        calls.take(event)
    return calls.ids


def session_of(form: str, events: Sequence[Event], **facts: Any) -> Session:
    """Return the session of some events, which began and ended with the first and the last of them."""
    times = [event.moment for event in events if event.moment]
    return Session(form, tuple(events), started=min(times, default=""), ended=max(times, default=""), **facts)


def time_in(fields: Mapping[str, Any]) -> str:
    """Return the `timestamp` of a line in canonical form, "" if it is none."""
    try:
        return timestamps.parse(text_in(fields, "timestamp"))
    except ValueError:
        return ""


def joined(sessions: list[Session]) -> Session:
    """Several transcripts of one session as one: the main agent's and those of its sub-agents, or its parts."""
    first = sessions[0]
    if len(sessions) == 1:
        return first
    events = [event for session in sessions for event in session.events]
    if all(event.moment for event in events):
        events.sort(key=lambda event: event.moment)
    return msgspec.structs.replace(
        first,
        events=tuple(events),
        usage=Usage.total(s.usage for s in sessions),
        answers=sum(s.answers for s in sessions),
        broken=sum(s.broken for s in sessions),
        started=min((s.started for s in sessions if s.started), default=""),
        ended=max((s.ended for s in sessions if s.ended), default=""),
    )


def event_of(block: Block, origin: Mapping[str, Any] = {}) -> Event | None:
    """Return the event that a block of a message is, with LF line ends; None for one that is nothing to us.

    `origin` has other fields of the event, such as its `moment`.
    """
    if block.type == messages.CALL:
        return Event(CALL, tool=block.name, arguments=arguments_of(block), call=block.call_id, **origin)
    if block.type == messages.RESULT:
        text = clean_newlines(block.text)
        return Event(RESULT, text, call=block.call_id, is_error=block.is_error, **origin)
    if block.type == messages.TEXT and block.text.strip():
        return Event(PROMPT if block.role == "user" else ANSWER, clean_newlines(block.text), **origin)
    return None


def arguments_of(block: Block) -> dict[str, Any]:
    """Return the arguments of a call by their names; a text that is not a JSON object stands under `input`."""
    given = decode_json(block.arguments) if isinstance(block.arguments, str) else block.arguments
    return given if isinstance(given, dict) else {"input": block.arguments}
