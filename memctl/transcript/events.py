"""A session as events in their order, in one form for every host."""

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
    """One event of a session: a prompt, an answer, a tool call, its result, a compaction, or a compaction's summary.

    DIGEST is the kind of a compaction's summary. PROMPT, ANSWER, DIGEST and RESULT have a `text`. A CALL has the
    `tool`, its `arguments` and an id `call`, which its RESULT has too; "" if the call will have no result. `moment` is
    canonical UTC, "" if unknown. `agent` names a sub-agent, "" for the main one. `cwd` is the folder that the agent
    worked in. `details` is what the host keeps of a result beside the text for the model. `line` is the number of the
    line in what was read, from 1; 0 where lines are not counted.
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
    """The tokens that a model reported for its requests, summed: `read` are input tokens, `written` output tokens."""

    read: int = 0
    written: int = 0

    @classmethod
    def of(cls, read: Any, written: Any) -> Usage:
        """Return the usage of one request; a value of `read` or `written` that is not an integer counts as 0."""
        return cls(*(number if isinstance(number, int) else 0 for number in (read, written)))

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Return the sum of several usages."""
        totals = [(usage.read, usage.written) for usage in usages]
        return cls(sum(read for read, _ in totals), sum(written for _, written in totals))


class Session(msgspec.Struct, frozen=True):
    """The content of a transcript: its events, and facts about the session.

    `form` names the program or format of the transcript, such as "Claude Code". `answers` is the number of requests to
    the model, `broken` the number of lines that can't be read. `started` and `ended` are canonical times, "" if the
    transcript has none.
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
        """The folder in which the session began, "" if unknown."""
        return next((event.cwd for event in self.events if event.cwd), "")

    def count(self, kind: str) -> int:
        """Return the number of events of a kind."""
        return sum(event.kind == kind for event in self.events)


class PendingCalls:
    """Keeps the ids of the tool calls that have no result yet, while it takes a session's events in their order.

    If an agent speaks, or makes a call after it got a result, its earlier calls no longer wait: their results are not
    text, or are missing in the transcript. A call without an id never waits.
    """

    def __init__(self) -> None:
        self._calls: dict[str, set[str]] = {}  # by their agents
        self._answered: set[str] = set()  # the agents that got a result last

    def take(self, event: Event) -> None:
        """Take the next event. A call begins to wait; its result, or the next step of the same agent, ends the wait."""
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
        """The ids of the calls that wait for a result now."""
        return frozenset().union(*self._calls.values())


def pending_calls(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of the tool calls among events that have no result yet."""
    calls = PendingCalls()
    for event in events:
        calls.take(event)
    return calls.ids


def session_of(form: str, events: Sequence[Event], **facts: Any) -> Session:
    """Return a session with `events`, which begins and ends at the earliest and the latest time of an event.

    `form` and `facts` are the other fields of `Session`, such as `model`.
    """
    times = [event.moment for event in events if event.moment]
    return Session(form, tuple(events), started=min(times, default=""), ended=max(times, default=""), **facts)


def time_in(fields: Mapping[str, Any]) -> str:
    """Return the `timestamp` of a transcript's line in canonical form, "" if it has none."""
    try:
        return timestamps.parse(text_in(fields, "timestamp"))
    except ValueError:
        return ""


def join_sessions(sessions: list[Session]) -> Session:
    """Return one session from several sessions with its parts, such as one for each transcript of its agents.

    `sessions` are at least one; id, model and branch are those of the first. The events are ordered by their times if
    all of them have a time. Numbers of tokens, answers and broken lines are summed.
    """
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
    """Return the event for a block of a message; None for a block that is no event, such as an image.

    The line ends in the event's text are LF. `origin` has further fields of the event, such as its `moment`.
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
    """Return the arguments of a tool call by name; arguments that are not a JSON object are under the name `input`."""
    arguments = decode_json(block.arguments) if isinstance(block.arguments, str) else block.arguments
    return arguments if isinstance(arguments, dict) else {"input": block.arguments}
