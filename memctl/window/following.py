"""A transcript that grows, looked at again and again: of each look only what was added is read.

A host appends to its transcript. A file that is shorter than before, or does not have what stood at its beginning or
just before the new lines, is another one and read from its beginning. A last line without an end is still being written
and waits for the next look.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable
from typing import BinaryIO

from memctl.errors import USAGE, MemctlError
from memctl.transcript.line import whole_lines
from memctl.transcript.window import WindowReader
from memctl.window import status
from memctl.window.messages import reading
from memctl.window.messages.content import TokenCounter
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
        self._offset = 0
        self._head = self._tail = b""
        self._is_transcript: bool | None = None
        self._window = WindowReader()

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
        return status.of_loaded(reading.of_transcript(self._window.window(), self._file), self._counter_for)

    def _is_the_same(self, stream: BinaryIO) -> bool:
        """Whether what was read before still stands there."""
        if stream.read(len(self._head)) != self._head:
            return False
        stream.seek(self._offset - len(self._tail))
        return stream.read(len(self._tail)) == self._tail

    def _read(self, stream: BinaryIO) -> None:
        start = self._offset
        for offset, row in whole_lines(stream, start):
            self._take(row.removeprefix(BOM_UTF8) if self._offset == 0 else row)
            if self._is_transcript is False:
                break
            self._offset = offset
        stream.seek(0)
        self._head = stream.read(min(_KNOWN, self._offset))
        stream.seek(max(0, self._offset - _KNOWN))
        self._tail = stream.read(min(_KNOWN, self._offset))
        self.read_bytes = self._offset - start

    def _take(self, row: bytes) -> None:
        if self._is_transcript is None and row.strip():
            self._is_transcript = reading.is_of_transcript(row)
        if self._is_transcript:
            self._window.read(row)
