"""The end of a session that is killed at any step: it ends once, with each of its records once."""

from __future__ import annotations

import json
import shutil
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import Memctl, git, strides
from tests.write.test_transaction import run_until


@pytest.fixture
def started(repo: Path, memctl: Memctl) -> Path:
    """A repository with a session under way, and its transcript, which proposes a record."""
    memctl("session", "start", "refunds", "--intent", "Refunds by card")
    (repo / "refund.py").write_text("x\n")
    git(repo, "add", "refund.py")
    git(repo, "commit", "-qm", "feat: refunds")
    said = [
        {"role": "user", "content": "Refunds by card"},
        {"role": "assistant", "content": "DECISION: Refund in full, since partial ones confuse.\n"},
    ]
    (repo.parent / "chat.json").write_text(json.dumps(said))
    return repo


@strides(14)
def test_a_killed_end_is_finished_by_the_next_without_a_double(
    started: Path, memctl: Memctl, tmp_path: Path, stride: int
) -> None:
    command = ("session", "end", "--transcript", str(started.parent / "chat.json"), "--accept")
    whole = tmp_path / "whole"
    shutil.copytree(started, whole, symlinks=True)
    memctl(*command, where=whole)
    page = (whole / ".memory/sessions/refunds.md").read_text()
    records = [record["title"] for record in memctl("list", "--json", where=whole).data["records"]]
    assert records
    for step in count(1, stride):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(started, victim, symlinks=True)
        if run_until(step, victim, *command) == 0:
            break
        if memctl("session", "status", "--json", where=victim).data["sessions"]:
            memctl(*command, where=victim)
        assert [r["title"] for r in memctl("list", "--json", where=victim).data["records"]] == records, f"step {step}"
        assert (victim / ".memory/sessions/refunds.md").read_text() == page, f"step {step}"
        assert git(victim, "log", "--format=%B").count("Memctl-Op: summarize\n") == 1, f"step {step}"
        assert git(victim, "status", "--porcelain") == "", f"step {step}"
        assert memctl("session", "status", "--json", where=victim).data["sessions"] == []
        shutil.rmtree(victim)
    assert step > 30


def test_session_end_needs_a_name_only_among_several(started: Path, memctl: Memctl) -> None:
    memctl("session", "start", "other")
    err = memctl("session", "end", code=2).err
    assert "several sessions are under way: other, refunds" in err
    memctl("session", "end", "other")
    assert "refunds" in memctl("session", "end").out
    assert "the name of the session is missing" in memctl("session", "end", code=2).err


def test_refused_session_end_leaves_nothing_begun(started: Path, memctl: Memctl) -> None:
    page = started / ".memory/sessions/refunds.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("no page\n")
    memctl("session", "end", "refunds", code=1)
    page.unlink()
    memctl("session", "summarize", "-t", str(started.parent / "chat.json"), "--id", "refunds")
    assert "interrupted" not in memctl("session", "end", "refunds").out
    assert "refund.py" in page.read_text()
    assert git(started, "log", "--format=%B").count("Memctl-Op: summarize\n") == 2


def test_dry_run_of_session_end_leaves_the_session_running(started: Path, memctl: Memctl) -> None:
    memctl("session", "end", "--dry-run")
    found = memctl("session", "status", "--json").data["sessions"]
    assert [(one["id"]) for one in found] == ["refunds"]


def test_interrupted_session_end_is_finished_after_a_history_rewrite(started: Path, memctl: Memctl) -> None:
    """The commit that the session was marked with has gone meanwhile."""
    (noted,) = (started / ".git" / "memctl").rglob("refunds.json")
    marked = json.loads(noted.read_text()) | {"ending": "1234567890" * 4}
    noted.write_text(json.dumps(marked))
    assert memctl("session", "end").out.startswith("refunds .memory/sessions/refunds.md")
