"""Reading a transcript: only a plain file, a part at a time, from either end. It may be huge, or no transcript at all.

The path comes from outside. A pipe would hang us and a link may lead anywhere, so neither is opened. What can't be read
any further ends there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

_BLOCK = 1024 * 1024
_TAIL_BLOCK = 64 * 1024
_LONGEST = 32 * 1024 * 1024  # of a line; the longest seen have pictures in them, and about 5 million


def opened(path: str) -> int | None:
    """A descriptor for a transcript; None if it is not there, or no plain file."""
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


def after(path: str, offset: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file from an offset on, each with the offset behind it. One too long comes out empty.

    A file shorter than the offset is another one of that name, and read from its beginning.
    """
    descriptor = opened(path)
    if descriptor is None:
        return
    with open(descriptor, "rb") as stream:
        place = offset if os.fstat(descriptor).st_size >= offset else 0
        stream.seek(place)
        rest: list[bytes] = []
        held = 0
        while block := _read(stream, _BLOCK):
            first, newline, more = block.partition(b"\n")
            rest.append(first if held <= _LONGEST else b"")
            held += len(first)
            if not newline:
                continue
            place += held + 1
            yield place, b"".join(rest) if held <= _LONGEST else b""
            *whole, last = more.split(b"\n")
            for line in whole:
                place += len(line) + 1
                yield place, line
            rest, held = [last], len(last)


def backwards(path: str, most: int) -> Iterator[bytes]:
    """The lines of a file from the last one back, as far as `most` bytes reach."""
    descriptor = opened(path)
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
