"""Errors that a session met, and whether they were resolved: the same step succeeded later."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from memctl.sessions import calls
from memctl.sessions.events import CALL, RESULT, Event
from memctl.sessions.shell import commands

# How a result says that a command failed where nobody marks it: Codex's and others' JSON, shells, Python.
_FAILED = re.compile(
    r'"exit_code":\s*[1-9]|^(?:exit code|process exited with code|command exited with code):?\s+[1-9]'
    r"|^exit code [1-9]|\bexited with (?:code|status) [1-9]|^Traceback \(most recent call last\)|: command not found$",
    re.IGNORECASE | re.MULTILINE,
)
_TELLING = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:? |\berror(?:\[\w+\])?:|\bfatal:|\bfailed\b|not found|denied|cannot |can't ).*$",
    re.IGNORECASE | re.MULTILINE,
)
_LOOKED_AT = 20_000  # characters of a result
_LONGEST = 300  # characters of what is kept of an error
_WRAPPERS = ("cd", "export", "source", ".", "set", "echo", "pushd", "popd")


class Failure(msgspec.Struct, frozen=True):
    """A step that failed: what it was, how it says it failed, when, and how it came right ("": it did not)."""

    step: str
    message: str
    moment: str = ""
    resolved: str = ""
    times: int = 1


def of_events(events: Sequence[Event]) -> list[Failure]:
    """The failures of a session, one for each step and message, in the order in which they came."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    found: dict[tuple[str, str], Failure] = {}
    for event in events:
        call = called.get(event.call) if event.kind == RESULT else None
        if call is None:
            continue
        step = _step(call)
        if is_failure(event, call):
            key = (step, message(event.text))
            old = found.get(key, Failure(step, key[1], event.moment, times=0))
            found[key] = msgspec.structs.replace(old, resolved="", times=old.times + 1)
        else:
            for key, failure in found.items():
                if not failure.resolved and key[0] == step:
                    found[key] = msgspec.structs.replace(failure, resolved="the same step succeeded later")
    return list(found.values())


def succeeded(events: Sequence[Event]) -> frozenset[str]:
    """The steps that succeeded the last time they were tried."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    last: dict[str, bool] = {}
    for event in events:
        if event.kind == RESULT and (call := called.get(event.call)) is not None:
            last[_step(call)] = not is_failure(event, call)
    return frozenset(step for step, is_good in last.items() if is_good)


def is_failure(result: Event, call: Event) -> bool:
    """Whether a result says that its call failed."""
    if result.is_error:
        return True
    runs = bool(calls.command_of(call.arguments))
    start = result.text[:_LOOKED_AT]
    return runs and not result.details and _FAILED.search(start) is not None


def message(text: str) -> str:
    """What of an error's text tells most: its last line that names an error, else its first."""
    text = re.sub(r"</?tool_use_error>", "", text[:_LOOKED_AT])
    lines = [
        line.strip()
        for line in text.split("\n")
        if line.strip() and not re.match(r"exit code \d+$", line.strip(), re.I)
    ]
    telling = [match[0].strip() for match in _TELLING.finditer("\n".join(lines))]
    line = telling[-1] if telling else lines[0] if lines else "no message"
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _step(call: Event) -> str:
    """What a call tries: a program with its first words, or a tool and its file."""
    command = calls.command_of(call.arguments)
    if command:
        for simple in commands(command):
            if simple.words and simple.words[0] not in _WRAPPERS:
                return " ".join(word for word in simple.words if not word.startswith("-"))[:80] or simple.words[0]
        return " ".join(command.split())[:80]
    path = next((touch.path for touch in calls.touched(call)), "")
    return f"{call.tool} {path}".strip()
