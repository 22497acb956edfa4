"""The stream of workflow events: JSON Lines in the Git directory that all worktrees share, in no commit.

Events are many, small and soon obsolete, so they are not records (rules.md#importance): a checkpoint copies those that
matter into the memory. The stream keeps only the latest events, and can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.record.event import WorkflowEvent
from memctl.store import files, lock
from memctl.store.memory import Memory

MOST_KEPT = 1_000
MOST_BYTES = 4_000_000  # an event may have 500 kB, and adding one reads all others
_PATIENCE = 10.0  # seconds to wait for the lock; adding an event takes a few milliseconds


class Stream(msgspec.Struct, frozen=True):
    """The events of a stream, oldest first, and the numbers of the file's lines that can't be read, from 1."""

    events: tuple[WorkflowEvent, ...] = ()
    broken: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        """The sequence number of the newest event of this stream; 0 if the stream has no events."""
        return self.events[-1].sequence if self.events else 0


def read(memory: Memory) -> Stream:
    """Return this clone's events of a memory; raises MemctlError if the file can't be read."""
    file = file_of(memory)
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return Stream()
    except OSError as error:
        raise MemctlError(f"{file} can't be read: {error.strerror}") from None
    events: list[WorkflowEvent] = []
    broken: list[int] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                events.append(msgspec.json.decode(line, type=WorkflowEvent))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                broken.append(number)
    return Stream(tuple(events), tuple(broken))


def append(memory: Memory, make: Callable[[int], WorkflowEvent]) -> Stream:
    """Append an event to a memory's stream, and return the stream with the new event.

    `make` gets the next sequence number and returns the event. Raises MemctlError if the file can't be written.
    """
    file = file_of(memory)
    try:
        with lock.hold(file.with_suffix(".lock"), _PATIENCE):
            stream = read(memory)
            event = make(stream.last + 1)
            stream = Stream((*stream.events, event), stream.broken)
            if len(stream.events) > 2 * MOST_KEPT or (file.exists() and file.stat().st_size > MOST_BYTES):
                stream = Stream(_latest(stream.events))
                files.replace_private(file, "".join(_line(event).decode() for event in stream.events))
            else:
                files.append_line(file, _line(event), is_private=True)
    except OSError as error:
        raise MemctlError(f"{file} can't be written: {error.strerror}") from None
    return stream


def _latest(events: tuple[WorkflowEvent, ...]) -> tuple[WorkflowEvent, ...]:
    """Return the newest events, as many as fit into half of MOST_BYTES, but at least one and at most MOST_KEPT."""
    room, size = MOST_BYTES // 2, 0
    for event in reversed(events[-MOST_KEPT:]):
        room -= len(_line(event))
        if room < 0 and size:
            break
        size += 1
    return events[-size:]


def _line(event: WorkflowEvent) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def file_of(memory: Memory) -> Path:
    """Return the path of the file with a memory's event stream; each memory of a repository has its own file."""
    return memory.repository.shared / "events" / f"{memory.private.name}.jsonl"
