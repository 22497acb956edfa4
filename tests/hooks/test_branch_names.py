"""A branch that a program has named by random words: a task's state names it as Git does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.hooks.session import Session

BRANCH = "claude/issue-8f3kQ2mZx7Lp0Vn4TbWc"


@pytest.mark.parametrize("commits", ["all", "records"])
def test_state_after_a_compaction_names_the_branch_as_git_does(repo: Path, session: Session, commits: str) -> None:
    git(repo, "config", "memctl.hookCommits", commits)
    git(repo, "switch", "-q", "-c", BRANCH)
    session.context("SessionStart", source="startup")
    session.transcript.prompt("Pay back refunds by card")
    session.transcript.call("Write", file_path=str(repo / "a.py"), content="x = 1\n")
    session.send("PreCompact", trigger="auto")
    said = session.context("SessionStart", source="compact")
    assert "Pay back refunds" in said
    assert "the branch was" not in said
    assert "redacted" not in said
    ref = "HEAD" if commits == "all" else "refs/memctl/sessions"
    saved = git(repo, "grep", "-h", "8f3kQ2mZx7Lp0Vn4TbWc", ref, "--", ".memory")
    assert f'"branch": "{BRANCH}"' in saved
    assert session.faults() == []
