"""`memctl upgrade`: from format 1 to format 2, in one commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.record.frontmatter import read
from tests.cli.test_list_records import run_on_terminal
from tests.conftest import Memctl, changed_in, commits, git
from tests.store.test_last_commits import known


@pytest.fixture
def old(repo: Path, memctl: Memctl) -> Path:
    """The repository, with a memory of format 1."""
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 2", "format: 1  # ours"))
    readme = repo / ".memory" / "README.md"
    readme.write_text(readme.read_text().partition("\nIt also names")[0])
    git(repo, "commit", "-qam", "before\n\nMemctl-Op: init")
    memctl("section", "add", "Pay", "--overview", "Takes money")
    memctl("decide", "Sign", "--rationale", "Keys are public", "--section", "2.1", "--tag", "keys")
    memctl("issue", "Slow", "--severity", "critical")
    memctl("state", "Task", "--done", "a", "--next", "b")
    memctl("learn", "Wait", "--lesson", "Ask twice", "-i", "8")
    memctl("handoff", "--to", "codex", "--reason", "Nights are mine")
    return repo


def records(memctl: Memctl) -> list[dict[str, object]]:
    return memctl("list", "--all", "--json").data["records"]  # type: ignore[no-any-return]


def texts(repo: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in repo.glob(".memory/*/2*/*.md")}


def test_records_of_format_1_are_written_in_the_full_form(old: Path) -> None:
    for text in texts(old).values():
        assert {"memory_type", "project_id", "is_archived", "access_count", "importance"} <= read(text)[0].keys()


def test_upgrade_is_one_commit_in_which_no_value_changes(old: Path, memctl: Memctl) -> None:
    before, made, shown = records(memctl), commits(old), {path.name: path.read_text() for path in old.glob("docs/*")}
    last = [commit["commit"] for commit in memctl("log", "DEC-2025-11-04-001", "--json").data["commits"]]
    exported = memctl("export").out
    assert memctl("upgrade", "--yes").out == "upgraded to format 2\n"
    assert commits(old) == made + 1
    assert git(old, "log", "-1", "--format=%s").strip() == "docs(memory): upgrade to format 2"
    assert "Memctl-Op: upgrade" in git(old, "log", "-1", "--format=%B")
    assert records(memctl) == before
    assert memctl("export").out == exported
    assert {path.name: path.read_text() for path in old.glob("docs/*")} == shown
    assert last[0] in [commit["commit"] for commit in memctl("log", "DEC-2025-11-04-001", "--json").data["commits"]]
    assert "format: 2  # ours\n" in (old / ".memory" / "config.yaml").read_text()
    assert "A memctl that is older" in (old / ".memory" / "README.md").read_text()
    assert git(old, "status", "--porcelain") == ""
    assert not [text for text in texts(old).values() if "memory_type" in text]
    memctl("check", "--strict")
    made = commits(old)
    assert "format 2 already" in memctl("upgrade", "--docs", "false").out  # `memctl init --docs` changes it
    assert commits(old) == made


def test_upgrade_is_no_new_text_of_a_record(old: Path, memctl: Memctl) -> None:
    before = known(old)
    assert len(before) == 1
    memctl("upgrade", "--yes")
    assert known(old) == known(old, "HEAD") == before


def test_without_a_terminal_upgrade_needs_yes(old: Path, memctl: Memctl) -> None:
    made = commits(old)
    refused = memctl("upgrade", code=1)
    assert "5 records to rewrite" in refused.err
    assert "an older memctl refuses this memory" in refused.err
    assert "--yes upgrades without asking" in refused.err
    assert commits(old) == made
    shown = memctl("upgrade", "--dry-run")
    assert "-memory_type: decision" in shown.out
    assert commits(old) == made
    assert git(old, "status", "--porcelain") == ""


def test_on_a_terminal_upgrade_asks(old: Path) -> None:
    made = commits(old)
    assert "Upgrade? [y/N]" in run_on_terminal(old, "upgrade", keys="n\n")
    assert commits(old) == made
    run_on_terminal(old, "upgrade", keys="y\n")
    assert commits(old) == made + 1


def test_readme_that_somebody_wrote_is_kept(old: Path, memctl: Memctl) -> None:
    readme = old / ".memory" / "README.md"
    readme.write_text("Ours\n")
    git(old, "commit", "-qam", "ours")
    memctl("upgrade", "--yes")
    assert readme.read_text() == "Ours\n"


def test_with_a_remote_documents_go_to_the_default_branch(old: Path, memctl: Memctl) -> None:
    git(old, "remote", "add", "origin", str(old.parent / "origin.git"))
    result = memctl("upgrade", "--yes", "--json")
    assert result.data["docs"] == "default-branch"
    config = (old / ".memory" / "config.yaml").read_text()
    assert config.endswith("docs: default-branch\ndefault_branch: main\n")
    assert "kept on the default branch alone" in result.err or "docs" in result.data


@pytest.mark.parametrize("value", ["true", "false"])
def test_documents_are_where_the_user_says(old: Path, memctl: Memctl, value: str) -> None:
    git(old, "remote", "add", "origin", str(old.parent / "origin.git"))
    assert "kept on the default branch alone" not in memctl("upgrade", "--yes", "--docs", value).err
    assert (old / ".memory" / "config.yaml").read_text().endswith(f"docs: {value}\n")


def test_uncommitted_edits_are_not_taken_along(old: Path, memctl: Memctl) -> None:
    (file,) = old.glob(".memory/learnings/*/*.md")
    file.write_text(file.read_text().replace("Ask twice", "Ask once"))
    refused = memctl("upgrade", "--yes", code=1).err
    assert "files to rewrite have uncommitted changes" in refused
    assert "memctl commit" in refused
    memctl("commit")
    memctl("upgrade", "--yes")


def test_unreadable_record_stops_the_upgrade(old: Path, memctl: Memctl) -> None:
    (file,) = old.glob(".memory/learnings/*/*.md")
    file.write_text(file.read_text().replace("importance: 8", "<<<<<<< a\nimportance: 8\n=======\n>>>>>>> b"))
    git(old, "commit", "-qam", "broken")
    assert "can't be read" in memctl("upgrade", "--yes", code=1).err


def test_merge_under_way_stops_the_upgrade(old: Path, memctl: Memctl) -> None:
    git(old, "checkout", "-qb", "side")
    git(old, "commit", "-q", "--allow-empty", "-m", "side")
    git(old, "checkout", "-q", "main")
    git(old, "merge", "-q", "--no-ff", "--no-commit", "side")
    assert "can't commit now: a merge is under way" in memctl("upgrade", "--yes", code=1).err


def test_record_of_an_old_branch_is_read_edited_and_rewritten_later(old: Path, memctl: Memctl) -> None:
    git(old, "checkout", "-qb", "side")
    made = memctl("learn", "Late", "--lesson", "Old branches live long").id
    git(old, "checkout", "-q", "main")
    memctl("upgrade", "--yes")
    git(old, "merge", "-q", "--no-edit", "side", check=False)  # documents on all branches conflict
    memctl("render")
    git(old, "add", "-A")
    git(old, "commit", "-q", "--no-edit")
    memctl("check", "--strict")
    memctl("edit", made, "--set", "importance=9")
    (file,) = old.glob(f".memory/learnings/*/{made}*")
    assert "memory_type: learning\n" in file.read_text()
    assert changed_in(old) == [str(file.relative_to(old))]
    assert "1 record to rewrite" in memctl("upgrade", "--yes").err
    assert "memory_type" not in file.read_text()


def test_merge_driver_joins_an_edit_from_before_the_upgrade(old: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    git(old, "checkout", "-qb", "side")
    memctl("edit", "ISS-2025-11-04-001", "--set", "status=in-progress", "--add", "tags=slow", "--importance", "10")
    git(old, "checkout", "-q", "main")
    memctl("upgrade", "--yes")
    memctl("edit", "ISS-2025-11-04-001", "--set", "section=2.1")
    git(old, "merge", "-q", "--no-edit", "side")
    (found,) = [record for record in records(memctl) if record["id"] == "ISS-2025-11-04-001"]
    named = {name: found[name] for name in ("status", "tags", "importance", "section", "severity", "project_id")}
    assert list(named.values()) == ["in-progress", ["slow"], 10, "§2.1", "critical", "shop"]
    (file,) = old.glob(".memory/issues/*/*.md")
    assert "memory_type" not in file.read_text()
    memctl("check", "--strict")


def test_sync_joins_a_clone_of_format_1_with_an_upgraded_remote(
    old: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")  # two records of one moment and name would have one memory_id
    git(tmp_path, "clone", "-q", "--bare", str(old), str(tmp_path / "bare.git"))
    one, two = (tmp_path / name for name in ("one", "two"))
    for clone in (one, two):
        git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), str(clone))
        git(clone, "config", "memctl.trusted", "true")
    memctl("edit", "ISS-2025-11-04-001", "--set", "severity=low", "--add", "tags=slow", where=two)
    memctl("delete", "LRN-2025-11-04-001", where=two)
    made = memctl("learn", "Late", "--lesson", "x", where=two).id
    memctl("upgrade", "--yes", where=one)
    memctl("edit", "ISS-2025-11-04-001", "--set", "section=2.1", where=one)
    memctl("sync", where=one)
    memctl("sync", where=two)
    memctl("sync", where=one)
    for clone in (one, two):
        assert "format: 2" in (clone / ".memory" / "config.yaml").read_text()
        (issue,) = memctl("show", "ISS-2025-11-04-001", "--json", where=clone).data["records"]
        named = [issue[name] for name in ("severity", "importance", "tags", "section", "project_id")]
        assert named == ["low", 4, ["slow"], "§2.1", "shop"]
        assert memctl("show", made, "--json", where=clone).data["records"][0]["importance"] == 5
        assert "there is no record" in memctl("show", "LRN-2025-11-04-001", where=clone, code=1).err
        memctl("check", where=clone)
