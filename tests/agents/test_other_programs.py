"""OpenCode, Qwen Code and Copilot CLI themselves in a clone that nobody trusts, and in one that its user trusts.

Seen with versions 1.18.33, 0.15.10 and 1.0.102. They need no network: the Messages API is a stand-in on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl.git import trust
from tests.agents.messages_api import MessagesAPI
from tests.agents.program import found
from tests.conftest import Memctl, git

_MODEL = "claude-sonnet-4-5"
_SECONDS = 120


class Other(NamedTuple):
    """A program: its package, where it may be, its arguments before the prompt, its tool, and its environment."""

    package: str
    program: str
    arguments: tuple[str, ...]
    tool: str
    variables: dict[str, str]

    def run(self, folder: Path, home: Path, api: MessagesAPI, command: str) -> str:
        """Have the program run a command in its shell, and return what the model is told of it."""
        values = {"command": command, "description": "look", "is_background": False, "initial_wait": 60}
        call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": self.tool, "input": values}
        api.answers.append((1_000, [call]))
        variables = {name: value.replace("URL", api.url) for name, value in self.variables.items()}
        config = {"provider": {"anthropic": {"options": {"baseURL": f"{api.url}/v1", "apiKey": "none"}}}}
        own = {"OPENCODE_CONFIG_CONTENT": json.dumps({**config, "permission": "allow", "autoupdate": False})}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        git_variables = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
        done = subprocess.run(
            [self.program, *self.arguments, "Go on"],
            cwd=folder,
            env={**git_variables, **own, **variables, "PATH": path, "HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        assert not api.answers
        return json.dumps(api.asked[-1]["messages"][-1])


PROGRAMS = {
    "opencode": Other(
        "opencode-ai",
        found("MEMCTL_TEST_OPENCODE", "opencode", "opencode/node_modules/.bin/opencode"),
        ("run", "-m", f"anthropic/{_MODEL}"),
        "bash",
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
    ),
    "qwen-code": Other(
        "@qwen-code/qwen-code",
        found("MEMCTL_TEST_QWEN", "qwen", "qwen-code/node_modules/.bin/qwen"),
        ("--auth-type", "anthropic", "--model", _MODEL, "--yolo", "-p"),
        "run_shell_command",
        {"ANTHROPIC_BASE_URL": "URL", "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": _MODEL},
    ),
    "copilot": Other(
        "@github/copilot",
        found("MEMCTL_TEST_COPILOT", "copilot", "copilot/node_modules/.bin/copilot"),
        ("--model", _MODEL, "--allow-all-tools", "--allow-all-paths", "-p"),
        "bash",
        {
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": "URL",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": _MODEL,
            "COPILOT_OFFLINE": "true",
        },
    ),
}
COMMANDS = "; ".join(
    (
        "memctl learn Untrusted --lesson x",
        "MEMCTL_TRUST=1 memctl learn Trusting --lesson x",
        "MEMCTL_AGENT=Ada memctl learn Ada --lesson x",
        "memctl rehydrate --out ../outside.md",
        "memctl install claude-code --user --yes",
        "echo all ran",
    )
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_trusts_no_clone_and_signs_with_its_name(
    repo: Path, memctl: Memctl, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAMS[name]
    if not program.program:
        pytest.skip(f"{name} is not installed (npm: {program.package})")
    monkeypatch.delenv("MEMCTL_NOW")
    memctl("learn", "Theirs", "--lesson", "x")
    home, clone = tmp_path / "agents-home", tmp_path / "clones" / "shop"
    home.mkdir()
    git(repo, "clone", "-q", str(repo), str(clone))
    head = git(clone, "rev-parse", "HEAD")
    with MessagesAPI([], "") as api:
        assert "all ran" in program.run(clone, home, api, COMMANDS)
        assert git(clone, "rev-parse", "HEAD") == head
        assert git(clone, "config", "--get", trust.SETTING, check=False) == ""
        assert not list(clone.parent.glob("*.md"))
        assert not (home / ".claude").exists()
        git(clone, "config", trust.SETTING, "true")
        told = program.run(clone, home, api, "memctl learn 'Retries hide it' --lesson 'Look at the pool'")
    assert "LRN-" in told
    assert git(clone, "log", "-1", "--format=%(trailers:key=Memctl-Actor,valueonly)").strip() == name
