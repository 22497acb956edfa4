"""Claude Code's program, if this machine has it: where it is, and running it against the stand-in for its API."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.agents.messages_api import MessagesAPI

SETTING = "MEMCTL_TEST_CLAUDE"  # the program, if it is not on the PATH
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memctl-tests" / "claude-code"  # by .ci/run
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
_SECONDS = 120


def program() -> str | None:
    """The program of Claude Code, None if there is none that runs."""
    found = os.environ.get(SETTING) or shutil.which("claude")
    cached = next(CACHE.glob("node_modules/@anthropic-ai/claude-code-*/claude"), None)
    return found or (str(cached) if cached else None)


class ClaudeCode:
    """Runs sessions in a folder, one prompt a run, with a home of its own and no other settings."""

    def __init__(self, command: str, folder: Path, home: Path, api: MessagesAPI) -> None:
        self._command = command
        self._folder = folder
        scripts = str(Path(sys.executable).parent)  # where memctl is, whichever shell comes in between
        self.environ = {
            **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
            **_QUIET,
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": "none",
        }
        self.session = ""

    def run(self, prompt: str, model: str = "claude-sonnet-4-5") -> dict[str, Any]:
        """What a prompt comes to; a second one goes on with the same session."""
        resume = ["--resume", self.session] if self.session else []
        tools = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash", "Write", "Read"]
        command = [self._command, "-p", "--output-format", "json", "--model", model, *resume, *tools, "--", prompt]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        result: dict[str, Any] = json.loads(done.stdout)
        self.session = result["session_id"]
        return result
