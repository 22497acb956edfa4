"""Transcripts in the form of Claude Code, line by line, as the real ones have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memctl.text import timestamps

START = "2025-11-04T09:00:00Z"


class Transcript:
    """Writes a transcript: each method adds what one step of a session adds."""

    def __init__(
        self, cwd: Path | str = "/home/ada/shop", session: str = "5f6c2a10-7d1e-4f7a-9a3b-0c1d2e3f4a5b"
    ) -> None:
        self.lines: list[str] = []
        self.cwd = str(cwd)
        self.session = session
        self.agent = ""
        self.is_ended = True
        self._seconds = timestamps.to_epoch(START)
        self._number = 0

    def skip_to(self, moment: str) -> None:
        """Let the next line be written a little after a time, such as "2025-11-04T15:20:00Z"."""
        self._seconds = timestamps.to_epoch(moment)

    def raw(self, line: str) -> None:
        self.lines.append(line)

    def add(self, type_: str, **fields: Any) -> None:
        self._number += 1
        self._seconds += 20
        moment = timestamps.from_epoch(self._seconds)[:-1] + ".123Z"
        line = {
            "parentUuid": f"u{self._number - 1}" if self._number > 1 else None,
            "isSidechain": bool(self.agent),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.329",
            "gitBranch": "main",
            "type": type_,
            "uuid": f"u{self._number}",
            "timestamp": moment,
            **({"agentId": self.agent} if self.agent else {}),
            **fields,
        }
        self.raw(json.dumps(line))

    def prompt(self, text: str, **fields: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **fields)

    def says(self, text: str) -> None:
        self._answer({"type": "text", "text": text})

    def _answer(self, *blocks: dict[str, Any]) -> None:
        """An answer has a line a block, all with one id and one usage; the last says why it ended, unless `is_ended`
        is set to False."""
        usage = {
            "input_tokens": 4,
            "cache_read_input_tokens": 20_000,
            "cache_creation_input_tokens": 300,
            "output_tokens": 50,
        }
        identifier = f"msg_{self._number}"
        blocks = ({"type": "thinking", "thinking": "DECISION: never read this", "signature": "x"}, *blocks)
        for block in blocks:
            message = {
                "id": identifier,
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-5",
                "content": [block],
                "stop_reason": "end_turn" if self.is_ended and block is blocks[-1] else None,
                "usage": usage,
            }
            self.add("assistant", message=message)

    def call(
        self, tool: str, result: str = "ok", *, error: bool = False, details: Any = None, **arguments: Any
    ) -> None:
        """A tool call and its result."""
        identifier = f"toolu_{self._number}"
        self._answer({"type": "tool_use", "id": identifier, "name": tool, "input": arguments})
        block = {"type": "tool_result", "tool_use_id": identifier, "content": result, "is_error": error}
        fields = {"toolUseResult": details} if details is not None else {}
        self.add("user", message={"role": "user", "content": [block]}, **fields)

    def compaction(self, summary: str) -> None:
        self.add(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            compactMetadata={"trigger": "auto", "preTokens": 167_000},
        )
        self.prompt(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)
