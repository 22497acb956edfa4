"""Read Claude Code's transcripts: JSON Lines, which also tell of sub-agents and compactions.

A long transcript is read part by part. Each part begins at the offset where the part before it ended, so only one part
at a time is in the computer's memory.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.frontmatter import clean_newlines
from memctl.transcript.events import COMPACTION, DIGEST, PROMPT, Event, PendingCalls, Session, Usage, event_of, time_in
from memctl.transcript.line import LONGEST_LINE, Line, lines_after, text_in
from memctl.transcript.messages import RESULT, TEXT, blocks_of, decode_json
from memctl.transcript.user_words import user_words, words_of_refusal


class LineReader:
    """Parses the lines of one transcript in their order, and skips repeated lines.

    A transcript has a line again if the session was resumed. To find repeated lines, the reader keeps a hash of the id
    of each line. `number` counts the lines so far, and `broken` those of them that can't be read.
    """

    def __init__(self) -> None:
        self.number = self.broken = 0
        self._seen: set[int] = set()  # hashes of uuids

    def read(self, raw: str | bytes) -> Line | None:
        """Parse the next line of the transcript and return it; None if the line is blank, broken or repeated."""
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
        """Parse the lines of a transcript and yield them, without blank, broken and repeated lines."""
        for raw in rows:
            if (line := self.read(raw)) is not None:
                yield line


class PromptQueue:
    """Keeps the prompts that a user types while the agent works, until the transcript says that the agent gets them.

    With each prompt it keeps the transcript's line that says that the prompt was queued.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Line]] = []

    def take(self, line: Line) -> tuple[str, Line] | None:
        """Take the transcript's next line; return a queued prompt if the agent gets it with this line, else None.

        The prompt is returned with the line that queued it. A line of the transcript says when a prompt enters the
        queue, and when it leaves the queue. There are three ways to leave it: the agent gets the prompt while it works
        (`remove`), the agent gets it afterwards, in a line with an ordinary prompt (`dequeue`), or the user takes it
        back (`popAll`). Only `remove` gives a result here, since a dequeued prompt is read from its own line. A command
        such as `/clear` is no prompt, and gives no result.
        """
        if line.fields.get("type") != "queue-operation":
            return None
        operation = line.fields.get("operation")
        if operation == "enqueue":
            self._waiting.append((user_words(clean_newlines(text_in(line.fields, "content"))), line))
        elif operation == "popAll":
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            text, queued = self._waiting.pop(0)
            if operation == "remove" and text and not text.startswith("/"):
                return text, queued
        return None


class SessionReader:
    """Builds a session from the lines of a Claude Code transcript.

    Call `take` for each line in turn, and then `session`.
    """

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._answers: dict[str, Usage] = {}
        self._id = self._model = self._branch = self._started = self._ended = ""
        self._queue = PromptQueue()

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
        before = len(self._events)
        around = _around(line)
        if (prompt := self._queue.take(line)) is not None:
            text, queued = prompt
            self._events.append(Event(PROMPT, text, **_around(queued)))
        if not (line.role or line.is_boundary):
            return self._events[before:]
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
        # Of the lines of an answer the last has all that was written; what was read is the same on each. Without a
        # reason why the answer ended, the host wrote the line when the answer began: in 86 of 87 real transcripts some
        # answers have only such lines, and their counts are 2 to 80 times too small.
        written: Any = 0
        if isinstance(usage, dict):
            written = None if line.message.get("stop_reason") is None else usage.get("output_tokens", 0)
        self._answers[line.answer or f"line {line.number}"] = Usage.of(line.context, written)

    def session(self, broken: int) -> Session:
        """Return the session that consists of the lines taken so far.

        `broken` is the number of lines that could not be read; it becomes the field `broken` of the session.
        """
        return Session(
            "Claude Code",
            tuple(self._events),
            id=self._id,
            model=self._model,
            branch=self._branch,
            usage=Usage.total(self._answers.values()),
            answers=len(self._answers),
            broken=broken,
            started=self._started,
            ended=self._ended,
        )


def _around(line: Line) -> dict[str, Any]:
    return {
        "moment": time_in(line.fields),
        "agent": line.agent,
        "cwd": text_in(line.fields, "cwd"),
        "line": line.number,
    }


