"""Read Codex's transcripts ("rollouts").

They are JSON Lines. A line is an item in the form of OpenAI's responses, or an event of the program. The format is that
of Codex 0.169.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from memctl.errors import MemctlError
from memctl.transcript.events import (
    COMPACTION,
    DIGEST,
    RESULT,
    Event,
    Session,
    Usage,
    event_of,
    session_of,
    time_in,
)
from memctl.transcript.line import Line, text_in
from memctl.transcript.messages import SYSTEM_ROLES, elements

# A patch is a call of a tool whose input is a text.
_TYPES = {"custom_tool_call": "function_call", "custom_tool_call_output": "function_call_output"}
# What the host says of a command before its output, and how a patch begins that does not fit.
_FRAME = re.compile(r"(?:(?:Chunk ID|Wall time|Exit code|Process exited|Original token count)[^\n]*\n)+Output:\n")
_STATUS = re.compile(r"(?:exited with code|Exit code:) (-?\d+)")
_NO_PATCH = "apply_patch verification failed"


def is_rollout(fields: Mapping[str, Any]) -> bool:
    """Return whether a file is a Codex transcript, from `fields`, the JSON object in the file's first line."""
    return fields.get("type") == "session_meta"


def read(lines: Iterable[Line]) -> Session:
    """Return the session in the lines of a Codex transcript."""
    events: list[Event] = []
    identifier = model = branch = cwd = ""
    usage, answers = Usage(), 0
    for line in lines:
        kind, payload = line.fields.get("type"), line.fields.get("payload")
        if not isinstance(payload, dict):
            continue
        origin: dict[str, Any] = {"moment": time_in(line.fields), "cwd": cwd}
        if kind in ("session_meta", "turn_context"):
            git = payload.get("git")
            identifier = identifier or text_in(payload, "id")
            branch = text_in(git, "branch") if isinstance(git, dict) else branch
            model, cwd = text_in(payload, "model") or model, text_in(payload, "cwd") or cwd
        elif kind == "compacted":
            events += [Event(COMPACTION, **origin), Event(DIGEST, text_in(payload, "message"), **origin)]
        elif kind == "response_item":
            with suppress(MemctlError, RecursionError):  # nested too deep
                events += list(_events(payload, origin))
        elif (total := _total(payload)) is not None and total != usage:
            usage, answers = total, answers + 1
    return session_of("Codex", events, id=identifier, model=model, branch=branch, usage=usage, answers=answers)


def _events(item: dict[str, Any], origin: dict[str, Any]) -> Iterator[Event]:
    item = {**item, "type": _TYPES.get(str(item.get("type")), item.get("type"))}
    for element in elements(item):
        for block in element.blocks:
            event = event_of(block, origin) if block.role not in SYSTEM_ROLES else None
            if event is not None:
                yield _result(event, origin) if event.kind == RESULT else event


def _result(event: Event, origin: dict[str, Any]) -> Event:
    frame = _FRAME.match(event.text)
    status = _STATUS.search(frame[0]) if frame else None
    is_error = event.text.startswith(_NO_PATCH) or (status is not None and int(status[1]) != 0)
    details = {"status": int(status[1])} if status else {}
    text = event.text[frame.end() :] if frame else event.text
    return Event(RESULT, text, call=event.call, is_error=is_error, details=details, **origin)


def _total(payload: dict[str, Any]) -> Usage | None:
    info = payload.get("info")
    total = info.get("total_token_usage") if isinstance(info, dict) else None
    if not isinstance(total, dict):
        return None
    return Usage.of(total.get("input_tokens"), total.get("output_tokens"))
