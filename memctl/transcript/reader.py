"""Read a transcript in any form. Transcripts are untrusted: anything unexpected in one is ignored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from itertools import chain
from typing import Any

import msgspec

from memctl.record.frontmatter import clean_newlines
from memctl.transcript import codex, gemini, plain_text
from memctl.transcript.claude_code import LineReader, SessionReader
from memctl.transcript.events import CALL, RESULT, Event, Session, event_of
from memctl.transcript.line import Line, lines_after
from memctl.transcript.messages import SYSTEM_ROLES, decode_json, elements

_REACH = 16 * 1024 * 1024  # bytes from the end of a transcript; a host keeps some 10 kB of a result
_LOOKED_AT = 8000  # bytes for a zero; Git takes a file for binary by as many


def read(data: bytes) -> Session:
    """Return the session in a transcript of an agent's program, in messages as JSON, or in plain text.

    `data` is the content of the file. The session has no events if the data are something else, such as a binary file
    or other JSON.
    """
    if b"\0" in data[:_LOOKED_AT]:
        return Session("", ())
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data.lstrip()[:1]
    whole = decode_json(data) if start in (b"{", b"[") else None
    if isinstance(whole, list):
        return of_messages(whole)
    if isinstance(whole, dict) and gemini.is_chat(whole):
        return gemini.read([Line(whole)])
    if isinstance(whole, dict) and {"messages", "input"} & set(whole):
        return of_messages(whole.get("messages", whole.get("input")), whole)
    return _of_lines(data) if start == b"{" else _of_text(data)


def _of_text(data: bytes) -> Session:
    text = clean_newlines(data.decode(errors="replace"))
    rows = [row for line in text.split("\n") if (row := line.strip())]
    is_values = bool(rows) and all(row == "null" or decode_json(row) is not None for row in rows)
    return Session("", ()) if is_values else plain_text.read(text)


def _of_lines(data: bytes) -> Session:
    reader, session = LineReader(), SessionReader()
    lines = reader.lines(BytesIO(data))
    first = next(lines, None)
    lines = chain([first] if first is not None else [], lines)
    fields = first.fields if first is not None else {}
    result: Session | None = None
    if "role" in fields or "call_id" in fields:
        result = of_messages([line.fields for line in lines])
    elif (read_host := _reader_of(fields)) is not None:
        result = read_host(lines)
    if result is not None:
        return msgspec.structs.replace(result, broken=reader.broken)
    is_transcript = False
    for line in lines:
        is_transcript = is_transcript or isinstance(line.fields.get("type"), str) or bool(line.message)
        session.take(line)
    if is_transcript:
        return session.session(reader.broken)
    return _of_text(data) if reader.broken else Session("", ())


def tool_calls(path: str) -> list[Event]:
    """Return the events of the finished tool calls in a transcript: each call that has a result, and its result.

    `path` is the path of a Codex or Gemini CLI transcript; the list is empty for any other file. The results tell which
    calls failed, which can't be seen in Git. Only the last 16 MiB of a longer transcript are read.
    """
    first = decode_json(next((row for _, row in lines_after(path, 0)), b""))
    read_host = _reader_of(first) if isinstance(first, dict) else None
    if read_host is None:
        return []
    rows = (row for _, row in lines_after(path, max(os.stat(path).st_size - _REACH, 0)))
    events = read_host(LineReader().lines(rows)).events
    answered = {event.call for event in events if event.kind == RESULT and event.call}
    return [event for event in events if event.kind in (CALL, RESULT) and event.call in answered]


def _reader_of(first: Mapping[str, Any]) -> Callable[[Iterable[Line]], Session] | None:
    if codex.is_rollout(first):
        return codex.read
    return gemini.read if gemini.is_chat(first) else None


def of_messages(given: Any, body: Any = None) -> Session:
    """Return the session in a list of messages, in Anthropic's or OpenAI's shape, or in one text, which is a prompt.

    `body` is the request's body that the messages are from, which may name the model; None if there is no body.
    """
    events: list[Event] = []
    answers = broken = 0
    for message in given if isinstance(given, list) else [{"role": "user", "content": given}]:
        if not isinstance(message, dict):
            broken += 1
            continue
        answers += message.get("role") == "assistant"
        for element in elements(message):
            for block in element.blocks:
                if block.role not in SYSTEM_ROLES and (event := event_of(block)) is not None:
                    events.append(event)
    if not any(event.kind == RESULT for event in events):  # nobody wrote results down, so there is none to come
        events = [msgspec.structs.replace(event, call="") for event in events]
    model = body.get("model") if isinstance(body, dict) else ""
    return Session(
        "messages", tuple(events), model=model if isinstance(model, str) else "", answers=answers, broken=broken
    )
