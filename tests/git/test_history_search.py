"""What the history of a clone still has of a text."""

from __future__ import annotations

from pathlib import Path

from memctl.git import history_search
from memctl.git.history_search import Matches
from memctl.git.repository import open_repository
from tests.conftest import Memctl, git

TEXT = "correct horse"


def commit(repo: Path, text: str, message: str = "x") -> str:
    (repo / ".memory/README.md").write_text(text)
    git(repo, "commit", "-qam", message)
    return git(repo, "rev-parse", "HEAD").strip()


def find(repo: Path, seconds: float = 10.0) -> Matches:
    return history_search.find(open_repository(repo), [TEXT], ".memory", seconds)


def test_commits_with_a_text_are_found_newest_first_with_their_refs(repo: Path) -> None:
    first = commit(repo, f"a {TEXT}\n")
    commit(repo, "gone\n")
    second = commit(repo, f"b {TEXT}\n")
    git(repo, "tag", "v1", first)
    git(repo, "checkout", "-qb", "clean", f"{first}~1")
    found = find(repo)
    assert found.commits == (second, first)
    assert found.refs == ("refs/heads/main", "refs/tags/v1")
    assert found.is_complete


def test_text_in_a_message_on_another_branch_or_in_a_stash_is_found(repo: Path) -> None:
    message = commit(repo, "more\n", f"docs: {TEXT}")
    git(repo, "checkout", "-qb", "other", "HEAD~1")
    other = commit(repo, f"{TEXT}\n")
    (repo / ".memory/README.md").write_text(f"stashed {TEXT}\n")
    git(repo, "stash")
    found = find(repo)
    assert {message, other} < set(found.commits)
    assert "refs/stash" in found.refs


def test_search_finds_text_in_the_shared_state(repo: Path, memctl: Memctl) -> None:
    memctl("coordination", "block", f"Nobody knows the {TEXT}")
    assert find(repo).refs == ("refs/memctl/coordination",)


def test_search_that_ran_out_of_time_is_not_complete(repo: Path) -> None:
    commit(repo, f"a {TEXT}\n")
    assert not find(repo, seconds=-1.0).is_complete


def test_message_with_separators_hides_no_commit(repo: Path) -> None:
    hostile = commit(repo, f"a {TEXT}\n", "x\x1e\x1f:100644 y")
    assert find(repo).commits == (hostile,)


def test_search_without_matches_is_empty(repo: Path) -> None:
    assert find(repo) == Matches()
