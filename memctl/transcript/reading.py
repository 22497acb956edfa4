"""Reading transcripts: which form one has, and the events in it. They are untrusted: what is odd is passed over."""

from __future__ import annotations

from typing import Any

import msgspec

from memctl.record.frontmatter import clean_newlines
from memctl.transcript import messages as blocks
from memctl.transcript import plain_text
from memctl.transcript.claude_code import ClaudeCode
from memctl.transcript.events import RESULT, Event, Session, decoded, event_of
from memctl.transcript.messages import lines

_LONGEST = 32 * 1024 * 1024  # characters of a line; the longest seen have pictures in them, and about 5 million
_LOOKED_AT = 8000  # bytes for a zero; Git takes a file for binary by as many


def read(data: bytes) -> Session:
    """The session that a transcript tells of: Claude Code's JSON Lines, messages as JSON, or plain text.

    Without events if it is none: a binary file, or JSON of something else, such as `null`, or a number a line.
    """
    if b"\0" in data[:_LOOKED_AT]:
        return Session("", ())
    text = clean_newlines(data.decode(errors="replace"))
    start = text.lstrip()[:1]
    if start not in ("{", "["):
        return Session("", ()) if _is_values(text) else plain_text.read(text)
    whole = decoded(text)
    if isinstance(whole, dict) and not {"messages", "input"} & set(whole):
        whole = None  # JSON Lines of one line
    if whole is not None:
        return messages(whole if isinstance(whole, list) else whole.get("messages", whole.get("input")), whole)
    return _lines(text)


def _is_values(text: str) -> bool:
    """Whether every line is a value of JSON, and none says anything: numbers, texts in quotes, `null`."""
    rows = [row for line in text.split("\n") if (row := line.strip())]
    return bool(rows) and all(row == "null" or decoded(row) is not None for row in rows)


def _lines(text: str) -> Session:
    found: list[Any] = []
    broken = 0
    for number, line in lines("\n".join(line if len(line) <= _LONGEST else "?" for line in text.split("\n"))):
        if isinstance(line, dict):
            found.append(line)
        else:
            broken += 1
            if number == 1 and not text.lstrip().startswith("{"):
                return plain_text.read(text)
    if found and all("role" in line or "call_id" in line for line in found):
        return msgspec.structs.replace(messages(found, {}), broken=broken)
    if not any(isinstance(line.get("type"), str) or "message" in line for line in found):
        return plain_text.read(text) if broken else Session("", ())
    reader = ClaudeCode()
    for line in found:
        reader.read(line)
    return reader.session(broken)


def messages(given: Any, body: Any) -> Session:
    """The session of a list of messages, in either interface's shape."""
    events: list[Event] = []
    answers = broken = 0
    for message in given if isinstance(given, list) else [{"role": "user", "content": given}]:
        if not isinstance(message, dict):
            broken += 1
            continue
        answers += message.get("role") == "assistant"
        for block in blocks.of_message(message):
            if block.role not in ("system", "developer") and (event := event_of(block)) is not None:
                events.append(event)
    if not any(event.kind == RESULT for event in events):  # nobody wrote results down, so there is none to come
        events = [msgspec.structs.replace(event, call="") for event in events]
    model = body.get("model") if isinstance(body, dict) else ""
    return Session(
        "messages", tuple(events), model=model if isinstance(model, str) else "", answers=answers, broken=broken
    )
