"""A small stand-in for the Messages API: it says what a test has it say, and keeps what it was sent.

An agent's program talks to it over HTTP on the loopback address, as it would to the real one, so that a test sees what
reaches a model and needs no network, no account and no key.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

SUMMARY = "a detailed summary of the conversation"  # in the instructions by which Claude Code asks for one
USAGE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


class MessagesAPI:
    """Serves until the `with` block ends. `answers` are given to the agent's own requests, one after the other.

    Each is a list of content blocks with the tokens that the request is said to have had. A request for a summary gets
    `summary`, anything else the agent asks beside (a title, a topic) a short text.
    """

    def __init__(self, answers: list[tuple[int, list[dict[str, Any]]]], summary: str) -> None:
        self.answers = answers
        self.summary = summary
        self.asked: list[dict[str, Any]] = []  # the agent's own requests
        self.summarised: list[dict[str, Any]] = []  # requests for a summary
        self.beside: list[dict[str, Any]] = []  # all others
        self._lock = threading.Lock()
        self._number = 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                if self.path.startswith("/v1/messages/count_tokens"):
                    self._send(json.dumps({"input_tokens": 1000}).encode(), "application/json")
                elif self.path.startswith("/v1/messages"):
                    tokens, blocks = api.answer(body)
                    message = api.message(body, tokens, blocks)
                    if body.get("stream"):
                        self._send(b"".join(_events(message)), "text/event-stream")
                    else:
                        self._send(json.dumps(message).encode(), "application/json")
                else:
                    self._send(b"{}", "application/json", 404)

            def do_GET(self) -> None:
                self._send(b"{}", "application/json", 404)

            def do_HEAD(self) -> None:
                self._send(b"", "application/json")

            def _send(self, data: bytes, kind: str, code: int = 200) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> MessagesAPI:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """The next answer, and the tokens of the request."""
        with self._lock:
            if SUMMARY in "\n".join(text_of(one.get("content")) for one in (body.get("messages") or [])[-2:]):
                self.summarised.append(body)
                return 1000, [{"type": "text", "text": self.summary}]
            if not body.get("tools"):
                self.beside.append(body)
                return 100, [{"type": "text", "text": "Work"}]
            self.asked.append(body)
            return self.answers.pop(0) if self.answers else (1000, [{"type": "text", "text": "Done."}])

    def message(self, body: dict[str, Any], tokens: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        self._number += 1
        is_call = any(block["type"] == "tool_use" for block in blocks)
        return {
            "id": f"msg_{self._number:04}",
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
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def text_of(content: Any) -> str:
    """All text in a message's content, that of tool results too."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(block) for block in content)
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return ""


def all_text(body: dict[str, Any]) -> str:
    """What a model is given: the system prompt and all messages."""
    return "\n".join([text_of(body.get("system")), *(text_of(m.get("content")) for m in body.get("messages") or [])])
