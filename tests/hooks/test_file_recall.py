"""At a file: what is recorded about it comes with the first reading, once a session, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks.hosts import GEMINI
from tests.conftest import Memctl, git
from tests.hooks.session import Session


@pytest.fixture
def decided(repo: Path, memctl: Memctl) -> str:
    """The id of a decision about queue.py."""
    (repo / "queue.py").write_text("JOBS = []\n")
    made = memctl(
        "decide", "Queue in PostgreSQL", "--rationale", "One service fewer to run. And so on.", "--code", "queue.py:1"
    )
    memctl("list")
    return made.id


def at(session: Session, tool: str, file: str) -> str:
    """What the model is told after a tool has read or written a file."""
    return session.said("PostToolUse", tool_name=tool, tool_input={"file_path": file}, tool_response={})


def test_the_sentence_comes_with_the_first_reading_of_a_session(session: Session, decided: str) -> None:
    said = at(session, "Read", str(session.repo / "queue.py"))
    assert f"{decided} (accepted decision) is about queue.py: Queue in PostgreSQL. One service fewer to run." in said
    assert len(said) <= 400
    assert at(session, "Read", str(session.repo / "queue.py")) == ""
    assert at(session, "Edit", "queue.py") == ""
    other = Session(session.repo, session.file, "another")
    assert decided in at(other, "Read", "queue.py")
    session.send("PreCompact", trigger="manual")
    assert decided in at(session, "Read", "queue.py")


def test_a_file_that_is_written_unread_is_said_to_be(session: Session, decided: str) -> None:
    said = at(session, "Write", str(session.repo / "queue.py"))
    assert decided in said
    assert "Already written" in said
    assert at(session, "Read", "queue.py") == ""


@pytest.mark.parametrize("file", ["app.py", "/etc/hosts", "../queue.py", "", "queue.pyc", "no\nsuch"])
def test_nothing_is_said_of_other_files_and_tools(session: Session, decided: str, file: str) -> None:
    assert at(session, "Read", file) == ""
    assert session.said("PostToolUse", tool_name="Bash", tool_input={"command": "cat queue.py"}) == ""


def test_what_holds_no_longer_is_not_said(session: Session, decided: str, memctl: Memctl) -> None:
    file = next((session.repo / ".memory" / "decisions").rglob("*.md"))
    text = file.read_text()
    file.write_text(text.replace("status: accepted", "status: deprecated"))  # no command has read it since
    assert at(session, "Read", "queue.py") == ""
    file.write_text(text)
    memctl("decide", "Queue in Redis", "--supersedes", decided)
    assert at(session, "Read", "queue.py") == ""


def test_the_weightiest_is_said_and_others_are_named(session: Session, decided: str, memctl: Memctl) -> None:
    learnt = memctl("learn", "Jobs < 1 s & <b>short</b>", "--lesson", "x" * 900, "--code", "queue.py", "-i", "9").id
    said = at(session, "Read", "queue.py")
    assert said.startswith(f"{learnt} (active learning)")
    assert f"Also {decided}." in said
    assert len(said) <= 401
    assert "<" not in said


def test_an_untrusted_clone_says_nothing(session: Session, decided: str) -> None:
    git(session.repo, "config", "memctl.trusted", "false")
    assert session.send("PostToolUse", tool_name="Read", tool_input={"file_path": "queue.py"}) == ""


def test_it_comes_in_gemini_cli_too(repo: Path, tmp_path: Path, decided: str) -> None:
    session = Session(repo, tmp_path / "gemini.json", host=GEMINI)
    assert decided in session.said("AfterTool", tool_name="read_file", tool_input={"absolute_path": f"{repo}/queue.py"})


def test_a_guard_keeps_an_unread_file_from_being_written_once(session: Session, decided: str, memctl: Memctl) -> None:
    asked = {"tool_name": "Edit", "tool_input": {"file_path": str(session.repo / "queue.py")}}
    assert session.send("PreToolUse", **asked) == ""  # the setting is not there
    git(session.repo, "config", "memctl.guard", "deny")
    answer = json.loads(session.send("PreToolUse", **asked))["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert decided in answer["permissionDecisionReason"]
    assert session.send("PreToolUse", **asked) == ""
    assert session.said("PostToolUse", **asked) == ""
    memctl("install", "claude-code", "--yes")
    hooks = json.loads((session.repo / ".claude" / "settings.json").read_text())["hooks"]
    assert hooks["PreToolUse"][0]["matcher"] == "Edit|Write|MultiEdit|NotebookEdit"
    assert "unchanged" in memctl("install", "claude-code", "--yes").err
    git(session.repo, "config", "--unset", "memctl.guard")
    memctl("install", "claude-code", "--yes")
    assert "PreToolUse" not in json.loads((session.repo / ".claude" / "settings.json").read_text())["hooks"]
