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
from memctl.transcript.user_words import user_words

PROMPT, ANSWER, CALL, RESULT, COMPACTION, DIGEST = "prompt", "answer", "call", "result", "compaction", "digest"

GIT = "Git"  # the form of a session of which only Git tells


class Event(msgspec.Struct, frozen=True):
    """One event of a session, such as a prompt or a tool call.

    `kind` is a constant of this module:

    - PROMPT, ANSWER: what the user or the model said, in `text`.
    - CALL: a tool call, with the `tool` and its `arguments`. `call` is the id of the call, "" if it will have no
      result.
    - RESULT: the result of a tool call, in `text`. `call` is the id of that call. `is_error` says that the call failed.
      `details` has what the host's transcript says of the result besides its text, such as a command's exit status.
    - COMPACTION: the context was compacted.
    - DIGEST: the summary that a compaction made, in `text`.

    All kinds have four more fields. `moment` is a canonical time, "" if unknown. `agent` is the name of a sub-agent, ""
    for the main agent. `cwd` is the folder in which the agent worked. `line` is the number of the transcript's line,
    from 1; 0 if lines were not counted.
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
    """The numbers of tokens that a model reported for one or more requests: `read` for input, `written` for output.

    `written` is None if the transcript does not say how many tokens one of the answers has.
    """

    read: int = 0
    written: int | None = 0

    @classmethod
    def of(cls, read: Any, written: Any) -> Usage:
        """Return the usage of one request, with `read` input tokens and `written` output tokens (None: unknown).

        A value that is not an integer, as in a damaged transcript, counts as 0.
        """
        numbers = [number if isinstance(number, int) else 0 for number in (read, written)]
        return cls(numbers[0], None if written is None else numbers[1])

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Return the sum of several usages."""
        totals = list(usages)
        written = [usage.written for usage in totals if usage.written is not None]
        return cls(sum(usage.read for usage in totals), sum(written) if len(written) == len(totals) else None)


class Session(msgspec.Struct, frozen=True):
    """The content of a transcript: its events, and facts about the session.

    `form` is the name of the program that wrote the transcript, such as "Claude Code", or of the format. `answers` is
    the number of requests to the model, and `broken` the number of lines that can't be read. `started` and `ended` are
    canonical times, "" if the transcript has none. `is_later_part` says that the session began before these events.
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
    is_later_part: bool = False

    @property
    def cwd(self) -> str:
        """The folder in which the session began, "" if unknown."""
        return next((event.cwd for event in self.events if event.cwd), "")

    def count(self, kind: str) -> int:
        """Return the number of events of a kind."""
        return sum(event.kind == kind for event in self.events)


class PendingCalls:
    """Finds the tool calls that have no result yet, from a session's events, which it is given one by one.

    If an agent says something, or makes a call after it got a result, no result will come for its earlier calls any
    more, for instance because the transcript lacks it. So they are no longer pending. Calls without an id are ignored.
    """

    def __init__(self) -> None:
        self._calls: dict[str, set[str]] = {}  # by their agents
        self._answered: set[str] = set()  # the agents that got a result last

    def take(self, event: Event) -> None:
        """Take the next event of the session.

        If it is a call, the call is pending from now on, until its result comes or the agent goes on without it.
        """
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
        """The ids of the calls that are pending after the events so far."""
        return frozenset().union(*self._calls.values())


def pending_calls(events: Iterable[Event]) -> frozenset[str]:
    """Return the ids of those tool calls in `events` that have no result yet."""
    calls = PendingCalls()
    for event in events:
        calls.take(event)
    return calls.ids


def session_of(form: str, events: Sequence[Event], **facts: Any) -> Session:
    """Return a session that consists of `events`.

    It begins at the earliest time of an event and ends at the latest. `form` and `facts` become the other fields of
    `Session`, such as `model`.
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
    """Return one session made of several, such as those from the transcripts of a main agent and of its sub-agents.

    There must be at least one. Id, model and branch are those of the first. The events are sorted by time if all of
    them have a time, and otherwise stay in the order of the sessions. Numbers of tokens, answers and broken lines are
    summed.
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

    A prompt has only the user's own words (`user_words`); a prompt that a program wrote is no event. Line ends in the
    event's text become LF. `origin` has values for further fields of the event, such as `moment`.
    """
    if block.type == messages.CALL:
        return Event(CALL, tool=block.name, arguments=arguments_of(block), call=block.call_id, **origin)
    if block.type == messages.RESULT:
        text = clean_newlines(block.text)
        return Event(RESULT, text, call=block.call_id, is_error=block.is_error, **origin)
    if block.type != messages.TEXT:
        return None
    text = clean_newlines(block.text)
    if block.role == "user":
        text = user_words(text)
    return Event(PROMPT if block.role == "user" else ANSWER, text, **origin) if text.strip() else None


def arguments_of(block: Block) -> dict[str, Any]:
    """Return the arguments of a tool call by name; arguments that are not a JSON object are under the name `input`."""
    arguments = decode_json(block.arguments) if isinstance(block.arguments, str) else block.arguments
    return arguments if isinstance(arguments, dict) else {"input": block.arguments}
