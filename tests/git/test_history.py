"""Commits and what they did to a file."""

from __future__ import annotations

from pathlib import Path

from memctl.git import history, introductions
from memctl.git.history import LastState
from memctl.git.repository import open_repository
from tests.conftest import Memctl, git


def test_commits_are_read_with_their_trailers_and_paths(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "One", "--reason", "because")
    found = history.commits(open_repository(repo), [".memory"], limit=1)[0]
    assert found.subject == f"docs(memory): decide {made.id} One"
    assert (found.trailers.ids, found.trailers.reason) == ((made.id,), "because")
    assert made.out.split()[1] in found.paths


def test_deleted_file_has_its_last_version_and_deleting_commit(repo: Path) -> None:
    repository, blob = open_repository(repo), git(repo, "rev-parse", "HEAD:app.py").strip()
    before = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "rm", "-q", "app.py")
    git(repo, "commit", "-qm", "gone")
    gone = git(repo, "rev-parse", "HEAD").strip()
    assert history.last_state(repository, "app.py", "HEAD") == LastState(f"{gone}^", blob, gone)
    last = history.last_version(repository, "app.py")
    assert last is not None
    assert last[1] == blob
    assert git(repo, "rev-parse", f"{before}:app.py").strip() == blob
    assert history.last_version(repository, "never.py") is None
    assert "app.py" in history.paths_ever(repository, ".")


def test_repository_without_a_commit_has_no_history(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    repository = open_repository(tmp_path)
    assert history.commits(repository, ["."]) == history.paths_ever(repository, ".") == []
    assert introductions.last_changes(repository, ["a"]) == introductions.last_commits(repository, ["a"]) == {}


def test_file_name_with_a_record_separator_is_read_as_a_path(repo: Path) -> None:
    names = ("\x01a", "\x1e1 b")
    for name in names:
        (repo / name).write_text("x\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "odd")
    first = next(history.latest(open_repository(repo), 1))
    assert (first.paths, first.subject) == (names, "odd")