def _events(line: Line, around: dict[str, Any]) -> Iterator[Event]:
    details = line.fields.get("toolUseResult")
    of_result = {**around, "details": details} if isinstance(details, dict) else around
    for block in blocks_of(line.role, line.message.get("content")):
        if line.is_summary and block.type == TEXT:
            yield Event(DIGEST, clean_newlines(block.text), **around)
            continue
        event = event_of(block, of_result if block.type == RESULT else around)
        if event is None or (event.kind == PROMPT and line.fields.get("isMeta")):
            continue
        yield event
        if event.is_error and (words := words_of_refusal(event.text)):
            yield Event(PROMPT, words, **around)


_MOST_SUB_AGENTS = 500


def projects(environ: Mapping[str, str], home: Path) -> Path:
    """Return the folder in which Claude Code keeps the transcripts of all projects.

    It is `projects` in the folder that the variable CLAUDE_CONFIG_DIR in `environ` names, or else in `.claude` in the
    home folder.
    """
    return Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"


def slug(folder: Path) -> str:
    """Return the name of the folder with a project's transcripts, such as "-home-ann-shop" for /home/ann/shop.

    It is the project's path with `-` for each character that is not an ASCII letter or digit.
    """
    return re.sub("[^A-Za-z0-9]", "-", str(folder))


def newest_transcript(folder: Path, own: Path) -> Path:
    """Return the newest transcript of a session that ran in `folder`, or else in the nearest folder above it.

    `own` is the folder in which Claude Code keeps the transcripts of all projects. Links are ignored, since a link may
    lead anywhere. Raises MemctlError if there is no transcript.
    """
    for above in (folder, *folder.parents):
        result = [
            (status.st_mtime_ns, file.name, file)
            for file in (own / slug(above)).glob("*.jsonl")
            if not file.name.startswith("agent-") and stat.S_ISREG((status := file.lstat()).st_mode) and status.st_size
        ]
        if result:
            return max(result)[2]
    raise MemctlError(
        f"there is no transcript of Claude Code for {folder}",
        f"give the FILE of a transcript; memctl searched below {own}",
        USAGE,
    )


def earlier_transcripts(transcript: str, most_files: int = 12, most_bytes: int = 32_000_000) -> list[Path]:
    """Return the paths of the transcripts of a project's earlier sessions, newest first.

    `transcript` is the path of a transcript; the results are older transcripts in its folder, at most `most_files`. All
    these files have at most `most_bytes` bytes in total. Links are ignored, since a link may lead anywhere.
    """
    try:
        before = Path(transcript).stat().st_mtime_ns
        beside = [(file.lstat(), file) for file in Path(transcript).parent.glob("*.jsonl")]
    except OSError:
        return []
    parts = [
        (status.st_mtime_ns, status.st_size, file)
        for status, file in beside
        if stat.S_ISREG(status.st_mode) and status.st_mtime_ns < before and not file.name.startswith("agent-")
    ]
    result, read = [], 0
    for _, size, file in sorted(parts, reverse=True)[:most_files]:
        read += size
        result += [file] if read <= most_bytes else []
    return result


def sub_agent_transcripts(transcript: str) -> list[str]:
    """Return the paths of the transcripts of a session's sub-agents, at most 500.

    `transcript` is the path of the session's own transcript. The transcripts of its sub-agents are in a folder beside
    it.
    """
    if not transcript.endswith(".jsonl"):
        return []
    folder = Path(transcript.removesuffix(".jsonl")) / "subagents"
    try:
        return sorted(str(file) for file in folder.glob("*.jsonl") if file.is_file())[:_MOST_SUB_AGENTS]
    except OSError:
        return []


# Bytes of lines; the tool calls of a longer session are summed up part by part. Two parts are held at a time, the one
# that is worked on and the next: with 4 MB each, 100 MB took 12 MB more to read than 10 MB; with 1 MB each, 1 MB more.
_PART_SIZE = 1024 * 1024
_ROOM = 8 * _PART_SIZE  # until here a part waits for a prompt to end at, from then on only for the results of calls
_MOST = 2 * _ROOM  # a part ends here in any case
_LONGEST_NAME = 100  # of a line
_OF_USER = re.compile(rb'"type": ?"user"')


