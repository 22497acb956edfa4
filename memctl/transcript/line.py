"""Read the lines of a transcript from a file, and give access to the fields in a line of Claude Code's transcripts.

The path comes from outside, and the file may be huge or no transcript at all. So it is read in blocks, from its
beginning or from its end, and only if it is a plain file: a pipe would hang, and a link may lead anywhere. An error
while reading raises nothing, but counts as the end of the file. Hooks read transcripts after every tool call, so this
module imports nothing that takes time.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping

from memctl.text.light_typing import Any, BinaryIO

_SYNTHETIC = "<synthetic>"  # the model of messages that the program writes itself, such as errors of the API
_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Line:
    """A line of a Claude Code transcript: its JSON object, and properties for the fields that readers use.

    `number` is the number of the line in the file, from 1; 0 if lines were not counted. `is_sidechain` says that the
    line is about a sub-agent. `role` is "user" or "assistant" if the line has a message; it is "" for any other line,
    and for an answer that the host wrote in place of the model. A field whose type is not as expected is treated as
    missing.
    """

    __slots__ = ("fields", "is_sidechain", "message", "number", "role")

    def __init__(self, fields: dict[str, Any], number: int = 0) -> None:
        kind: Any = fields.get("type")
        message = fields.get("message")
        self.fields = fields
        self.number = number
        self.is_sidechain = bool(fields.get("isSidechain"))
        self.message: dict[str, Any] = {}
        self.role = ""
        if isinstance(message, dict):
            self.message = message
            if kind in ("assistant", "user") and message.get("model") != _SYNTHETIC:
                self.role = kind

    @property
    def uuid(self) -> str:
        """The id of the line, "" if it has none."""
        return text_in(self.fields, "uuid")

    @property
    def agent(self) -> str:
        """The name of the sub-agent that the line is about, "" if it is about the main agent."""
        return (text_in(self.fields, "agentId") or "sub-agent") if self.is_sidechain else ""

    @property
    def is_boundary(self) -> bool:
        """Whether the line marks a compaction of the context."""
        return self.fields.get("subtype") == "compact_boundary"

    @property
    def is_summary(self) -> bool:
        """Whether the line is the prompt with which a session goes on after a compaction, and which has the summary."""
        return bool(self.fields.get("isCompactSummary"))

    @property
    def compaction(self) -> dict[str, Any]:
        """The host's data on a compaction; {} if the line does not mark a compaction.

        The keys are `trigger`, `preTokens` and `postTokens`, each only if the host knows the value.
        """
        metadata = self.fields.get("compactMetadata")
        return metadata if isinstance(metadata, dict) else {}

    @property
    def compacted_by_itself(self) -> int:
        """The number of tokens that were in the context before an automatic compaction.

        It is 0 if the line does not mark an automatic compaction, or if it does not say the number.
        """
        before = self.compaction.get("preTokens")
        is_automatic = self.is_boundary and self.compaction.get("trigger") == "auto"
        return before if is_automatic and isinstance(before, int) and before > 0 else 0

    @property
    def answer(self) -> str:
        """The id of the answer to which the line belongs; "" if it belongs to none.

        An answer consists of blocks, such as texts and tool calls, and each block has a line of its own.
        """
        return text_in(self.message, "id") if self.role == "assistant" else ""

    @property
    def model(self) -> str:
        """The model of the line's message, "" if it names none."""
        return text_in(self.message, "model")

    @property
    def context(self) -> int:
        """The number of input tokens of the request to the model that the line answers.

        It is 0 if the line is not an answer of the model, or does not say the number.
        """
        return context_tokens(self.message.get("usage")) if self.role == "assistant" else 0


