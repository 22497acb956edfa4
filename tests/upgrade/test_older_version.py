"""A memory of today, used by memctl at 2270f7d8, which knows only format 1: it refuses, and changes nothing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from memctl.record.config import FORMAT
from tests.conftest import Memctl, git
from tests.upgrade.test_upgrade import commands_with_memory

OLDER = "2270f7d8"
SENTENCE = f".memory/config.yaml: this memory has format {FORMAT}; this memctl reads formats up to 1"
HINT = "hint: install a newer version of memctl"
# Runs commands of memctl, each in the same process, and prints the exit code and the text on stderr of each.
RUN_ALL = """
import contextlib, io, json, sys
from memctl.cli.main import main
for command in json.load(sys.stdin):
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    sys.stdin = io.StringIO("{}")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    print(json.dumps([code, err.getvalue()]))
"""
MORE = [("check", "--staged"), ("init", "--sections", "--yes"), ("install", "agents-md", "--yes")]


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source of the older memctl, and with the program `bin/memctl` that runs it."""
    top = Path(__file__).parents[2]
    archive = ["git", "archive", OLDER, "memctl", "templates", "pyproject.toml"]
    process = subprocess.run(archive, cwd=top, capture_output=True)
    if process.returncode:
        pytest.skip(f"the history of this clone lacks the commit {OLDER}")
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(process.stdout)) as tar:
        tar.extractall(folder, filter="data")
    program = folder / "bin" / "memctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" -m memctl "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture
def shop(memctl: Memctl, repo: Path, older: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose memory, hooks and merge drivers are of today; the memctl on the PATH is the older one."""
    memctl("section", "add", "Payment", "--path", "*.py")
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "--section", "2.1")
    memctl("state", "Profile API", "--completion", "65", "--next", "DELETE")
    memctl("install", "git")
    memctl("render")
    monkeypatch.setenv("PATH", f"{older / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return repo


def files(repo: Path) -> dict[str, bytes]:
    """What is in the worktree and on the refs."""
    found = {str(path): path.read_bytes() for path in repo.rglob("*") if path.is_file() and ".git" not in path.parts}
    return found | {"refs": git(repo, "for-each-ref").encode(), "HEAD": git(repo, "rev-parse", "HEAD").encode()}


def upgrade_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the memctl of today on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def test_every_command_says_that_the_format_is_newer_and_changes_nothing(shop: Path, older: Path) -> None:
    before = files(shop)
    unknown = {"merge", "team"}  # to the older memctl
    commands = [one for one in [*commands_with_memory(), *MORE] if one[0] not in {"hook", "upgrade"} | unknown]
    process = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        cwd=older,  # which comes first in the path of modules
        input=json.dumps([["-C", str(shop), *command] for command in commands]),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    for command, answer in zip(commands, answers, strict=True):
        assert answer == [1, f"error: {SENTENCE}\n{HINT}\n"], command
    assert files(shop) == before


def test_git_hook_refuses_commits_until_memctl_is_upgraded(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "app.py").write_text("print('sold')\n")
    git(shop, "add", "app.py")
    head = git(shop, "rev-parse", "HEAD")
    process = subprocess.run(["git", "commit", "-qm", "sell"], cwd=shop, capture_output=True, text=True)
    assert process.returncode == 1
    assert SENTENCE in process.stderr
    assert HINT in process.stderr
    assert git(shop, "rev-parse", "HEAD") == head
    assert git(shop, "diff", "--cached", "--name-only") == "app.py\n"
    upgrade_program(monkeypatch)
    git(shop, "commit", "-qm", "sell")


def test_merge_of_a_record_is_refused_and_can_be_ended_by_todays_memctl(
    memctl: Memctl, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop, "config", "core.hooksPath", os.devnull)
    git(shop, "switch", "-qc", "side")
    memctl("edit", "STA-2025-11-04-001", "--set", "completion_percentage=80")
    git(shop, "switch", "-q", "main")
    memctl("edit", "STA-2025-11-04-001", "--add", "tags=profile")
    git(shop, "config", "--unset", "core.hooksPath")
    merge = ["git", "merge", "-q", "--no-edit", "side"]
    process = subprocess.run(merge, cwd=shop, capture_output=True, text=True)
    assert process.returncode
    assert SENTENCE in process.stderr
    upgrade_program(monkeypatch)
    git(shop, "commit", "-q", "--no-edit")
    (state,) = memctl("show", "STA-2025-11-04-001", "--json").data["records"]
    assert (state["completion_percentage"], state["tags"]) == (80, ["profile"])
    memctl("render")
    memctl("check", "--strict")


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_agents_hooks_stop_nobody_and_their_log_says_why(shop: Path, older: Path, host: str) -> None:
    before = files(shop)
    event = {"hook_event_name": "SessionStart", "session_id": "s-1", "cwd": str(shop), "source": "startup"}
    process = subprocess.run(
        ["memctl", "hook", host], cwd=shop, input=json.dumps(event), capture_output=True, text=True
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert files(shop) == before
    log = subprocess.run(["memctl", "hook", "log", "--faults"], cwd=shop, capture_output=True, text=True)
    assert log.returncode == 0
    assert SENTENCE in log.stdout
    assert f"warning: the hooks of agents can do nothing in this folder: {SENTENCE}" in log.stderr


def test_server_of_tools_answers_with_the_sentence(shop: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x"}}},
    ]
    with subprocess.Popen(
        ["memctl", "mcp"], cwd=shop, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(call)}\n" for call in calls))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    assert answers[1]["result"]["isError"]
    assert SENTENCE in answers[1]["result"]["content"][0]["text"]
