"""A server in this process that says what a test wants it to, and remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

Answer = tuple[int, bytes, dict[str, str]]


class Server(ThreadingHTTPServer):
    """Gives its answers one after the other, the last one for ever; `slowly` are seconds between the bytes of one."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.slowly = 0.0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, msgspec.json.decode(body)))
        answers = self.server.answers
        code, answer, more = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(code)
        for name, value in {**more, "content-length": str(len(answer))}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for byte in answer if self.server.slowly else ():
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(self.server.slowly)
            if not self.server.slowly:
                self.wfile.write(answer)
        except OSError:
            pass  # whoever asked has gone

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers), None))
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """A server that runs until the end of the block."""
    server = Server(*answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
