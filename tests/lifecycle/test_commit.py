"""Committing what waits: in its order, and without asking again what was refused for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.journal import commits as lanes
from tests.conftest import Memctl, commits, git


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every attempt to make a commit, by its message's first line."""
    found: list[str] = []
    commit = lanes.commit

    def counted(*given: Any) -> Any:
        found.append(given[2].partition("\n")[0])
        return commit(*given)

    monkeypatch.setattr(lanes, "commit", counted)
    monkeypatch.setattr(lanes, "_LOCK_PATIENCE", 0.05)
    return found


def test_what_holds_for_all_is_found_out_once(repo: Path, memctl: Memctl, tries: list[str]) -> None:
    lock = repo / ".git" / "index.lock"
    lock.touch()
    before = commits(repo)
    for number in range(3):
        tries.clear()
        made = memctl("decide", f"Number {number}")
        assert "locked the index" in made.err
        assert len(tries) == 1
    assert f"Number {number}" in (repo / ".memory" / "docs" / "INDEX.md").read_text()
    tries.clear()
    assert memctl("commit", code=1).out.count("pending") >= 3
    assert len(tries) == 1
    lock.unlink()
    tries.clear()
    memctl("learn", "The next write makes them")
    assert [line.split()[-1] for line in tries] == ["0", "1", "2", "them"]
    assert commits(repo) == before + 4
    assert git(repo, "status", "--porcelain") == ""


def test_what_one_change_is_refused_for_keeps_no_other_back(repo: Path, memctl: Memctl, tries: list[str]) -> None:
    (repo / ".gitignore").write_text("decisions/\n")
    before = commits(repo)
    memctl("decide", "Hidden")
    made = memctl("learn", "Seen")
    assert "commit pending" not in made.err
    assert len(tries) == 3
    assert commits(repo) == before + 1


def test_a_commit_on_no_branch_is_warned_of_once(repo: Path, memctl: Memctl) -> None:
    assert memctl("learn", "On a branch").err == ""
    git(repo, "switch", "-q", "--detach")
    result = memctl("learn", "On none", "--json")
    assert result.data["commit"]
    assert result.err.count("warning: HEAD is detached") == 1
    (repo / ".memory" / "project.md").write_text("---\ntitle: shop\n---\n\n## Goal\n\nSell.\n")
    memctl("learn", "Waits", "--no-commit")
    assert memctl("commit").err.count("warning: HEAD is detached") == 1
    assert memctl("list").err == ""


def test_what_git_has_committed_by_itself_waits_no_more(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Kept back", "--no-commit")
    assert memctl("status", "--json").data["pending"]
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "by hand")
    assert memctl("status", "--json").data["pending"] == []
