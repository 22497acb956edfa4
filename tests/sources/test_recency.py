"""When files were last changed, in repositories with a history."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.git.history import paths_touched
from memctl.git.repository import open_repository
from memctl.sources.recency import OPERATIONS, RecentChanges, last_files, recent_changes
from tests.conftest import git

NOW = "2025-11-04T14:32:00Z"


def commit(folder: Path, name: str, date: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(date)
    monkeypatch.setenv("GIT_COMMITTER_DATE", date)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", f"change {name}")


def operations(found: RecentChanges) -> set[str]:
    """Return the files that the last five operations changed."""
    return {path for path, ago in found.ago.items() if ago <= OPERATIONS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def test_commits_of_the_last_week_give_moments_and_the_last_five_are_operations(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, name in enumerate(("a", "b", "c", "d", "e", "f", "g"), 27):
        date = f"2025-10-{day:02d}T12:00:00Z" if day < 32 else f"2025-11-{day - 31:02d}T12:00:00Z"
        commit(folder, name, date, monkeypatch)
    found = recent_changes(open_repository(folder), (), NOW)
    assert operations(found) == set("cdefg")
    assert found.moments == {
        name: f"2025-{day}T12:00:00Z"
        for name, day in zip("cdefg", ("10-29", "10-30", "10-31", "11-01", "11-02"), strict=True)
    }


def test_memory_commits_do_not_count_as_operations(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        commit(folder, f"old{number}", "2024-01-01T00:00:00Z", monkeypatch)
    for number in range(12):
        commit(folder, f".memory/decisions/{number}.md", "2025-11-04T00:00:00Z", monkeypatch)
    found = recent_changes(open_repository(folder), (), NOW)
    assert operations(found) == {"old0", "old1", "old2", "old3"}
    assert found.moments == {}


def test_uncommitted_file_has_the_time_of_its_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(folder, "a", "2025-11-04T10:00:00Z", monkeypatch)
    os.utime(folder / "a", (1762260000, 1762260000))
    found = recent_changes(open_repository(folder), ("a", "gone"), NOW)
    assert found.moments == {"a": "2025-11-04T12:40:00Z"}
    assert operations(found) == {"a", "gone"}


def test_without_a_commit_nothing_is_recent(folder: Path) -> None:
    assert recent_changes(open_repository(folder), (), NOW).moments == {}


def test_the_last_files_are_in_the_order_in_which_they_were_written_and_of_globs_those_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate(("src/b.py", "src/c.py", "src/a.py", "other.py", "src/new.py")):
        (folder / "src").mkdir(exist_ok=True)
        (folder / name).write_text("x")
        os.utime(folder / name, (1762260000 - age, 1762260000 - age))
    git(folder, "add", "src/b.py", "src/c.py", "src/a.py")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-11-04T00:00:00Z")
    git(folder, "commit", "-qm", "start")
    repository = open_repository(folder)
    assert [path for path, _ in last_files(repository)] == [
        "other.py",
        "src/new.py",
        "src/b.py",
        "src/c.py",
        "src/a.py",
    ]
    assert last_files(repository, 2, ["src/**"]) == [
        ("src/new.py", "in no commit yet"),
        ("src/b.py", "2025-11-04T00:00:00Z, start"),
    ]


def test_first_commit_of_a_shallow_clone_changes_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        commit(folder, name, "2025-11-03T12:00:00Z", monkeypatch)
    git(folder, "clone", "-q", "--depth", "2", folder.as_uri(), "clone")
    clone = open_repository(folder / "clone")
    assert operations(recent_changes(clone, (), NOW)) == {"c"}
    assert [path for path, _ in last_files(clone)] == ["c"]
    assert paths_touched(clone, 5, ".memory")() == {"c"}
    (folder / "clone/.git/shallow").open("a").write(f"{'1' * 40}\n")  # Git prunes commits, but keeps their names
    assert operations(recent_changes(clone, (), NOW)) == {"c"}


def test_first_commit_of_a_large_repository_counts_for_all_files_without_their_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "z").write_text("")
    for name in ("a", "b", "c"):
        commit(folder, name, "2025-11-03T12:00:00Z", monkeypatch)
    repository = open_repository(folder)
    named, unnamed = (recent_changes(repository, (), NOW, is_large=is_large) for is_large in (False, True))
    assert (named.ago, named.first) == ({"c": 1, "b": 2, "a": 3, "z": 3}, None)
    assert (unnamed.ago, unnamed.first) == ({"c": 1, "b": 2}, 3)
    assert unnamed.ago_of("z") == named.ago_of("z")
    git(folder, "clone", "-q", "--depth", "2", folder.as_uri(), "clone")
    assert recent_changes(open_repository(folder / "clone"), (), NOW, is_large=True).first is None
