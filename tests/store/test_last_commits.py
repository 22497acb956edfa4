"""The commits that last changed files of the memory, from the cache."""

from __future__ import annotations

import os
from pathlib import Path

from memctl.journal import history
from memctl.store.last_commits import last_commits
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git


def known(repo: Path) -> dict[str, str]:
    """The last commit of every file of the memory, as the cache has it."""
    memory = open_memory(repo, os.environ)
    paths = git(repo, "ls-files", "-z", ".memory").strip("\0").split("\0")
    return last_commits(memory, paths)


def true(repo: Path) -> dict[str, str]:
    """The same, asked of Git file by file."""
    paths = git(repo, "ls-files", "-z", ".memory").strip("\0").split("\0")
    return {path: commit for path in paths if (commit := git(repo, "log", "-1", "--format=%H", "--", path).strip())}


def test_it_follows_the_history(memctl: Memctl, repo: Path) -> None:
    first = memctl("decide", "One", "--rationale", "a").id
    assert known(repo) == true(repo)
    memctl("decide", "Two", "--rationale", "b")
    memctl("edit", first, "--set", "importance=3")
    assert known(repo) == true(repo)


def test_it_begins_anew_where_the_history_was_rewritten(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    assert known(repo) == true(repo)
    git(repo, "commit", "-q", "--amend", "-m", "other")
    assert known(repo) == true(repo)
    git(repo, "checkout", "-q", "-b", "side", "HEAD~1")
    memctl("decide", "Two", "--rationale", "b")
    assert known(repo) == true(repo)
    git(repo, "checkout", "-q", "main")
    assert known(repo) == true(repo)


def test_files_without_a_commit_have_none(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a", "--no-commit")
    path = next((repo / ".memory/decisions").rglob("*.md")).relative_to(repo).as_posix()
    assert last_commits(open_memory(repo, os.environ), [path]) == {}


def test_before_the_first_commit_there_is_none(tmp_path: Path, memctl: Memctl) -> None:
    memctl("init", "--git", "--no-commit", where=tmp_path)
    assert last_commits(open_memory(tmp_path, os.environ), [".memory/config.yaml"]) == {}


def test_a_revision_is_asked_of_git(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    repository = open_memory(repo, os.environ).repository
    head = git(repo, "rev-parse", "HEAD").strip()
    path = next((repo / ".memory/decisions").rglob("*.md")).relative_to(repo).as_posix()
    assert history.last_commits(repository, [path, ".memory/config.yaml", "never"], "HEAD")[path] == head
    assert path not in history.last_commits(repository, [path], "HEAD~1")