class TranscriptPart(msgspec.Struct, frozen=True):
    """A part of a session's transcripts: its events as a session, where it ends, and its compactions.

    - `offsets`: path of a transcript -> offset in bytes up to which it has been read.
    - `boundaries`: the lines that mark compactions, as JSON objects.
    - `left`: uuid of a compaction's line -> number of tokens that remained in the context after the compaction. It has
      only the compactions whose line does not say this number, which is then taken from the main agent's next request.
    - `waiting`: the uuid of a compaction's line whose number is not known yet, because the next request is in a later
      part; "" for none.
    """

    session: Session
    offsets: dict[str, int]
    boundaries: tuple[dict[str, Any], ...]
    left: dict[str, int] = {}
    waiting: str = ""


def read_parts(
    transcript: str, offsets: Mapping[str, int], waiting: str = "", *, is_over: bool = False
) -> Iterator[TranscriptPart]:
    """Yield the parts of a session's transcripts that have not been read yet: the main agent's, then its sub-agents'.

    `transcript` is the path of the main agent's transcript. `offsets` and `waiting` are the fields of this name of the
    TranscriptPart that was read last; give {} and "" to read from the beginning. Reading stops before an answer with a
    tool call that has no result yet, since the call may still fail; the answer is read in the next call of this
    function. With `is_over`, which says that the session has ended, such an answer is included.
    """
    reading = _PartBuilder(dict(offsets), waiting)
    for path in (transcript, *sub_agent_transcripts(transcript)):
        for offset, line in lines_after(path, reading.offsets.get(path, 0)):
            if reading.is_full(line):
                yield reading.part()
                reading = _PartBuilder(reading.offsets, reading.waiting)
            reading.take(path, offset, line)
    reading = reading if is_over else reading.without_open_calls()
    if reading.size:
        yield reading.part()


class _Open:
    """The calls without a result of one transcript, and the offset where the answer with the first of them begins."""

    def __init__(self) -> None:
        self.calls = PendingCalls()
        self.settled = 0
        self._answer = ""

    def begin(self, line: Line, offset: int) -> None:
        """An answer has several lines, all of one id, and is counted by it."""
        answer = line.answer
        if (not answer or answer != self._answer) and not self.calls.ids:
            self.settled = offset
        self._answer = answer


class _PartBuilder:
    """Builds one part of a session's transcripts."""

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
        if self.size <= _PART_SIZE:
            return False
        if self.size > _ROOM:
            return self.size > _MOST or not self._waits()
        return _OF_USER.search(line) is not None and b"tool_result" not in line

    def _waits(self) -> bool:
        return any(part.calls.ids for part in self._open.values())

    def without_open_calls(self) -> _PartBuilder:
        """Return the part up to the first answer with a call that has no result yet; the part itself without such."""
        if not self._waits():
            return self
        made = _PartBuilder(*self._begun)
        for path, part in self._open.items():
            end = part.settled if part.calls.ids else self.offsets[path]
            for offset, line in lines_after(path, made.offsets.get(path, 0)):
                if offset > end:
                    break
                made.take(path, offset, line)
        return made

    def take(self, path: str, offset: int, row: bytes) -> None:
        self.offsets[path] = offset
        self.size += len(row) + 1
        line = self._lines.read(row)
        if line is None:
            return
        if not line.is_sidechain:
            self._look_for_compactions(line)
        open_part = self._open.setdefault(path, _Open())
        open_part.begin(line, offset - len(row) - 1)
        for event in self._session.take(line):
            open_part.calls.take(event)

    def _look_for_compactions(self, line: Line) -> None:
        if line.is_boundary:
            self._boundaries.append(line.fields)
            is_told = line.compaction.get("postTokens") is not None
            self.waiting = line.uuid if len(line.uuid) <= _LONGEST_NAME and not is_told else ""
        elif self.waiting and line.context:
            self._left[self.waiting] = line.context
            self.waiting = ""

    def part(self) -> TranscriptPart:
        is_later = bool(self._begun[0])
        return TranscriptPart(
            msgspec.structs.replace(self._session.session(self._lines.broken), is_later_part=is_later),
            dict(self.offsets),
            tuple(self._boundaries),
            dict(self._left),
            self.waiting,
        )
