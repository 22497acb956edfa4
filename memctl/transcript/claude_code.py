"""Claude Code's transcripts: JSON Lines, with sub-agents and compactions in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memctl.transcript.events import COMPACTION, DIGEST, PROMPT, Event, Session, Usage, event_of, time_in
from memctl.transcript.files import LONGEST_LINE
from memctl.transcript.line import Line, text_in, without_host_tags
from memctl.transcript.messages import RESULT, blocks_of, decode_json

_INTERRUPTED = "[Request interrupted by user"


class LineReader:
    """Reads the lines of one transcript in their order, each once: after a resumption the host may repeat lines.

    `number` counts the lines so far, `broken` those that nobody can read. Of the lines so far it holds a number each.
    """

    def __init__(self) -> None:
        self.number = self.broken = 0
        self._seen: set[int] = set()  # hashes of uuids

    def read(self, raw: str | bytes) -> Line | None:
        """Return what the next line says; None for one that is blank, broken, or was read before."""
        self.number += 1
        if not raw or raw.isspace():
            return None
        fields = decode_json(raw) if len(raw) <= LONGEST_LINE else None
        if not isinstance(fields, dict):
            self.broken += 1
            return None
        uuid = fields.get("uuid")
        if isinstance(uuid, str):
            digest = hash(uuid)
            if digest in self._seen:
                return None
            self._seen.add(digest)
        return Line(fields, self.number)

    def lines(self, rows: Iterable[str | bytes]) -> Iterator[Line]:
        """Yield the lines of a transcript that have something to say."""
        for raw in rows:
            if (line := self.read(raw)) is not None:
                yield line


class SessionReader:
    """Gathers the session that the lines of a transcript tell of."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._answers: dict[str, Usage] = {}
        self._id = self._model = self._branch = self._started = self._ended = ""

    def take(self, line: Line) -> Sequence[Event]:
        """Take the next line, and return the events in it."""
        moment = time_in(line.fields)
        if moment > self._ended:
            self._ended = moment
        if moment and (not self._started or moment < self._started):
            self._started = moment
        fields = line.fields
        self._id = self._id or text_in(fields, "sessionId")
        self._branch = text_in(fields, "gitBranch") or self._branch
        if not (line.role or line.is_boundary):
            return ()
        before = len(self._events)
        around: dict[str, Any] = {"moment": moment, "agent": line.agent, "cwd": text_in(fields, "cwd")}
        if line.is_boundary:
            self._events.append(Event(COMPACTION, **around))
        if line.role == "assistant":
            self._count(line)
            if not line.is_sidechain:
                self._model = line.model or self._model
        if line.role:
            self._events += _events(line, around)
        return self._events[before:]

    def _count(self, line: Line) -> None:
        usage = line.message.get("usage")
        written = usage.get("output_tokens") if isinstance(usage, dict) else 0
        # Of the lines of an answer the last has all that was written; what was read is the same on each.
        self._answers[line.answer or f"line {line.number}"] = Usage(
            line.context, written if isinstance(written, int) else 0
        )

    def session(self, broken: int) -> Session:
        """The session that the lines read so far tell of."""
        used = self._answers.values()
        return Session(
            "Claude Code",
            tuple(self._events),
            id=self._id,
            model=self._model,
            branch=self._branch,
            usage=Usage(sum(one.read for one in used), sum(one.written for one in used)),
            answers=len(self._answers),
            broken=broken,
            started=self._started,
            ended=self._ended,
        )


def _events(line: Line, around: dict[str, Any]) -> Iterator[Event]:
    """Yield the events of a line with a message; without what the host has added to a prompt."""
    details = line.fields.get("toolUseResult")
    of_result = {**around, "details": details} if isinstance(details, dict) else around
    for block in blocks_of(line.role, line.message.get("content")):
        event = event_of(block, of_result if block.type == RESULT else around)
        if event is None:
            continue
        if event.kind != PROMPT:
            yield event
        elif line.is_summary:
            yield Event(DIGEST, event.text, **around)
        elif not line.fields.get("isMeta"):
            text = without_host_tags(event.text).strip()
            if text and not text.startswith(_INTERRUPTED):
                yield Event(PROMPT, text, **around)
