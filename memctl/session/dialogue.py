"""A session as a dialogue: what the user and the main agent said, the commits made, and the plans approved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memctl.session import calls
from memctl.statements import dialogue
from memctl.statements.dialogue import FreeStatement, Turn
from memctl.text.lazy_regex import lazy_regex
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event

_PLAN = "ExitPlanMode"
_LONGEST = 50_000  # characters of a command in which a message is looked for
# How a prompt begins that the host of an agent wrote.
_OF_HOST = lazy_regex(
    r"\s*(?:Operation stopped by hook|Read the output file to retrieve|Full transcript available at|<bash-"
    r"|<local-command"
    r"|<task-notification|\[Request interrupted)"
)
_COMMIT = lazy_regex(r"\bgit (?:-\S+ (?:[^-\s]\S* )?){0,20}commit\b")
_HERE = lazy_regex(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n")
_MESSAGE = lazy_regex(r"(?:-[a-z]*m|--message)[ =](?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL)


def read(events: Sequence[Event]) -> list[FreeStatement]:
    """Return what was stated in free words; the turn of each is the place of its event."""
    return dialogue.read(_turns(events))


def _turns(events: Sequence[Event]) -> Iterator[Turn]:
    results = {event.call: event for event in events if event.kind == RESULT and event.call}
    called = {event.call: event for event in events if event.kind == CALL and event.tool == _PLAN}
    for place, event in enumerate(events):
        if event.agent:
            continue
        if event.kind == PROMPT and not _OF_HOST.match(event.text):
            yield Turn(dialogue.USER, event.text, place)
        elif event.kind == ANSWER:
            yield Turn(dialogue.AGENT, event.text, place)
        elif event.kind == CALL:
            result = results.get(event.call)
            is_done = result is None or not result.is_error
            message = commit_message(calls.command_of(event.arguments)) if is_done else ""
            who = dialogue.COMMIT if message else dialogue.EDIT if is_done and calls.is_edit(event) else dialogue.ACTION
            yield Turn(who, message, place)
        elif event.kind == RESULT and event.call in called and not event.is_error:
            yield Turn(dialogue.USER, event.text, place)
        elif event.kind == RESULT and isinstance(answers := event.details.get("answers"), dict):
            asked = [answer for answer in answers.values() if isinstance(answer, str) and "?" in answer]
            yield Turn(dialogue.USER, "\n".join(asked), place)


def commit_message(command: str) -> str:
    """Return the message of the commit that a command makes, "" if it makes no commit or gives no message."""
    command = command[:_LONGEST]
    start = _COMMIT.search(command) if "commit" in command else None
    if start is None:
        return ""
    rest = command[start.end() :]
    if here := _HERE.search(rest):
        return re.split(rf"\n[ \t]*{here[1]}\b", rest[here.end() :], maxsplit=1)[0].strip()
    return "\n\n".join(one or other for one, other in _MESSAGE.findall(rest)).strip()
