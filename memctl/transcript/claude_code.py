"""Claude Code's transcripts: JSON Lines, with sub-agents and compactions in them.

An answer has a line for each of its blocks, all with the same id and the same usage. After a resumption lines of before
may stand there again, with the same `uuid`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from memctl.record import timestamps
from memctl.transcript import messages as blocks
from memctl.transcript.events import ANSWER, CALL, COMPACTION, DIGEST, PROMPT, RESULT, Event, Session, Usage, event_of
from memctl.transcript.line import context_of, without_added

_INTERRUPTED = "[Request interrupted by user"
_SYNTHETIC = "<synthetic>"
_MOST_FILES = 500  # of sub-agents


class ClaudeCode:
    """Reads the lines of one transcript, in their order."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._seen: set[str] = set()  # the uuids of lines
        self._answers: dict[str, Usage] = {}
        self._id = self._model = self._branch = self._started = self._ended = ""

    def read(self, line: dict[str, Any]) -> Sequence[Event]:
        """The events that a line tells of; none if it was read before."""
        uuid = line.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                return ()
            self._seen.add(uuid)
        before = len(self._events)
        moment = _moment(line)
        if moment:
            self._started = min(self._started or moment, moment)
            self._ended = max(self._ended, moment)
        self._id = self._id or _text(line, "sessionId")
        self._branch = _text(line, "gitBranch") or self._branch
        common = {"moment": moment, "agent": _agent(line), "cwd": _text(line, "cwd")}
        if line.get("subtype") == "compact_boundary":
            self._events.append(msgspec.structs.replace(Event(COMPACTION), **common))
        message = line.get("message")
        if line.get("type") in ("user", "assistant") and isinstance(message, dict):
            self._read_message(line, message, common)
        return self._events[before:]

    def _read_message(self, line: dict[str, Any], message: dict[str, Any], common: dict[str, str]) -> None:
        if line["type"] == "assistant":
            if message.get("model") == _SYNTHETIC:
                return
            self._count(message)
            if not line.get("isSidechain"):
                self._model = _text(message, "model") or self._model
        role = str(line["type"])
        details = line.get("toolUseResult")
        for block in blocks.of_content(role, message.get("content")):
            event = self._event(line, block)
            if event is not None:
                known = details if event.kind == RESULT and isinstance(details, dict) else {}
                self._events.append(msgspec.structs.replace(event, details=known, **common))

    def _event(self, line: dict[str, Any], block: blocks.Block) -> Event | None:
        event = event_of(block)
        if event is None or event.kind in (CALL, RESULT, ANSWER):
            return event
        if line.get("isCompactSummary"):
            return Event(DIGEST, event.text)
        text = without_added(event.text).strip()
        if not text or line.get("isMeta") or text.startswith(_INTERRUPTED):
            return None
        return Event(PROMPT, text)

    def _count(self, message: dict[str, Any]) -> None:
        identifier = _text(message, "id") or f"line {len(self._seen)}"
        usage = message.get("usage")
        written = usage.get("output_tokens") if isinstance(usage, dict) else 0
        # Of the lines of an answer the last has all that was written; what was read is the same on each.
        self._answers[identifier] = Usage(context_of(usage), written if isinstance(written, int) else 0)

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


def _agent(line: dict[str, Any]) -> str:
    if not line.get("isSidechain"):
        return ""
    return _text(line, "agentId") or "sub-agent"


def _moment(line: dict[str, Any]) -> str:
    try:
        return timestamps.parse(_text(line, "timestamp"))
    except ValueError:
        return ""


def _text(line: dict[str, Any], key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""


def of_sub_agents(transcript: str) -> list[str]:
    """The transcripts of a session's sub-agents, which Claude Code keeps in a folder beside the main one."""
    if not transcript.endswith(".jsonl"):
        return []
    folder = Path(transcript.removesuffix(".jsonl")) / "subagents"
    try:
        return sorted(str(file) for file in folder.glob("*.jsonl") if file.is_file())[:_MOST_FILES]
    except OSError:
        return []
