"""Reading a transcript's file: only a plain one, a part at a time, from either end. It may be huge, or no transcript.

The path comes from outside. A pipe would hang us and a link may lead anywhere, so neither is opened. What can't be read
any further ends there. Hooks read files after every tool call, so this module imports nothing that takes time.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from memctl.transcript.line import Line

LONGEST_LINE = 32 * 1024 * 1024  # bytes or characters; the longest seen have pictures in them, and about 5 million
_BLOCK = 1024 * 1024
_TAIL_BLOCK = 64 * 1024


def open_plain(path: str) -> int | None:
    """Return a descriptor for a transcript; None if it is not there, or no plain file."""
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
    """Yield the whole lines of a file from an offset on, each with the offset behind it. One too long comes out empty.

    A file shorter than the offset is another one of that name, and read from its beginning.
    """
    descriptor = open_plain(path)
    if descriptor is None:
        return
    with open(descriptor, "rb") as stream:
        yield from whole_lines(stream, offset if os.fstat(descriptor).st_size >= offset else 0)


def whole_lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a stream from an offset on, each with the offset behind it; one too long comes out empty.

    A last line without an end is still being written, and is left out.
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
    """Yield the main agent's lines that contain one of some marks, the last one first, as far as `most` bytes reach."""
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
    """Yield the lines of a file from the last one back, as far as `most` bytes reach."""
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
