"""A session that is killed at any moment, the hooks it runs too: the next session's start tells what it came to.

The events are given to real processes of memctl, and the transcript grows between them as the host writes it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memctl.hooks import live_sessions
from memctl.store.memory import open_memory
from memctl.store.session_dir import SessionDir
from tests.conftest import Memctl, commits, git
from tests.transcript.claude import Transcript

MOMENTS = 30
USUAL = range(2, MOMENTS, 26)  # the others are in slow tests
INTENT, DECISION, ERROR, NEXT, LATER = (
    "Refunds by card: orders can be refunded",
    "Round half to even",
    "pytest tests/test_card.py",
    "Test with half a cent",
    "PayPal refunds go through a queue",
)


class Step(NamedTuple):
    """Lines that the host writes, or an event that it sends; and what can be known once the step is done."""

    lines: tuple[str, ...] = ()
    event: dict[str, str] | None = None
    known: tuple[str, ...] = ()


def steps(repo: Path) -> Iterator[Step]:
    """A session with two prompts, a decision in words, a test that fails, and a compaction."""
    told = Transcript(repo, "killed")
    known: tuple[str, ...] = ()

    def written(*more: str) -> Iterator[Step]:
        nonlocal known
        known += more
        yield Step(tuple(told.lines), known=known)
        told.lines = []

    def sent(event: str, **more: str) -> Step:
        return Step(event={"hook_event_name": event, **more}, known=known)

    def called(tool: str, result: str = "ok", *more: str, **given: Any) -> Iterator[Step]:
        """The host writes a call, then its result, and only then sends the event."""
        told.call(tool, result, **given)
        result_line = told.lines.pop()
        yield from written()
        told.lines = [result_line]
        yield from written(*more)
        yield sent("PostToolUse", tool_name=tool)

    yield sent("SessionStart", source="startup")
    yield sent("UserPromptSubmit", prompt=INTENT)
    told.prompt(INTENT)
    yield from written()
    yield from called("Read", "print('shop')", INTENT, file_path=str(repo / "app.py"))
    told.says(f"DECISION: {DECISION}, because the bank does so.")
    yield from written(DECISION)
    yield from called("Write", "created", file_path=str(repo / "card.py"), content="def refund(): ...\n")
    yield from called("Bash", "E   assert 0.01 == 0.02\n1 failed", ERROR, command=ERROR, error=True)
    told.says(f"It fails still.\n\nNext steps:\n- {NEXT}")
    yield from written(NEXT)
    yield sent("Stop")
    yield sent("UserPromptSubmit", prompt="Now PayPal")
    told.prompt("Now PayPal")
    yield from written()
    yield from called("Edit", file_path=str(repo / "card.py"), old_string="...", new_string="pass")
    yield sent("PreCompact", trigger="auto")
    told.compaction("Refunds by card, half done")
    yield from written()
    yield sent("SessionStart", source="compact")
    told.says(f"DECISION: {LATER}.")
    yield from written(LATER)
    yield sent("Stop")


class Host:
    """A program that runs a session: only its process, which can be killed."""

    def __init__(self, repo: Path, transcript: Path, session: str) -> None:
        self.process = subprocess.Popen(["sleep", "600"])
        self.repo = repo
        self.transcript = transcript
        self.session = session

    def sends(self, event: dict[str, str], step: int = 0) -> str:
        """What a hook prints; with a `step` it is killed at so many steps that touch the disk or start Git."""
        values = {"session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(self.repo), **event}
        memctl = ["-m", "tests.write.killed", str(step)] if step else ["-m", "memctl"]
        done = subprocess.run(
            [sys.executable, *memctl, "hook", "claude-code"],
            input=json.dumps(values).encode(),
            env={**os.environ, "CLAUDE_PID": str(self.process.pid), "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=self.repo,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode in ((0, -signal.SIGKILL) if step else (0,)), done.stderr.decode()
        return done.stdout.decode()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


def play(host: Host, moment: int) -> tuple[str, ...]:
    """Play a session until it is killed: at every second moment between two steps, else within a hook. What is in its
    transcript by then."""
    todo = list(steps(host.repo))
    last = moment * len(todo) // MOMENTS
    if moment % 2:
        last = next(number for number in (*range(last, len(todo)), *range(last, -1, -1)) if todo[number].event)
    known: tuple[str, ...] = ()
    for number, step in enumerate(todo[: last + 1]):
        if step.event:
            host.sends(step.event, 1 + moment * 7 % 40 if moment % 2 and number == last else 0)
        else:
            with open(host.transcript, "a") as stream:
                stream.writelines(f"{line}\n" for line in step.lines)
            known = step.known
    host.kill()
    return known


@pytest.mark.parametrize(
    "moment",
    [pytest.param(one, marks=[] if one in USUAL else pytest.mark.slow) for one in range(MOMENTS)],
)
def test_the_result_of_a_killed_session_is_shown_at_the_next_start(
    memctl: Memctl, repo: Path, tmp_path: Path, moment: int
) -> None:
    known = play(Host(repo, tmp_path / "killed.jsonl", "killed"), moment)
    time.sleep(1)  # of a page and a checkpoint of one second, the checkpoint counts
    later = Host(repo, tmp_path / "later.jsonl", "later")
    text = json.loads(later.sends({"hook_event_name": "SessionStart", "source": "startup"}))["hookSpecificOutput"]
    for fact in known:
        assert fact in text["additionalContext"], text["additionalContext"]
        assert "killed" in memctl("search", fact).out
    before = commits(repo)
    later.sends({"hook_event_name": "SessionStart", "source": "clear"})
    later.kill()
    assert commits(repo) == before  # it was summed up, and is not again
    assert git(repo, "status", "--porcelain", "--", ".memory") == ""
    assert memctl("hook", "log", "--faults", "--json").data["faults"] == []
    assert memctl("check", code=None).code == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who calls a hook is read from Linux's /proc")
def test_killed_host_without_a_process_id_is_noticed_at_once(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    def started(session: str) -> list[str]:
        values = {"session_id": session, "transcript_path": "", "cwd": str(repo), "hook_event_name": "SessionStart"}
        return ["sh", "-c", f"echo '{json.dumps(values)}' | {sys.executable} -m memctl hook codex; true"]

    host = (
        "import subprocess, sys, time; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print('called', flush=True); time.sleep(60)"
    )
    program = subprocess.Popen([sys.executable, "-c", host, *started("killed")], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"called\n"
    folder = SessionDir(open_memory(repo, os.environ).hooks, "later")
    assert live_sessions.killed_sessions(folder, repo, 7_200) == []
    program.kill()
    program.wait()
    assert [one.key for one in live_sessions.killed_sessions(folder, repo, 7_200)] == ["killed"]
    subprocess.run(started("later"), cwd=repo, check=True, capture_output=True)
    assert live_sessions.killed_sessions(folder, repo, 7_200) == []
