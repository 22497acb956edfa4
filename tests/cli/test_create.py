"""`decide`, `issue`, `state` and `learn`."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, changed_in, commits, git


def test_decide_makes_one_commit_of_one_file(repo: Path, memctl: Memctl) -> None:
    (repo / "app.py").write_text("print('dirty')\n")
    (repo / "new.py").write_text("x = 1\n")
    git(repo, "add", "new.py")
    before, status = commits(repo), git(repo, "status", "--short")
    made = memctl("decide", "Adopt PostgreSQL", "--rationale", "Orders need transactions")
    assert made.out == "DEC-2025-11-04-001 .memory/decisions/2025-11/DEC-2025-11-04-001-adopt-postgresql.md\n"
    assert commits(repo) == before + 1
    assert changed_in(repo) == [made.out.split()[1]]
    assert git(repo, "status", "--short") == status


def test_tags_may_be_given_together(memctl: Memctl) -> None:
    made = memctl("learn", "Together", "--lesson", "x", "--tag", "a, b", "-t", "c").id
    assert memctl("show", made, "--json").data["records"][0]["tags"] == ["a", "b", "c"]
    assert [r["id"] for r in memctl("list", "--tag", "a,c", "--json").data["records"]] == [made]
