"""The tool calls in a transcript of Codex or Gemini CLI, with their results: what failed, which Git does not tell.

As Codex 0.169.0 (`$CODEX_HOME/sessions/…/rollout-*.jsonl`) and Gemini CLI 0.61.0 (`~/.gemini/tmp/*/chats/*.jsonl`)
write them. Prompts and answers of these programs come with the events of their hooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memctl.errors import MemctlError
from memctl.record import timestamps
from memctl.transcript.events import CALL, RESULT, Event, event_of
from memctl.transcript.files import main_lines_backwards
from memctl.transcript.line import text_in
from memctl.transcript.messages import elements

_REACH = 16 * 1024 * 1024  # bytes from the end of a transcript; a host keeps some 10 kB of a result
_MARKS = (b'"function_call', b'"toolCalls"')
_ITEMS = ("function_call", "function_call_output")


def read(transcript: str) -> list[Event]:
    """Return the calls that have a result, each followed by it, in their order; none of a file that is no transcript.

    The transcript is read anew each time, from `_REACH` bytes before its end.
    """
    found: list[Event] = []
    taken: set[str] = set()  # Gemini CLI writes a message again with each result that it gets: the last has all
    for line in main_lines_backwards(transcript, _REACH, _MARKS):
        try:
            events = [*_of_codex(line.fields), *_of_gemini(line.fields)]
        except (MemctlError, RecursionError):  # nested too deep
            continue
        found += [one for one in reversed(events) if f"{one.kind} {one.call}" not in taken]
        taken |= {f"{one.kind} {one.call}" for one in events}
    answered = {event.call for event in found if event.kind == RESULT and event.call}
    return [event for event in reversed(found) if event.call in answered]


def _of_codex(fields: dict[str, Any]) -> Iterator[Event]:
    item = fields.get("payload")
    if fields.get("type") != "response_item" or not isinstance(item, dict) or item.get("type") not in _ITEMS:
        return
    for element in elements(item):
        for block in element.blocks:
            event = event_of(block, {"moment": _moment(fields)})
            if event is not None:
                yield event


def _of_gemini(fields: dict[str, Any]) -> Iterator[Event]:
    given = fields.get("toolCalls")
    for call in given if isinstance(given, list) else ():
        if not isinstance(call, dict) or not isinstance(call.get("args"), dict) or not call.get("result"):
            continue
        around: dict[str, Any] = {"moment": _moment(call), "call": text_in(call, "id")}
        yield Event(CALL, tool=text_in(call, "name"), arguments=call["args"], **around)
        text = "\n".join(_texts(call["result"]))
        yield Event(RESULT, text, is_error=call.get("status") == "error", **around)


def _texts(results: Any) -> Iterator[str]:
    """The texts that a call came to: those of Gemini's function responses."""
    for one in results if isinstance(results, list) else ():
        answer = one.get("functionResponse") if isinstance(one, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            yield from (value for value in response.values() if isinstance(value, str))


def _moment(fields: dict[str, Any]) -> str:
    try:
        return timestamps.parse(text_in(fields, "timestamp"))
    except ValueError:
        return ""
