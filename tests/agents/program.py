"""Agents' programs, if this machine has them: where they are, and running them against stand-ins for their interfaces.

Each is looked for by a variable, on the PATH, and where .ci/run installs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.stand_in import StandIn
from tests.conftest import Memctl, git

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memctl-tests"  # by .ci/run
_SECONDS = 120
_CODEX_MODE = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'


def found(setting: str, name: str, cached: str) -> str:
    """A program, "" if there is none: by a variable, on the PATH, or in the cache by a pattern."""
    kept = next(CACHE.glob(cached), None)
    return os.environ.get(setting) or shutil.which(name) or (str(kept) if kept else "")


class Program:
    """Runs sessions in a folder, one prompt a run, with a home of its own and no other settings."""

    def __init__(self, command: str, folder: Path, home: Path, api: StandIn) -> None:
        self.command = command
        self.folder = folder
        self.home = home
        scripts = str(Path(sys.executable).parent)  # where memctl is, whichever shell comes in between
        self.environ = {
            **{name: value for name, value in os.environ.items() if name.startswith("GIT_")},
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "MEMCTL_HOOK_SECONDS": "60",  # a machine that runs tests is slow
        }
        self.session = ""
        self.modes: tuple[str, ...] = ()  # options by which it runs all tools without asking
        self.set_up(api)

    def set_up(self, api: StandIn) -> None:
        """Have the program talk to a stand-in, and to nobody else."""
        raise NotImplementedError

    def ask(self) -> None:
        """Have the program run tools as it does by default in a folder that its user trusts: only what is allowed."""
        self.modes = ()

    def answered(self, *args: str) -> str:
        """What the program prints."""
        done = subprocess.run(
            [self.command, *args],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


def page_of(repo: Path, session: str) -> str:
    """Return the page of a session, which is on no branch."""
    return git(repo, "show", f"refs/memctl/sessions:.memory/sessions/{session}.md")


def install_twice(memctl: Memctl, program: Program, what: str) -> None:
    """Install what a project's files say and what a user's own do: the two call memctl by different lines."""
    homes = {name: program.environ[name] for name in ("HOME", "CODEX_HOME") if name in program.environ}
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in homes.items():
            patch.setenv(name, folder)
        for options in ((), ("--user",)):
            memctl("install", what, *options, "--yes")


DECISION = "memctl decide 'Adopt PostgreSQL' --rationale 'Payments need transactions' --code app.py -i 9"
FINDING = ("memctl search PostgreSQL", "memctl why app.py")
REFUSED = (  # what no host takes for a call of memctl alone, and what memctl refuses where nobody is asked
    "memctl search x; touch evil",
    "memctl search x && touch evil",
    'memctl search "$(touch evil)"',
    "memctl search x > evil",
    "memctl rehydrate --out evil",
    "CLAUDECODE= CODEX_SESSION_ID= GEMINI_CLI= memctl rehydrate --out evil",
    "memctl learn Accounts --file /etc/passwd",
    "memctl -C . delete DEC-2025-11-04-001",
)


def expect_recorded_and_found(memctl: Memctl, results: list[str]) -> None:
    """DECISION and FINDING were run, in this order, and came to these results."""
    (decided,) = memctl("list", "--type", "decision", "--json").data["records"]
    assert len(results) == 3
    for result in results:
        assert decided["id"] in result


def expect_refused(memctl: Memctl, repo: Path) -> None:
    """None of REFUSED did what it is for."""
    assert not list(repo.rglob("evil"))
    assert memctl("list", "--type", "learning", "--json").data["records"] == []
    assert len(memctl("list", "--type", "decision", "--json").data["records"]) == 1


class ClaudeCode(Program):
    def set_up(self, api: StandIn) -> None:
        self.environ |= {
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": "none",
        }
        self.modes = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash", "Write", "Read")

    def ask(self) -> None:
        super().ask()
        trusted = {"projects": {str(self.folder): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(trusted))

    def run(self, prompt: str, model: str = "claude-sonnet-4-5") -> dict[str, Any]:
        """What a prompt comes to; a second one goes on with the same session."""
        resume = ["--resume", self.session] if self.session else []
        printed = self.answered("-p", "--output-format", "json", "--model", model, *resume, *self.modes, "--", prompt)
        result: dict[str, Any] = json.loads(printed)
        self.session = result["session_id"]
        return result


class Codex(Program):
    """With the project trusted. Its hooks are not, and have to be let run by a flag: nobody is there to be asked."""

    def set_up(self, api: StandIn) -> None:
        self.environ |= {"CODEX_HOME": str(self.home / ".codex"), "NO_KEY": "none"}
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(
            f'model = "gpt-5.5"\nmodel_provider = "here"\n{_CODEX_MODE}check_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n"
            f'[model_providers.here]\nname = "here"\nbase_url = "{api.url}/v1"\nwire_api = "responses"\n'
            'env_key = "NO_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
            f'[projects."{os.path.realpath(self.folder)}"]\ntrust_level = "trusted"\n'
        )
        # Its shells are login shells, and begin with a PATH of their own.
        (self.home / ".bash_profile").write_text(f'export PATH="{self.environ["PATH"]}"\n')

    def ask(self) -> None:
        config = self.home / ".codex" / "config.toml"
        config.write_text(config.read_text().replace(_CODEX_MODE, ""))

    def run(self, prompt: str, *options: str, trusts_hooks: bool = True) -> list[dict[str, Any]]:
        """What a prompt comes to, event by event; a second one goes on with the same session."""
        resume = ["resume", self.session] if self.session else []
        trust = ["--dangerously-bypass-hook-trust"] if trusts_hooks else []
        printed = self.answered("exec", *resume, "--json", *trust, *options, "--", prompt)
        events: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
        self.session = next(event["thread_id"] for event in events if event["type"] == "thread.started")
        return events


class Gemini(Program):
    """With the folder trusted: it refuses to answer a prompt in another."""

    def set_up(self, api: StandIn) -> None:
        self.environ |= {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": api.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # one process, which is a second less
        }
        self.settings(
            security={"auth": {"selectedType": "gemini-api-key"}},
            privacy={"usageStatisticsEnabled": False},
            telemetry={"enabled": False},
            general={"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        )
        self.modes = ("--yolo",)

    def settings(self, **values: dict[str, Any]) -> None:
        """Say something in the user's own settings, beside what is there."""
        file = self.home / ".gemini" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        old = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**old, **values}))

    def run(self, prompt: str) -> dict[str, Any]:
        """What a prompt comes to; a second one goes on with the same session."""
        resume = ["--resume", self.session] if self.session else []
        args = [*self.modes, "--model", "gemini-2.5-flash", "--output-format", "json", *resume, "--prompt", prompt]
        result: dict[str, Any] = json.loads(self.answered(*args))
        self.session = result["session_id"]
        return result
