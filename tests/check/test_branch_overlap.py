"""`memctl page impact --branches`: open branches that decide the same or touch the same record, without a fetch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, git


@pytest.fixture
def shared(repo: Path, memctl: Memctl, tmp_path: Path) -> Path:
    """Return a repository with a remote, whose default branch has a decision and an issue."""
    memctl("decide", "Adopt PostgreSQL", "--rationale", "x", "--section", "2.1")
    memctl("issue", "Checkout times out")
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(origin))
    git(repo, "remote", "add", "origin", str(origin))
    git(repo, "fetch", "-q", "origin")
    git(repo, "remote", "set-head", "origin", "main")
    return repo


def branch(repo: Path, memctl: Memctl, name: str, *commands: list[str]) -> None:
    """Push a branch with some records, and go back to the default branch."""
    git(repo, "checkout", "-qb", name, "main")
    for command in commands:
        memctl(*command)
    git(repo, "push", "-q", "origin", name)
    git(repo, "checkout", "-q", "main")
    git(repo, "branch", "-qD", name)


def overlaps(memctl: Memctl) -> list[tuple[list[str], str]]:
    rows = memctl("impact", "--branches", "--json").data["review"]
    return sorted((sorted(row["places"]), row["text"]) for row in rows)


def test_branches_that_decide_the_same_are_named(shared: Path, memctl: Memctl) -> None:
    branch(shared, memctl, "queue", ["decide", "Use Kafka for payment events", "--rationale", "x"])
    branch(shared, memctl, "log", ["decide", "Payment events through Kafka", "--rationale", "x"])
    branch(shared, memctl, "mail", ["decide", "Send mail at night", "--rationale", "x"])
    ((places, text),) = overlaps(memctl)
    assert places == ["origin/log", "origin/queue"]
    assert "Use Kafka for payment events" in text
    assert "Payment events through Kafka" in text
    shown = memctl("impact", "--branches").out
    assert shown.startswith("Open branches that concern the same\n")


def test_one_section_needs_fewer_common_words(shared: Path, memctl: Memctl) -> None:
    title = "Retry failed card payments twice", "Card payments fail fast after a delay"
    for name, section in (("a", "2.1"), ("b", "2.2")):
        branch(shared, memctl, name, ["decide", title[name == "b"], "--rationale", "x", "--section", section])
    assert overlaps(memctl) == []
    branch(shared, memctl, "c", ["decide", title[1], "--rationale", "x", "--section", "2.1"])
    assert ["origin/a", "origin/c"] in [places for places, _ in overlaps(memctl)]


def test_branches_that_change_one_record_are_named(shared: Path, memctl: Memctl) -> None:
    branch(shared, memctl, "fix", ["resolve", "ISS-2025-11-04", "--resolution", "longer pool"])
    branch(shared, memctl, "close", ["edit", "ISS-2025-11-04", "--set", "severity=low"])
    branch(shared, memctl, "other", ["learn", "Other", "--lesson", "x"])
    ((places, text),) = overlaps(memctl)
    assert places == ["origin/close", "origin/fix"]
    assert text.endswith(" both change it: Checkout times out")


def test_own_branch_is_compared_and_its_pushed_copy_is_not(shared: Path, memctl: Memctl) -> None:
    branch(shared, memctl, "theirs", ["decide", "Use Kafka for payment events", "--rationale", "x"])
    git(shared, "checkout", "-qb", "mine", "main")
    memctl("decide", "Payment events through Kafka", "--rationale", "x")
    git(shared, "push", "-q", "origin", "mine")
    memctl("learn", "More", "--lesson", "not pushed")
    assert [places for places, _ in overlaps(memctl)] == [["mine", "origin/theirs"]]


def test_merged_and_stacked_branches_overlap_with_none(shared: Path, memctl: Memctl) -> None:
    branch(shared, memctl, "merged", ["decide", "Use Kafka for payment events", "--rationale", "x"])
    git(shared, "merge", "-q", "--no-ff", "-m", "merge", "origin/merged")
    git(shared, "push", "-q", "origin", "main")
    branch(shared, memctl, "first", ["decide", "Use NATS for card events", "--rationale", "x"])
    git(shared, "checkout", "-q", "origin/first")
    git(shared, "checkout", "-qb", "second")
    memctl("learn", "On top", "--lesson", "x")
    git(shared, "push", "-q", "origin", "second")
    git(shared, "checkout", "-q", "main")
    assert overlaps(memctl) == []


def test_shallow_clone_says_what_it_needs(shared: Path, memctl: Memctl, tmp_path: Path) -> None:
    branch(shared, memctl, "theirs", ["decide", "Use Kafka for payment events", "--rationale", "x"])
    git(shared, "commit", "-q", "--allow-empty", "-m", "feat: more")
    git(shared, "push", "-q", "origin", "main")
    clone, url = tmp_path / "shallow", f"file://{tmp_path / 'origin.git'}"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", url, str(clone))
    assert "git fetch --unshallow" in memctl("impact", "--branches", where=clone, code=1).err
    git(clone, "fetch", "-q", "--unshallow")
    git(clone, "checkout", "-q", "--orphan", "pages")  # without a common commit
    git(clone, "commit", "-q", "-m", "pages")
    git(clone, "push", "-q", "origin", "pages")
    git(clone, "checkout", "-qf", "main")
    assert memctl("impact", "--branches", where=clone).out == ""


def test_paths_and_revisions_are_refused(shared: Path, memctl: Memctl) -> None:
    assert "--branches takes no paths" in memctl("impact", "--branches", "main...HEAD", code=2).err


def test_repository_without_a_remote_or_a_commit_has_no_overlaps(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    assert "nothing to say about open branches" in memctl("impact", "--branches").err
    git(tmp_path, "init", "-q", "new")
    memctl("init", where=tmp_path / "new")
    assert memctl("impact", "--branches", where=tmp_path / "new").out == ""
