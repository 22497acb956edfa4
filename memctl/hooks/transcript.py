"""A session's transcripts, a part at a time: what came since they were last read, in as much memory as a part takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memctl.hooks import pressure, transcript_tail
from memctl.transcript.claude_code import ClaudeCode, of_sub_agents
from memctl.transcript.events import Session, Unanswered

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


def parts(
    transcript: str, offsets: Mapping[str, int], waiting: str = "", *, is_over: bool = False
) -> Iterator[TranscriptPart]:
    """What the transcripts of a session have behind some offsets: the main agent's, then those of its sub-agents.

    An answer with a call whose result is still to come is left for the next time: the call may fail yet. Of a session
    that `is_over` none is.
    """
    reading = _Reading(dict(offsets), waiting)
    for path in (transcript, *of_sub_agents(transcript)):
        for offset, line in transcript_tail.after(path, reading.offsets.get(path, 0)):
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
        self._answer: Any = None

    def begin(self, line: dict[str, Any], offset: int) -> None:
        """A line begins at an offset; an answer has several, all of one id, and is counted by it."""
        message = line.get("message")
        answer = message.get("id") if isinstance(message, dict) and line.get("type") == "assistant" else None
        if not self.calls.ids and (answer is None or answer != self._answer):
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
        self._reader = ClaudeCode()
        self._broken = 0
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
            for offset, line in transcript_tail.after(path, made.offsets.get(path, 0)):
                if offset > end:
                    break
                made.take(path, offset, line)
        return made

    def take(self, path: str, offset: int, line: bytes) -> None:
        self.offsets[path] = offset
        self.size += len(line) + 1
        if not line.strip():
            return
        try:
            values = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            self._broken += 1
            return
        if not isinstance(values, dict):
            self._broken += 1
            return
        if not values.get("isSidechain"):
            self._look_for_compactions(values)
        one = self._open.setdefault(path, _Open())
        one.begin(values, offset - len(line) - 1)
        for event in self._reader.read(values):
            one.calls.take(event)

    def _look_for_compactions(self, values: dict[str, Any]) -> None:
        if values.get("subtype") == "compact_boundary":
            self._boundaries.append(values)
            facts = values.get("compactMetadata")
            is_told = isinstance(facts, dict) and facts.get("postTokens") is not None
            line = values.get("uuid")
            self.waiting = line if isinstance(line, str) and len(line) <= _LONGEST_NAME and not is_told else ""
        elif self.waiting and (found := pressure.of_answer(values)):
            self._left[self.waiting] = found[0]
            self.waiting = ""

    def part(self) -> TranscriptPart:
        return TranscriptPart(
            self._reader.session(self._broken),
            dict(self.offsets),
            tuple(self._boundaries),
            dict(self._left),
            self.waiting,
        )
