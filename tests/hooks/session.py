"""A session of Claude Code as its hooks see it: a transcript that grows, and the events that the program sends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memctl.cli.command_list import MODULES, SYNONYMS, all_commands
from memctl.hooks import dispatch
from memctl.hooks.hosts import CLAUDE_CODE, Host
from memctl.store.agent_env import COMMANDS
from memctl.store.session_dir import SessionDir
from tests.transcript.claude import Transcript

NAMES = {*MODULES, *SYNONYMS, *(name for names in all_commands().values() for name in names)}
ANSWER = "Got it. Thanks for the additional context!"  # that Gemini CLI has its model give


class Session:
    """Sends events of a session in a repository."""

    def __init__(self, repo: Path, file: Path, name: str = "5f6c2a10-7d1e", host: Host = CLAUDE_CODE) -> None:
        self.repo = repo
        self.file = file
        self.name = name
        self.host = host
        self.transcript = Transcript(repo, name)
        self.number = 0

    @property
    def root(self) -> Path:
        return self.repo / ".git" / "memctl" / "hooks" / ".memory"

    @property
    def folder(self) -> SessionDir:
        return SessionDir(self.root, self.name)

    def event(self, event: str, **more: Any) -> bytes:
        self.file.write_text(self.transcript.text)
        self.number += 1
        values = {"session_id": self.name, "transcript_path": str(self.file), "cwd": str(self.repo)}
        values["tool_use_id"] = f"call_{self.number}"
        return json.dumps({**values, "hook_event_name": event, **more}).encode()

    def send(self, event: str, environ: Mapping[str, str] | None = None, **more: Any) -> str:
        """Return what the hook prints for an event, which names no command that an agent may not run."""
        text = dispatch.answer(self.host, self.event(event, **more), {**os.environ, **(environ or {})})
        wrong = list(forbidden(text.replace("\\n", "\n")))
        assert wrong == [], text
        return text

    def context(self, event: str, **more: Any) -> str:
        """Return the text that the model gets at an event, "" if none."""
        printed = self.send(event, **more)
        if not printed:
            return ""
        answer = json.loads(printed)["hookSpecificOutput"]
        assert answer["hookEventName"] == event
        return str(answer["additionalContext"])

    def holds(self, tokens: int, model: str = "claude-opus-4-5", **fields: Any) -> None:
        """An answer by which the context holds so many tokens."""
        usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 5}
        message = {"id": f"msg_{tokens}", "role": "assistant", "model": model, "content": [], "usage": usage}
        self.transcript.add("assistant", message=message, **fields)

    def faults(self) -> list[dict[str, Any]]:
        file = self.root / "faults.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def compress(transcript: Transcript, summary: str = "<state_snapshot>Refunds</state_snapshot>", **more: Any) -> None:
    """What Gemini CLI writes once it has compressed a context: all messages, as they are then."""
    told = [
        ("user", "<session_context>Linux</session_context>"),
        ("user", summary),
        ("gemini", ANSWER),
        ("user", "Go on"),
    ]
    messages = [
        {"id": str(number), "type": kind, "content": [{"text": text}]} for number, (kind, text) in enumerate(told)
    ]
    for values in ({"sessionId": "g1"}, {"messages": messages, **more}):
        transcript.raw(json.dumps({"$set": values}, separators=(",", ":")))


def forbidden(text: str) -> Iterator[str]:
    """The commands in a text that no rule allows, and whose sentence leaves them to the user by no word."""
    allowed = [command for of in COMMANDS.values() for command in of]
    for line in text.split("\n"):
        for part in line.split(". "):
            for found in re.findall(r"memctl ([a-z][a-z -]*[a-z])", part):
                is_allowed = any(f"{found} ".startswith(f"{command} ") for command in allowed)
                is_left = any(words in part for words in ("ask the user", "Tell the user"))
                if found.split()[0] in NAMES and not is_allowed and not is_left:
                    yield found
