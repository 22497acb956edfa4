"""What differs between commits, the index and the worktree."""

from __future__ import annotations

from pathlib import Path

from memctl.git import differences
from memctl.git.differences import ADDED, CHANGED, DELETED, RENAMED, FileChange
from memctl.git.repository import open_repository
from tests.conftest import git

TEXT = "".join(f"line {number}\n" for number in range(20))


def test_renames_are_found_between_commits_and_in_the_index(repo: Path) -> None:
    (repo / "long.txt").write_text(TEXT)
    git(repo, "add", "long.txt")
    git(repo, "commit", "-qm", "long")
    git(repo, "mv", "long.txt", "moved.txt")
    repository, moved = open_repository(repo), FileChange("moved.txt", RENAMED, "long.txt")
    assert differences.changed_in_index(repository) == [moved]
    git(repo, "commit", "-qm", "moved")
    assert differences.changed_between(repository, "HEAD~1", "HEAD") == [moved]
    assert differences.changed_between(repository, "HEAD~2", "HEAD") == [FileChange("moved.txt", ADDED)]


def test_worktree_changes_are_found_against_head(repo: Path) -> None:
    (repo / "app.py").write_text("changed\n")
    (repo / "new.txt").write_text("new\n")
    blob = git(repo, "rev-parse", "HEAD:.memory/config.yaml").strip()
    (repo / ".memory" / "config.yaml").unlink()
    found = {change.path: change for change in differences.changed_in_worktree(open_repository(repo))}
    assert found == {
        "app.py": FileChange("app.py", CHANGED),
        "new.txt": FileChange("new.txt", ADDED),
        ".memory/config.yaml": FileChange(".memory/config.yaml", DELETED, blob=blob),
    }


def test_staged_files_before_the_first_commit_are_added(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a\n")
    git(tmp_path, "add", "a.txt")
    assert differences.changed_in_index(open_repository(tmp_path)) == [FileChange("a.txt", ADDED)]
