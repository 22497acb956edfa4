"""The Messages API, as Claude Code talks to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.agents.stand_in import EVENTS, JSON, NOT_HERE, Reply, StandIn, event, text_of

SUMMARY = "a detailed summary of the conversation"  # in the instructions by which Claude Code asks for one
USAGE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class MessagesAPI(StandIn):
    """Each answer is a list of content blocks.

    A request for a summary gets `summary`, anything else the agent asks beside (a title, a topic) a short text.
    """

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        if path.startswith("/v1/messages/count_tokens"):
            return Reply(json.dumps({"input_tokens": 1000}).encode())
        if not path.startswith("/v1/messages"):
            return NOT_HERE
        tokens, blocks = self.answer(body)
        message = self.message(body, tokens, blocks)
        if body.get("stream"):
            return Reply(b"".join(_events(message)), EVENTS)
        return Reply(json.dumps(message).encode(), JSON)

    def answer(self, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """The next answer, and the tokens of the request."""
        with self.lock:
            if SUMMARY in "\n".join(text_of(one.get("content")) for one in (body.get("messages") or [])[-2:]):
                self.summarised.append(body)
                return 1000, [{"type": "text", "text": self.summary}]
            if not body.get("tools"):
                self.beside.append(body)
                return 100, [{"type": "text", "text": "Work"}]
            return self.next_answer(body, {"type": "text", "text": "Done."})

    def message(self, body: dict[str, Any], tokens: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        is_call = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": f"msg_{self.next_number():04}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "claude"),
            "content": blocks,
            "stop_reason": "tool_use" if is_call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": tokens, "output_tokens": 20, **USAGE},
        }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """A message as the stream of server-sent events that the API makes of it."""
    start = {**message, "content": [], "stop_reason": None}
    yield _event({"type": "message_start", "message": start})
    for index, block in enumerate(message["content"]):
        if block["type"] == "tool_use":
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        else:
            empty = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        yield _event({"type": "content_block_start", "index": index, "content_block": empty})
        yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 20}})
    yield _event({"type": "message_stop"})


def _event(data: dict[str, Any]) -> bytes:
    return event(data, data["type"])


def all_text(body: dict[str, Any]) -> str:
    """What a model is given: the system prompt and all messages."""
    return "\n".join([text_of(body.get("system")), *(text_of(m.get("content")) for m in body.get("messages") or [])])
