"""Where records come from: their commits, and what became of the code they refer to."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, git


def facts(memctl: Memctl, *args: str) -> list[str]:
    """The line of facts of the one decision in a pack."""
    text = memctl("rehydrate", "--format", "markdown", *args).out
    return text.split("### Keep it\n")[1].split("\n")[1].split(" | ")


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


def test_what_has_changed_since_stands_below_under_a_heading_of_its_own(memctl: Memctl, repo: Path) -> None:
    (repo / "pay.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    memctl("decide", "Round up", "-i", "10", "--code", "pay.py", "--rationale", "x")
    memctl("decide", "Use cents", "-i", "7", "--rationale", "x")
    assert "## Check before use" not in memctl("rehydrate").out
    (repo / "pay.py").write_text("x = 2\n")
    for form, heading in {
        "markdown": "## Check before use",
        "xml": "<check_before_use>",
        "event": "<check_before_use>",
        "yaml": "CHECK BEFORE USE:",
        "tokens": "CHECK BEFORE USE:",
    }.items():
        text = memctl("rehydrate", "--format", form).out
        assert text.index("Use cents") < text.index(heading) < text.index("Round up"), form


def test_what_is_only_proposed_leads_nothing(memctl: Memctl) -> None:
    memctl("decide", "Maybe", "-i", "10", "--status", "proposed", "--rationale", "refunds")
    memctl("decide", "Surely", "-i", "7", "--rationale", "refunds")
    for options in ((), ("--task", "refunds"), ("--since", "2020-01-01")):
        text = memctl("rehydrate", *options).out
        assert text.index("### Surely") < text.index("### Maybe"), options


def test_a_record_without_a_commit_says_so(memctl: Memctl) -> None:
    memctl("decide", "Keep it", "-i", "10", "--no-commit")
    assert facts(memctl)[-1] == "commit none yet"
