"""Changes are undone one after another, in commits of their own."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, commits, git


def test_changes_are_undone_from_the_last_one_back(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Slow checkout").id
    memctl("edit", made, "--severity", "high")
    before = commits(repo)
    assert "would undo" in memctl("undo", "-n").out
    assert commits(repo) == before
    memctl("undo")
    assert memctl("show", made, "--json").data["records"][0]["severity"] == "medium"
    memctl("undo")
    memctl("show", made, code=1)
    assert commits(repo) == before + 2
    assert git(repo, "status", "--porcelain") == ""
    assert "checkout" not in (repo / ".memory" / "docs" / "INDEX.md").read_text()


def test_undo_can_be_undone_by_its_commit_and_repeated(repo: Path, memctl: Memctl) -> None:
    first = memctl("learn", "One", "--lesson", "x").id
    second = memctl("learn", "Two", "--lesson", "x").id
    memctl("undo")
    memctl("undo", git(repo, "rev-parse", "HEAD").strip())
    assert second in memctl("list").out
    memctl("undo")
    assert second not in memctl("list").out
    memctl("undo")
    assert first not in memctl("list").out


def test_undo_keeps_later_changes_or_is_refused(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Slow", "--severity", "low").id
    memctl("edit", made, "--severity", "high")
    change = git(repo, "rev-parse", "HEAD").strip()
    memctl("edit", made, "--tag", "pay")
    memctl("undo", change)
    record = memctl("show", made, "--json").data["records"][0]
    assert (record["severity"], record["tags"]) == ("low", ["pay"])
    memctl("undo", git(repo, "rev-parse", "HEAD").strip())
    memctl("edit", made, "--severity", "critical")
    before = commits(repo)
    assert "was changed again later, in the same lines" in memctl("undo", change, code=1).err
    assert commits(repo) == before


def test_undo_refuses_commits_that_change_more_than_the_memory(repo: Path, memctl: Memctl) -> None:
    assert "created the memory" in memctl("undo", code=1).err
    memctl("learn", "One", "--lesson", "x", "--no-commit")
    assert "`memctl commit`" in memctl("undo", code=1).err
    memctl("commit")
    (repo / ".memory" / "project.md").write_text("# Shop\n\nBy hand.\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "by hand")
    assert memctl("undo", "-n").out.startswith("would undo ")
    (repo / "other.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    assert "changes nothing in the memory" in memctl("undo", "HEAD", code=1).err


def test_undo_refuses_the_answer_to_a_handoff(memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("own", "acquire", "2.1")
    words = ("--reason", "The design is done", "--immediate", "Write it", "--success", "It runs")
    made = memctl("handoff", "--to", "bob", "--section", "2.1", *words, "--json").data["id"]
    memctl("handoff", "withdraw", made)
    assert "can't be undone: sections may have changed their owner" in memctl("undo", code=1).err


def test_first_commit_of_a_shallow_clone_is_not_undone(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("learn", "Last", "--lesson", "x")
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(clone))
    told = memctl("undo", where=clone, code=1).err
    assert "this shallow clone begins with the commit" in told
    assert "git fetch --deepen 1" in told
    assert "git fetch --unshallow" in memctl("list", "--at", "HEAD~1", where=clone, code=1).err


def test_commits_of_rendered_documents_are_passed_over(repo: Path, memctl: Memctl) -> None:
    git(repo, "remote", "add", "origin", "https://example.org/shop.git")
    memctl("init", "--docs", "default-branch")
    first, second = (memctl("learn", title, "--lesson", "Look.").id for title in ("First", "Second"))
    memctl("render")
    for name in (second, first):
        assert memctl("undo").out.rstrip().endswith(f"learn {name} {'First' if name == first else 'Second'}")
