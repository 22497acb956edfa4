"""A small server that stands in for a model's interface: it says what a test has it say, and keeps what it was sent.

An agent's program talks to it over HTTP on the loopback address, as it would to the real one, so that a test sees what
reaches a model and needs no network, no account and no key.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

JSON, EVENTS = "application/json", "text/event-stream"


class Reply(NamedTuple):
    """What is sent back."""

    data: bytes = b"{}"
    kind: str = JSON
    code: int = 200


NOT_HERE = Reply(code=404)


class StandIn:
    """Serves until the `with` block ends. `answers` are given to the agent's own requests, one after the other.

    Each has what the model says, in the form of the interface, with the tokens that the request is said to have had.
    """

    def __init__(self, answers: list[tuple[int, list[dict[str, Any]]]], summary: str) -> None:
        self.answers = answers
        self.summary = summary
        self.asked: list[dict[str, Any]] = []  # the agent's own requests
        self.summarised: list[dict[str, Any]] = []  # requests for a summary
        self.beside: list[dict[str, Any]] = []  # all others
        self.lock = threading.Lock()
        self._number = 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self._send(api.reply(self.path, json.loads(self._body() or b"{}")))

            def do_GET(self) -> None:
                self._send(NOT_HERE)

            def do_HEAD(self) -> None:
                self._send(Reply(b""))

            def _body(self) -> bytes:
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline(), 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)

            def _send(self, reply: Reply) -> None:
                self.send_response(reply.code)
                self.send_header("Content-Type", reply.kind)
                self.send_header("Content-Length", str(len(reply.data)))
                self.end_headers()
                self.wfile.write(reply.data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, path: str, body: dict[str, Any]) -> Reply:
        """What a request gets; told by each interface."""
        raise NotImplementedError

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def next_answer(self, body: dict[str, Any], otherwise: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
        """What the model says to a request of the agent's own, which is kept; `otherwise` once the test has no more."""
        self.asked.append(body)
        return self.answers.pop(0) if self.answers else (1000, [otherwise])


def event(data: dict[str, Any], name: str = "") -> bytes:
    """A server-sent event."""
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


def text_of(content: Any) -> str:
    """All text in a message's content, that of tool results too."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(block) for block in content)
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return ""
