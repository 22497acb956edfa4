"""Where records come from: their commits, and what became of the code they refer to."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, git


def facts(memctl: Memctl, *args: str) -> list[str]:
    """The line of facts of the one decision in a pack."""
    text = memctl("rehydrate", "--format", "markdown", *args).out
    return text.split("## Most important")[1].split("\n")[4].split(" | ")


def test_a_record_names_its_last_commit_and_what_became_of_its_code(memctl: Memctl, repo: Path) -> None:
    for name in ("same", "other", "gone"):
        (repo / f"{name}.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    options = ("--code", "same.py", "--code", "other.py:1", "--code", "gone.py", "--code", "never.py")
    made = memctl("decide", "Keep it", "-i", "10", *options).id
    first = git(repo, "rev-parse", "HEAD").strip()
    (repo / "other.py").write_text("x = 2\n")
    (repo / "gone.py").unlink()
    (repo / "never.py").write_text("new\n")
    assert facts(memctl)[-2:] == [
        "code: same.py, other.py:1 (changed since), gone.py (gone), never.py",
        f"commit {first[:10]}",
    ]
    assert facts(memctl, "--at", "HEAD")[-2] == "code: same.py, other.py:1, gone.py, never.py"
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "later")
    assert facts(memctl, "--at", "HEAD")[-2] == "code: same.py, other.py:1 (changed since), gone.py (gone), never.py"
    memctl("edit", made, "--set", "importance=9")
    assert facts(memctl)[-1] == f"commit {git(repo, 'rev-parse', 'HEAD').strip()[:10]}"
    assert facts(memctl)[-2] == "code: same.py, other.py:1, gone.py, never.py"


def test_a_record_without_a_commit_says_so(memctl: Memctl) -> None:
    memctl("decide", "Keep it", "-i", "10", "--no-commit")
    assert facts(memctl)[-1] == "commit none yet"
