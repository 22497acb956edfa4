"""Reading the index, and putting texts into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import index
from memctl.git.repository import open_repository
from tests.conftest import git


def test_texts_are_staged_without_touching_the_disk(repo: Path) -> None:
    before = (repo / "app.py").read_text()
    index.stage(open_repository(repo), {"app.py": "staged\n", "new.txt": "new\n", ".memory/config.yaml": None})
    assert git(repo, "show", ":app.py", ":new.txt") == "staged\nnew\n"
    assert git(repo, "diff", "--cached", "--name-only", "--diff-filter=D") == ".memory/config.yaml\n"
    assert (repo / "app.py").read_text() == before
    assert not (repo / "new.txt").exists()
    assert (repo / ".memory" / "config.yaml").exists()


def test_path_in_conflict_is_no_regular_file(repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:app.py").strip()
    lines = "".join(f"100644 {blob} {stage}\tapp.py\n" for stage in (1, 2, 3))
    git(repo, "update-index", "--index-info", stdin=f"0 {'0' * 40}\tapp.py\n{lines}")
    assert [entry.is_regular for entry in index.entries(open_repository(repo)) if entry.path == "app.py"] == [False]


def test_inside_a_hook_the_index_of_the_hook_is_used(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repo / ".git" / "other"
    other.write_bytes((repo / ".git" / "index").read_bytes())
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    repository = open_repository(repo)
    index.stage(repository, {"new.txt": "new\n"})
    assert "new.txt" in {entry.path for entry in index.entries(repository)}
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert "new.txt" not in {entry.path for entry in index.entries(repository)}
