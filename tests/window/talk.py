"""A conversation of an agent with real outputs of tools in it: what compression has to work on."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TASK = "Migrate the pool of the shop to 30 connections; never touch legacy/. At most 2 retries. See src/pool.py."
DECISION = "Decision: use a pool of 25 connections because the database allows 105."
BLOCKER = "Blocked by: the staging database refuses more than 17 clients"
FAILS = "FAILED tests/test_pool.py::test_size - AssertionError: assert 3 == 4"


@functools.cache  # conversations have much in common, and what is read of the checkout stays as it is
def shell(command: str) -> str:
    return subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False).stdout


class Talk:
    """Builds the messages of a conversation, in Anthropic's shape."""

    def __init__(self, task: str = TASK) -> None:
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
        self._number = 0

    def call(self, tool: str, given: dict[str, Any], output: str, *, say: str = "", is_error: bool = False) -> None:
        self._number += 1
        identifier = f"call_{self._number}"
        text = [{"type": "text", "text": say}] if say else []
        use = {"type": "tool_use", "id": identifier, "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": identifier, "content": output, "is_error": is_error}
        self.messages.append({"role": "assistant", "content": [*text, use]})
        self.messages.append({"role": "user", "content": [result]})

    def say(self, text: str, answer: str) -> None:
        self.messages.append({"role": "assistant", "content": answer})
        self.messages.append({"role": "user", "content": text})


def long_talk(rounds: int = 8) -> Talk:
    """A conversation of seven calls a round: files read and changed, searches, listings, failing and passing tests."""
    talk = Talk()
    files = shell("git ls-files memctl").split()
    search, listing = shell("grep -rn 'def ' memctl | head -80"), shell("git ls-files tests | head -200")
    for number in range(rounds):
        path = files[(number * 7) % len(files)]
        talk.call("Read", {"file_path": path}, shell(f"cat -n {path}"), say=f"Let me look at {path} first.")
        talk.call("Bash", {"command": "grep -rn 'def ' memctl"}, search, say=DECISION if number == 1 else "")
        talk.call("Edit", {"file_path": f"src/part{number}.py", "old_string": "a", "new_string": "b"}, "ok")
        talk.call("Bash", {"command": "pytest -q"}, f"F\n{FAILS}\n1 failed in 0.2s", is_error=number >= rounds - 2)
        talk.call("Glob", {"pattern": "**"}, listing, say=BLOCKER if number == 2 else "")
        talk.call("Bash", {"command": "ls -la"}, shell("ls -la"), say=f"The listing has nothing new in round {number}.")
        talk.call("Read", {"file_path": "README.md"}, shell("head -c 6000 README.md"))
    return talk
