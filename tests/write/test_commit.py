"""Committing what waits: in its order, and without asking again what was refused for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.git import commits as lanes
from tests.conftest import Memctl, commits, git


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every attempt to make a commit, by its message's first line."""
    found: list[str] = []
    commit = lanes.commit

    def counted(*given: Any, **named: Any) -> Any:
        found.append(given[2].partition("\n")[0])
        return commit(*given, **named)

    monkeypatch.setattr(lanes, "commit", counted)
    monkeypatch.setattr(lanes, "_LOCK_PATIENCE", 0.05)
    return found


def test_locked_index_is_tried_once_for_all_pending_changes(repo: Path, memctl: Memctl, tries: list[str]) -> None:
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


def test_refused_change_does_not_block_other_changes(repo: Path, memctl: Memctl, tries: list[str]) -> None:
    (repo / ".gitignore").write_text("decisions/\n")
    before = commits(repo)
    memctl("decide", "Hidden")
    made = memctl("learn", "Seen")
    assert "commit pending" not in made.err
    assert len(tries) == 3
    assert commits(repo) == before + 1


def test_commit_on_a_detached_head_gives_one_warning(repo: Path, memctl: Memctl) -> None:
    assert memctl("learn", "On a branch").err == ""
    git(repo, "switch", "-q", "--detach")
    result = memctl("learn", "On none", "--json")
    assert result.data["commit"]
    assert result.err.count("warning: HEAD is detached") == 1
    (repo / ".memory" / "project.md").write_text("---\ntitle: shop\n---\n\n## Goal\n\nSell.\n")
    memctl("learn", "Waits", "--no-commit")
    assert memctl("commit").err.count("warning: HEAD is detached") == 1
    assert memctl("list").err == ""


def test_change_committed_with_git_is_no_longer_pending(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Kept back", "--no-commit")
    assert memctl("status", "--json").data["pending"]
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "by hand")
    assert memctl("status", "--json").data["pending"] == []


@pytest.mark.parametrize("mark", ["assume-unchanged", "skip-worktree"])
def test_edit_of_an_assume_unchanged_file_stays_pending_with_a_reason(repo: Path, memctl: Memctl, mark: str) -> None:
    """The mark is the user's: it is kept, and the edit is not taken for one that HEAD has."""
    made = memctl("learn", "Clocks drift", "--lesson", "x")
    path = f".memory/{made.out.split()[1].removeprefix('.memory/')}"
    git(repo, "update-index", f"--{mark}", path)
    before = commits(repo)
    for command in (["edit", made.id, "--set", "lesson=y"], ["commit"], ["learn", "Another", "--no-commit"]):
        said = memctl(*command, code=None)
        if "--no-commit" not in command:
            assert f"Git was told to ignore changes of {path} (`git update-index --{mark}`)" in said.out + said.err
            assert f"run `git update-index --no-{mark} -- {path}`, then `memctl commit`" in said.out + said.err
    assert commits(repo) == before
    assert made.id in memctl("status").out
    assert git(repo, "ls-files", "-v", path)[0] in "hS"
    git(repo, "update-index", f"--no-{mark}", path)
    memctl("commit")
    assert "y" in git(repo, "show", f"HEAD:{path}").splitlines()
    assert "pending" not in memctl("status").out


@pytest.mark.parametrize("name", ["rename.md", "rename.txt"])
def test_deletion_is_held_back_if_another_uncommitted_file_has_the_id(name: str, repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Rename test", "--lesson", "u").out.split()
    file = repo / made[1]
    other = file.with_name(name)
    file.rename(other)
    before = commits(repo)
    result = memctl("commit", code=1)
    assert f"{made[1]} was renamed to {other.relative_to(repo)}" in result.err
    assert f"`mv {other.relative_to(repo)} {made[1]}`" in result.err
    assert commits(repo) == before
    other.rename(file)
    assert memctl("commit").err == "nothing is pending\n"
    file.unlink()
    assert f"{made[0]} deleted by hand" in memctl("commit").out


def test_file_renamed_to_a_valid_name_is_committed_with_its_deletion(repo: Path, memctl: Memctl) -> None:
    identifier, path = memctl("learn", "Rename test", "--lesson", "u").out.split()
    (repo / path).rename(repo / path.replace("rename-test", "other"))
    assert f"{identifier} changed or deleted by hand" in memctl("commit").out
    assert git(repo, "status", "--porcelain") == ""