def text_in(fields: Mapping[str, Any], key: str) -> str:
    """Return the text in a field, "" if the field is missing or not a text."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def context_tokens(usage: Any) -> int:
    """Return the number of input tokens in `usage`, the usage data of an OpenAI or Anthropic answer.

    Cached tokens are included. The result is 0 if `usage` does not say the number.
    """
    if not isinstance(usage, dict):
        return 0
    if isinstance(usage.get("prompt_tokens"), int):
        return int(usage["prompt_tokens"])
    return sum(usage[name] for name in _INPUT if isinstance(usage.get(name), int))


LONGEST_LINE = 32 * 1024 * 1024  # bytes or characters; the longest seen have pictures in them, and about 5 million
_BLOCK = 1024 * 1024
_TAIL_BLOCK = 64 * 1024


def find_transcript(path: str) -> str:
    """Return the path of a transcript: `path` or, if there is no file, that of the file of its name in a folder beside.

    Claude Code names the folder of a worktree's own path and, in some versions, writes to that of the main worktree.
    The newest such file is taken; without one, the result is `path`.
    """
    if not os.path.isabs(path) or os.path.lexists(path):
        return path
    folder, name = os.path.split(path)
    found: list[tuple[int, str]] = []
    try:
        for beside in os.scandir(os.path.dirname(folder)):
            other = os.path.join(beside.path, name)
            if os.path.lexists(other):
                found.append((os.lstat(other).st_mtime_ns, other))
    except OSError:
        return path
    return max(found, default=(0, path))[1]


def open_plain(path: str) -> int | None:
    """Open a transcript for reading, and return its file descriptor.

    The result is None if `path` is not absolute, or does not name a plain file that can be opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    if not os.path.isabs(path):
        return None
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def lines_after(path: str, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines of a file from an offset on, each as a pair: the offset where it ends, and the line.

    Offsets are in bytes. A line that is too long is yielded as b"". If the file is shorter than the offset, it has been
    replaced by another file, and is read from its beginning.
    """
    descriptor = open_plain(path)
    if descriptor is None:
        return
    with open(descriptor, "rb") as stream:
        yield from whole_lines(stream, offset if os.fstat(descriptor).st_size >= offset else 0)


def whole_lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines of a stream from an offset on, each as a pair: the offset where it ends, and the line.

    Offsets are in bytes. A line that is too long is yielded as b"". If the last line has no line end, it is still being
    written, and is left out.
    """
    stream.seek(offset)
    rest: list[bytes] = []
    held = 0
    while block := _read(stream, _BLOCK):
        first, newline, more = block.partition(b"\n")
        rest.append(first if held <= LONGEST_LINE else b"")
        held += len(first)
        if not newline:
            continue
        offset += held + 1
        yield offset, b"".join(rest) if held <= LONGEST_LINE else b""
        *whole, last = more.split(b"\n")
        for line in whole:
            offset += len(line) + 1
            yield offset, line
        rest, held = [last], len(last)


def main_lines_backwards(path: str, most: int, marks: tuple[bytes, ...]) -> Iterator[Line]:
    """Yield the main agent's lines that contain one of the byte strings in `marks`, the last line first.

    `path` is the path of a Claude Code transcript, of which only the last `most` bytes are read.
    """
    for raw in lines_backwards(path, most):
        if not any(mark in raw for mark in marks):
            continue
        try:
            fields = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and not fields.get("isSidechain"):
            yield Line(fields)


def lines_backwards(path: str, most: int) -> Iterator[bytes]:
    """Yield the lines in about the last `most` bytes of a file, last line first."""
    descriptor = open_plain(path)
    if descriptor is None:
        return
    with open(descriptor, "rb") as stream:
        end = os.fstat(descriptor).st_size
        start = end
        pieces: list[bytes] = []  # of the line that begins before them, the last one first: it may be long
        while start > 0 and end - start < most:
            size = min(_TAIL_BLOCK, start)
            start -= size
            stream.seek(start)
            block = _read(stream, size)
            first, *whole = block.split(b"\n")
            if whole:
                pieces.append(whole.pop())
                yield b"".join(reversed(pieces))
                yield from reversed(whole)
                pieces = [first]
            elif block:
                pieces.append(first)
            else:
                return
        if start == 0:
            yield b"".join(reversed(pieces))


def _read(stream: BinaryIO, size: int) -> bytes:
    try:
        return stream.read(size)
    except OSError:
        return b""
