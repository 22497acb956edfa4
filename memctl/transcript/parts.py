"""A session's transcripts, a part at a time: what came since they were last read, in as much memory as a part takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memctl.transcript.claude_code import LineReader, SessionReader
from memctl.transcript.events import Session, Unanswered
from memctl.transcript.files import lines_after
from memctl.transcript.line import Line
from memctl.transcript.locations import of_sub_agents

# Bytes of lines; the tool calls of a longer session are summed up part by part. Two parts are held at a time, the one
# that is worked on and the next: with 4 MB each, 100 MB took 12 MB more to read than 10 MB; with 1 MB each, 1 MB more.
_PART = 1024 * 1024
_ROOM = 8 * _PART  # until here a part waits for a prompt to end at, from then on only for the results of calls
_MOST = 2 * _ROOM  # a part ends here in any case
_LONGEST_NAME = 100  # of a line
_OF_USER = re.compile(rb'"type": ?"user"')


class TranscriptPart(msgspec.Struct, frozen=True):
    """Some lines: the session that they tell of, how far the transcripts are read then, and compactions among them.

    A compaction may not say how many tokens it left. Then `left` has those of the next request of the main agent, by
    the compaction's line, and `waiting` is the line for which none has come so far ("": for none).
    """

    session: Session
    offsets: dict[str, int]
    boundaries: tuple[dict[str, Any], ...]
    left: dict[str, int] = {}
    waiting: str = ""


def read(
    transcript: str, offsets: Mapping[str, int], waiting: str = "", *, is_over: bool = False
) -> Iterator[TranscriptPart]:
    """Yield what the transcripts of a session have behind some offsets: the main agent's, then those of its sub-agents.

    An answer with a call whose result is still to come is left for the next time: the call may fail yet. Of a session
    that `is_over` none is.
    """
    reading = _Reading(dict(offsets), waiting)
    for path in (transcript, *of_sub_agents(transcript)):
        for offset, line in lines_after(path, reading.offsets.get(path, 0)):
            if reading.is_full(line):
                yield reading.part()
                reading = _Reading(reading.offsets, reading.waiting)
            reading.take(path, offset, line)
    reading = reading if is_over else reading.settled()
    if reading.size:
        yield reading.part()


class _Open:
    """What is not settled yet of one transcript: calls without results, and where the answer with the first begins."""

    def __init__(self) -> None:
        self.calls = Unanswered()
        self.settled = 0
        self._answer = ""

    def begin(self, line: Line, offset: int) -> None:
        """A line begins at an offset; an answer has several, all of one id, and is counted by it."""
        answer = line.answer
        if (not answer or answer != self._answer) and not self.calls.ids:
            self.settled = offset
        self._answer = answer


class _Reading:
    """One part in the making."""

    def __init__(self, offsets: dict[str, int], waiting: str) -> None:
        self.offsets = offsets
        self.waiting = waiting
        self.size = 0
        self._begun = dict(offsets), waiting
        self._open: dict[str, _Open] = {}
        self._lines = LineReader()
        self._session = SessionReader()
        self._boundaries: list[dict[str, Any]] = []
        self._left: dict[str, int] = {}

    def is_full(self, line: bytes) -> bool:
        if self.size <= _PART:
            return False
        if self.size > _ROOM:
            return self.size > _MOST or not self._waits()
        return _OF_USER.search(line) is not None and b"tool_result" not in line

    def _waits(self) -> bool:
        """Whether the result of a call is still to come."""
        return any(one.calls.ids for one in self._open.values())

    def settled(self) -> _Reading:
        """The same as far as no answer has a call that waits for its result."""
        if not self._waits():
            return self
        made = _Reading(*self._begun)
        for path, one in self._open.items():
            end = one.settled if one.calls.ids else self.offsets[path]
            for offset, line in lines_after(path, made.offsets.get(path, 0)):
                if offset > end:
                    break
                made.take(path, offset, line)
        return made

    def take(self, path: str, offset: int, row: bytes) -> None:
        """Take a line of a transcript, which ends before an offset."""
        self.offsets[path] = offset
        self.size += len(row) + 1
        line = self._lines.read(row)
        if line is None:
            return
        if not line.is_sidechain:
            self._look_for_compactions(line)
        one = self._open.setdefault(path, _Open())
        one.begin(line, offset - len(row) - 1)
        for event in self._session.take(line):
            one.calls.take(event)

    def _look_for_compactions(self, line: Line) -> None:
        if line.is_boundary:
            self._boundaries.append(line.fields)
            is_told = line.compaction.get("postTokens") is not None
            self.waiting = line.uuid if len(line.uuid) <= _LONGEST_NAME and not is_told else ""
        elif self.waiting and line.context:
            self._left[self.waiting] = line.context
            self.waiting = ""

    def part(self) -> TranscriptPart:
        return TranscriptPart(
            self._session.session(self._lines.broken),
            dict(self.offsets),
            tuple(self._boundaries),
            dict(self._left),
            self.waiting,
        )
