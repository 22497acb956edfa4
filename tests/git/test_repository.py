"""The repository around a memory, as its files and Git tell of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memctl.git.repository import open_repository
from tests.conftest import Memctl, git


@pytest.mark.parametrize("command", [["pack-refs", "--all"], ["symbolic-ref", "refs/heads/other", "refs/heads/main"]])
def test_branch_is_found_in_packed_and_symbolic_refs(repo: Path, memctl: Memctl, command: list[str]) -> None:
    git(repo, *command)
    if "symbolic-ref" in command:
        git(repo, "symbolic-ref", "HEAD", "refs/heads/other")
    before = git(repo, "rev-parse", "main").strip()
    assert open_repository(repo).branch() == ("refs/heads/main", before)
    memctl("decide", "Stored")
    assert git(repo, "rev-parse", "main^").strip() == before
    assert git(repo, "status", "--porcelain") == ""


def test_branch_without_a_commit_is_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert open_repository(tmp_path).branch() == ("refs/heads/trunk", "")


def test_detached_head_is_on_no_branch(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    assert open_repository(repo).branch() == ("", git(repo, "rev-parse", "HEAD").strip())


def test_linked_worktree_has_its_own_branch(repo: Path) -> None:
    other = repo.parent / "other"
    git(repo, "worktree", "add", "-q", "-b", "side/way", str(other))
    assert open_repository(other).branch()[0] == "refs/heads/side/way"


def test_each_worktree_lists_all_worktrees(repo: Path) -> None:
    other, gone = repo.parent / "ot her", repo.parent / "gone"
    for place in (other, gone):
        git(repo, "worktree", "add", "-q", "--detach", str(place))
    shutil.rmtree(gone)
    listed = git(repo, "worktree", "list", "--porcelain").splitlines()
    expected = {Path(line.removeprefix("worktree ")) for line in listed if line.startswith("worktree ")}
    for place in (repo, other):
        assert set(open_repository(place).worktrees()) == expected


def test_remotes_equal_those_that_git_lists(repo: Path) -> None:
    assert open_repository(repo).remotes() == []
    for name in ("origin", "a.b", "team/fork"):
        git(repo, "remote", "add", name, "nowhere")
    git(repo, "config", "remote.pushDefault", "a.b")
    git(repo, "config", "branch.Ma=in.remote", "a.b")
    repository = open_repository(repo)
    assert repository.remotes() == git(repo, "remote").split()
    assert repository.branch_settings["branch.Ma=in.remote"] == "a.b"
