"""Errors that a session met, and whether they were resolved: the same step succeeded later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from memctl.session import calls, steps, verdicts
from memctl.transcript.events import CALL, RESULT, Event

# How a host or a shell says that a command failed where nobody marks it: Codex's and others' JSON, and shells.
_ENDED = re.compile(
    r'"exit_code":\s*[1-9]|^(?:exit code|process exited with code|command exited with code):?\s+[1-9]'
    r"|^exit code [1-9]|\bexited with (?:code|status) [1-9]|: command not found$",
    re.IGNORECASE | re.MULTILINE,
)
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
# What hides how a check ended, so that a status of 0 says nothing of it.
_HIDING = re.compile(r"[|;\n]")
_TELLING = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:? |\berror(?:\[\w+\])?:|\bfatal:|\bfailed\b|not found|denied|cannot |can't ).*$",
    re.IGNORECASE | re.MULTILINE,
)
_LOOKED_AT = 20_000  # characters of a result
_LONGEST = 300  # characters of what is kept of an error


class Failure(msgspec.Struct, frozen=True):
    """A step that failed: what it was, how it says it failed, when, and how it came right ("": it did not)."""

    step: str
    message: str
    moment: str = ""
    resolved: str = ""
    times: int = 1


def of_events(events: Sequence[Event]) -> list[Failure]:
    """The failures of a session, one for each step and message, in the order in which they came.

    A message that only counts gives way to the next count of its step.
    """
    found: dict[tuple[str, str], Failure] = {}
    for event, call in _answered(events):
        step = steps.of_call(call)
        if is_failure(event, call):
            said = message(event.text)
            key = (steps.key(step), "" if verdicts.only_counts(said) else said)
            old = found.get(key, Failure(step, said, event.moment, times=0))
            found[key] = msgspec.structs.replace(old, message=said, resolved="", times=old.times + 1)
            continue
        good = {steps.key(step)}
        for key, failure in found.items():
            if not failure.resolved and steps.came_right(failure.step, good):
                found[key] = msgspec.structs.replace(failure, resolved="the same step succeeded later")
    return list(found.values())


def succeeded(events: Sequence[Event]) -> frozenset[str]:
    """The steps that succeeded the last time they were tried, as they were written then."""
    last: dict[str, tuple[str, bool]] = {}
    for event, call in _answered(events):
        step = steps.of_call(call)
        last[steps.key(step)] = (step, not is_failure(event, call))
    return frozenset(step for step, is_good in last.values() if is_good)


def _answered(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """The results, each with its call."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    for event in events:
        if event.kind == RESULT and (call := called.get(event.call)) is not None:
            yield event, call


def is_failure(result: Event, call: Event) -> bool:
    """Whether a result says that its call failed.

    Of a command that ended well, as its host knows, the output counts only if something after it hides its status.
    """
    if result.is_error:
        return True
    command = calls.command_of(call.arguments)
    if not command:
        return False
    text = _looked_at(result.text)
    if not result.details and _ENDED.search(text):
        return True
    if result.details and not _HIDING.search(command):
        return False
    return steps.is_doing(call) and bool(_TRACEBACK.search(text) or verdicts.failing(text))


def _looked_at(text: str) -> str:
    """The beginning and the end of a result, where commands sum up."""
    return text if len(text) <= _LOOKED_AT else f"{text[: _LOOKED_AT // 2]}\n{text[-_LOOKED_AT // 2 :]}"


def message(text: str) -> str:
    """What of an error's text tells most: what a tool says of its run, the last line that names an error, the first."""
    text = re.sub(r"</?tool_use_error>", "", _looked_at(text))
    lines = [
        line.strip()
        for line in text.split("\n")
        if line.strip() and not re.match(r"exit code \d+$", line.strip(), re.I)
    ]
    telling = [match[0].strip() for match in _TELLING.finditer("\n".join(lines))]
    own = "" if _TRACEBACK.search(text) else verdicts.failing(text)
    line = own or (telling[-1] if telling else lines[0] if lines else "no message")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
