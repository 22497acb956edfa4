"""A transcript that grows, looked at again and again: of each look only what was added is read.

A host appends to its transcript. A file that is shorter than before, or does not have what stood at its beginning or
just before the new lines, is another one and read from its beginning. A last line without an end is still being written
and waits for the next look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from memctl.errors import USAGE, MemctlError
from memctl.transcript.window import WindowReader
from memctl.window import status
from memctl.window.messages import reading
from memctl.window.messages.content import TokenCounter
from memctl.window.pressure.curve import CurveReader
from memctl.window.status import SeenConversation

_KNOWN = 4096  # bytes at either end of what was read by which the file is known again


class Follower:
    """Reads one transcript as it grows. `read_bytes` is what the last look read of it."""

    def __init__(self, file: str, counter_for: Callable[[str], TokenCounter]) -> None:
        self.read_bytes = 0
        self._file = file
        self._counter_for = counter_for
        self._begin()

    def _begin(self) -> None:
        self._offset = self._number = 0
        self._head = self._tail = b""
        self._is_transcript: bool | None = None
        self._messages, self._curve = WindowReader(), CurveReader()

    def look(self) -> SeenConversation | None:
        """The window now; None of a file that is no transcript. Raises MemctlError if it can't be read, or has no
        messages."""
        try:
            with open(self._file, "rb") as stream:
                if not self._is_the_same(stream):
                    self._begin()
                self._read(stream)
        except OSError as error:
            raise MemctlError(f"{self._file} can't be read: {error.strerror}", exit_code=USAGE) from None
        if not self._is_transcript:
            return None
        loaded = reading.of_transcript(self._messages.finished(), self._file)
        return status.of_loaded(loaded, self._curve.curve(), self._counter_for)

    def _is_the_same(self, stream: BinaryIO) -> bool:
        """Whether what was read before still stands there."""
        if stream.read(len(self._head)) != self._head:
            return False
        stream.seek(self._offset - len(self._tail))
        return stream.read(len(self._tail)) == self._tail

    def _read(self, stream: BinaryIO) -> None:
        start = stream.seek(self._offset)
        for line in stream:
            if not line.endswith(b"\n") or self._is_transcript is False:
                break
            self._offset += len(line)
            self._head += line[: _KNOWN - len(self._head)]
            self._tail = (self._tail + line[-_KNOWN:])[-_KNOWN:]
            self._number += 1
            self._take(line.decode("utf-8-sig" if self._number == 1 else "utf-8", "replace"))
        self.read_bytes = self._offset - start

    def _take(self, line: str) -> None:
        if self._is_transcript is None and line.strip():
            self._is_transcript = reading.is_of_transcript(line)
        if self._is_transcript:
            self._curve.take(self._number, line)
            self._messages.take(self._number, line)
