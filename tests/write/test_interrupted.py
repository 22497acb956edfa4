"""Ctrl-C: what is written by then is done and told; before that, nothing is, and the process ends quietly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git, process
from tests.write.test_mishaps import hook

WAITS = "touch {here}\nwhile [ ! -e {go} ]; do sleep 0.02; done"


HANDOFF = ("handoff", "--to", "bob", "--section", "2.1", "--task", "Pay",
    "--reason", "Done", "--summary", "All", "--immediate", "Go", "--success", "Green")  # fmt: skip


def await_(file: Path) -> None:
    deadline = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("args", [("learn", "Slow"), HANDOFF])
def test_interrupted_write_is_finished_and_reported(
    repo: Path, memctl: Memctl, tmp_path: Path, args: tuple[str, ...]
) -> None:
    memctl("section", "add", "Payment")
    memctl("own", "acquire", "2.1")
    here, go = tmp_path / "here", tmp_path / "go"
    hook(repo, "pre-commit", WAITS.format(here=here, go=go))
    before = commits(repo)
    running = process(repo, *args)
    await_(here)
    running.send_signal(signal.SIGINT)
    time.sleep(0.1)
    go.touch()
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    told = re.search(r"the change is already written, in commit ([0-9a-f]+): \w+ ([A-Z]{3}-[0-9-]{14})", err)
    assert told, err
    assert err.endswith("error: interrupted\n")
    assert out == ""
    assert commits(repo) == before + 1
    assert git(repo, "rev-parse", "HEAD").startswith(told[1])
    assert memctl("show", told[2], "--json").data["records"][0]["id"] == told[2]
    assert not memctl("status", "--json").data["pending"]


def test_hanging_hook_is_interrupted_by_a_second_signal(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    here, go = tmp_path / "here", tmp_path / "go"
    hook(repo, "pre-commit", WAITS.format(here=here, go=go))
    running = process(repo, "learn", "Slow")
    await_(here)
    running.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert running.poll() is None
    deadline = time.monotonic() + 30
    while running.poll() is None and time.monotonic() < deadline:  # on a busy machine two may come as one
        running.send_signal(signal.SIGINT)
        time.sleep(0.1)
    assert running.poll() == 130
    before = commits(repo)
    go.touch()
    running.communicate()
    until = time.monotonic() + 30
    while commits(repo) == before and time.monotonic() < until:  # Git, left alone, goes on with it
        time.sleep(0.05)
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""


def test_ctrl_c_on_a_terminal_names_the_pending_change(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    here, go = tmp_path / "here", tmp_path / "go"
    hook(repo, "pre-commit", WAITS.format(here=here, go=go))
    running = process(repo, "learn", "Slow", start_new_session=True)
    await_(here)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to memctl, Git and its hook
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130, err
    assert "LRN-2025-11-04-001 Slow" in err
    (repo / ".git" / "hooks" / "pre-commit").unlink()
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""


def test_ctrl_c_on_a_terminal_reports_the_handoff_as_undone(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("section", "add", "Payment")
    memctl("own", "acquire", "2.1")
    here, go = tmp_path / "here", tmp_path / "go"
    hook(repo, "pre-commit", WAITS.format(here=here, go=go))
    before = commits(repo)
    running = process(repo, *HANDOFF, start_new_session=True)
    await_(here)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, ""), err
    assert "no section was handed over" in err
    assert err.endswith("error: interrupted\n")
    assert commits(repo) == before
    assert "bob" not in memctl("own", "list").out


def test_interrupt_during_imports_exits_quietly(repo: Path) -> None:
    code = "import os, signal, sys\nsys.argv = ['memctl', 'list']\n"
    code += "class Interrupting:\n    def find_spec(self, name, *_):\n"
    code += "        name == 'memctl.cli.main' and os.kill(os.getpid(), signal.SIGINT)\n"
    code += "sys.meta_path.insert(0, Interrupting())\nfrom memctl.__main__ import run\nrun()\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
