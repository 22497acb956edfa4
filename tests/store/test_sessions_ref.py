"""Pages of sessions and checkpoints on a ref of their own: who reads history finds them there as on the branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, git

REF = "refs/memctl/sessions"


@pytest.fixture
def repo(repo: Path, memctl: Memctl) -> Path:
    git(repo, "config", "memctl.hookCommits", "records")
    memctl("checkpoint", "save", "--workflow", "w", "--task", "Refunds", "--doing", "Cards", "--next", "Mail")
    return repo


def saved(memctl: Memctl) -> str:
    (one,) = memctl("checkpoint", "list", "--json").data["checkpoints"]
    return str(one["checkpoint_id"])


def test_log_includes_commits_of_the_sessions_ref(repo: Path, memctl: Memctl) -> None:
    assert git(repo, "ls-tree", "-r", "--name-only", "HEAD", "--", ".memory/checkpoints") == ""
    memctl("learn", "Clocks drift", "--lesson", "x")
    subjects = [one["subject"] for one in memctl("log", "--json").data["commits"]]
    assert "checkpoint w-w1-v1" in subjects[1]
    assert subjects[0].endswith("Clocks drift")
    assert "checkpoint w-w1-v1" not in memctl("log", "--type", "learning").out
    before = git(repo, "rev-parse", "HEAD~1").strip()
    assert "Clocks drift" not in memctl("log", "--at", before).out


def test_deleted_checkpoint_is_listed_and_restored_at_its_path(repo: Path, memctl: Memctl) -> None:
    identifier = saved(memctl)
    text = git(repo, "show", f"{REF}:.memory/checkpoints/w/{identifier.removeprefix('w-')}.json")
    there = git(repo, "rev-parse", REF).strip()
    assert f"{identifier} still exists" in memctl("restore", identifier, code=1).err
    nothing = git(repo, "commit-tree", "-p", there, "-m", "gone", git(repo, "mktree", stdin="").strip()).strip()
    git(repo, "update-ref", REF, nothing)
    assert identifier in memctl("checkpoint", "list", "--all").out
    memctl("restore", identifier)
    assert git(repo, "show", f"{REF}:.memory/checkpoints/w/{identifier.removeprefix('w-')}.json") == text
    assert git(repo, "status", "--porcelain") == ""
    assert saved(memctl) == identifier
    git(repo, "update-ref", REF, nothing)
    memctl("restore", identifier, "--at", there)
    assert saved(memctl) == identifier
