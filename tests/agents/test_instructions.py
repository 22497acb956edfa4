"""docs/agents.md: its commands for installing, as they are written there, in a fresh repository."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from memctl.hooks.hosts import HOSTS, START
from tests.conftest import git

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()


def commands() -> list[str]:
    block = re.search(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    return [line.split("#")[0].strip() for line in block[1].splitlines()]


def follow(line: str, repo: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as somebody at a terminal does who answers yes."""
    ours, theirs = pty.openpty()
    os.write(ours, b"y\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=repo,
            env={**os.environ, "PATH": path},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_commands_of_the_instructions_install_working_hooks(repo: Path) -> None:
    before = git(repo, "status", "--porcelain")
    lines = commands()
    assert len(lines) >= 4
    for line in lines:
        done = follow(line, repo)
        assert done.returncode == 0, f"{line}: {done.stderr}"
    for host in HOSTS.values():
        settings = json.loads((repo / host.folder / host.shared).read_text())
        event = next(name for name, what in host.events.items() if what == START)
        call = settings["hooks"][event][0]["hooks"][0]["command"]
        given = json.dumps({"hook_event_name": event, "session_id": host.name, "cwd": str(repo), "source": "startup"})
        done = follow(f"printf %s '{given}' | {{ {call}; }}", repo)
        assert "# Memory of shop" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    for line in lines:
        assert follow(f"{line} --uninstall", repo).returncode == 0
    assert git(repo, "status", "--porcelain") == before


def test_commands_named_in_the_instructions_exist() -> None:
    for command in re.findall(r"`memctl (hook \w[\w-]*)`", PAGE):
        done = subprocess.run(
            [sys.executable, "-m", "memctl", *command.split(), "-h"], capture_output=True, check=False
        )
        assert done.returncode == 0, command
