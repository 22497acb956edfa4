"""Read Gemini CLI's transcripts ("chats"): JSON Lines, or one JSON document in older versions.

The format is that of Gemini CLI 0.61.0. Each line either is a message or sets fields of the whole chat. A message that
has grown is written again with its `id`, and replaces the earlier one. After a compression or a resumption a line sets
the field `messages`. It repeats messages of earlier lines in another form, so only the summary in it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memctl.transcript.events import (
    ANSWER,
    CALL,
    COMPACTION,
    DIGEST,
    PROMPT,
    RESULT,
    Event,
    Session,
    Usage,
    session_of,
    time_in,
)
from memctl.transcript.line import Line, text_in
from memctl.transcript.user_words import user_words, without_elements

_ACKNOWLEDGED = "Got it. Thanks for the additional context!"  # what the program has the model say to a summary
_SUMMARY = "summary"  # the type that a summary gets here: none of a chat's own
_FIRST = 4  # messages among which that is: the session's context, the summary, then it
_FRAME = re.compile(r"</?untrusted_context>\n?|^Process Group PGID: \d+$", re.MULTILINE)


def is_chat(fields: Mapping[str, Any]) -> bool:
    """Return whether a file is a Gemini CLI transcript.

    `fields` is the JSON object in the file's first line or, in the older format, the object that is the whole file.
    """
    return "sessionId" in fields and "projectHash" in fields


def read(lines: Iterable[Line]) -> Session:
    """Return the session in the lines of a Gemini CLI transcript."""
    messages: dict[str, dict[str, Any]] = {}  # by their ids, as they were written last
    summaries: list[str] = []
    identifier = ""
    for line in lines:
        identifier = identifier or text_in(line.fields, "sessionId")
        changes = line.fields.get("$set")
        if isinstance(changes, dict):
            restated = _dicts(changes.get("messages"))
            if (place := summary_place(restated)) and (text := text_of(restated[place - 1])) not in summaries:
                summaries.append(text)
                fields = {"type": _SUMMARY, "content": text, "timestamp": changes.get("lastUpdated")}
                messages[f"summary {len(summaries)}"] = fields
            continue
        for message in _dicts(line.fields["messages"]) if "messages" in line.fields else [line.fields]:
            messages[text_in(message, "id") or str(len(messages))] = message
    events: list[Event] = []
    model, usage, answers = "", Usage(), 0
    for message in messages.values():
        events += _events(message)
        tokens = message.get("tokens")
        if isinstance(tokens, dict):
            usage = Usage.total((usage, Usage.of(tokens.get("input"), tokens.get("output"))))
            answers += 1
        model = text_in(message, "model") or model
    return session_of("Gemini CLI", events, id=identifier, model=model, usage=usage, answers=answers)


def summary_place(messages: list[Any]) -> int:
    """Return the index in `messages` of the fixed answer that Gemini CLI writes after the summary of a compression.

    The summary is the message before this answer. The result is 0 if the messages do not begin with a summary.
    """
    texts = [text_of(message) for message in messages[:_FIRST]]
    return texts.index(_ACKNOWLEDGED) if _ACKNOWLEDGED in texts[1:] else 0


def text_of(message: Any) -> str:
    """Return the text of a message: its content if that is a text, else the text of the content's last part.

    The result is "" if there is no such text, or if `message` is no JSON object.
    """
    content = message.get("content") if isinstance(message, dict) else None
    part = content[-1] if isinstance(content, list) and content else None
    text = part.get("text") if isinstance(part, dict) else content
    return text if isinstance(text, str) else ""


def _events(message: dict[str, Any]) -> Iterator[Event]:
    origin: dict[str, Any] = {"moment": time_in(message)}
    content, kind = message.get("content"), message.get("type")
    for text in [content] if isinstance(content, str) else [text_in(part, "text") for part in _dicts(content)]:
        if kind == _SUMMARY:
            yield Event(COMPACTION, **origin)
            yield Event(DIGEST, text, **origin)
        elif kind == "user" and (prompt := user_words(text)):
            yield Event(PROMPT, prompt, **origin)
        elif kind == "gemini" and text.strip():
            yield Event(ANSWER, text, **origin)
    for call in _dicts(message.get("toolCalls")):
        yield from _call(call, origin)


def _call(call: dict[str, Any], origin: dict[str, Any]) -> Iterator[Event]:
    value, identifier = call.get("args"), text_in(call, "id")
    arguments = value if isinstance(value, dict) else {}
    yield Event(CALL, tool=text_in(call, "name"), arguments=arguments, call=identifier, **origin)
    parts = [part.get("functionResponse") for part in _dicts(call.get("result"))]
    responses = [part.get("response") for part in parts if isinstance(part, dict)]
    texts = [
        text_in(response, "error") or text_in(response, "output")
        for response in responses
        if isinstance(response, dict)
    ]
    if texts:
        text = without_elements(_FRAME.sub("", "\n".join(texts))).strip().removeprefix("Output: ")
        yield Event(RESULT, text, call=identifier, is_error=call.get("status") == "error", **origin)


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
