"""Who could know what, in a history with two sides."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git.first_commits import FirstCommits, Origin
from memctl.git.repository import open_repository
from tests.conftest import git

ONE, TWO = Origin("x.md", mark="one"), Origin("x.md", mark="two")
NEW, LINE, LATER = Origin("new.md"), Origin("notes.md", 1), Origin("notes.md", 2)


@pytest.fixture
def sides(repo: Path) -> Path:
    """Both sides add `x.md`; one writes a line about it, and another line comes after the merge."""
    git(repo, "branch", "side")
    for branch, mark in (("main", "one"), ("side", "two")):
        git(repo, "checkout", "-q", branch)
        commit(repo, "x.md", f"{mark}\n", 1 if mark == "two" else 2)
    commit(repo, "notes.md", "of two\n", 3)
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-edit", "side", "-X", "ours")
    commit(repo, "notes.md", "of two\nof both\n", 4)
    return repo


def commit(repo: Path, name: str, text: str, second: int) -> None:
    (repo / ".memory" / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", name, f"--date=2025-11-04T00:00:0{second}Z")


def history(repo: Path, revision: str = "") -> FirstCommits:
    return FirstCommits(open_repository(repo), ".memory", revision)


@pytest.mark.parametrize("revision", ["", "main"])
def test_writer_sees_the_texts_in_the_history_of_its_commit(sides: Path, revision: str) -> None:
    knew = history(sides, revision).visible_to([LINE, LATER, ONE, TWO], [ONE, TWO])
    assert knew == {LINE: {TWO}, LATER: {ONE, TWO}, ONE: {ONE}, TWO: {TWO}}


def test_file_has_the_date_of_the_first_commit_with_its_mark(sides: Path) -> None:
    added = history(sides).times_added([ONE, TWO, LINE, NEW])
    assert added[ONE] - added[TWO] == 1
    assert added[LINE] - added[TWO] == 2
    assert NEW not in added


def test_uncommitted_text_sees_all_and_is_visible_only_to_itself(sides: Path) -> None:
    (sides / ".memory" / "new.md").write_text("new\n")
    (sides / ".memory" / "notes.md").write_text("of two\nof both\nnow\n")
    last = Origin("notes.md", 3)
    knew = history(sides).visible_to([last, LINE, NEW], [ONE, NEW])
    assert knew == {last: {ONE, NEW}, LINE: frozenset(), NEW: {ONE, NEW}}


def test_both_sides_are_searched_during_a_merge(sides: Path) -> None:
    git(sides, "reset", "-q", "--hard", "main~1^1")
    git(sides, "merge", "-q", "--no-commit", "side", "-X", "ours")
    assert history(sides).visible_to([LINE], [ONE, TWO]) == {LINE: {TWO}}


def test_paths_ever_includes_deleted_paths(sides: Path) -> None:
    git(sides, "rm", "-q", ".memory/x.md")
    git(sides, "commit", "-qm", "gone")
    assert {"x.md", "notes.md"} <= set(history(sides).paths_ever(""))


def test_repository_without_commits_has_no_origins(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert history(tmp_path).visible_to([LINE], [ONE]) == {LINE: {ONE}}
    assert history(tmp_path).times_added([LINE, ONE]) == {}
    assert history(tmp_path).paths_ever("details") == set()
