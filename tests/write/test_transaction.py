"""The write path: killed at every step, changes that wait, edits by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Memctl, changed_in, commits, git, strides
from tests.write import killed


def run_until(step: int, repo: Path, *args: str) -> int:
    return killed.run(step, repo, *args).returncode


def steps_of(built: Path, tmp_path: Path, *args: str) -> int:
    """The first step that a command does not come to any more."""
    copy = tmp_path / "probe"
    shutil.copytree(built, copy, symlinks=True)
    done = killed.run(0, copy, *args)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1]) + 1


def tree(repo: Path) -> dict[str, str]:
    folder = repo / ".memory"
    return {str(f.relative_to(folder)): f.read_text() for f in folder.rglob("*.md")}


@strides(7)
@pytest.mark.parametrize("operation", ["decide", "supersede", "delete"])
def test_killed_at_any_step_leaves_the_old_or_the_new_state(
    repo: Path, memctl: Memctl, tmp_path: Path, operation: str, stride: int, mode: str
) -> None:
    git(repo, "config", "memctl.commits", mode)
    old, new = memctl("decide", "Old").id, memctl("decide", "New").id
    memctl("commit")
    args = {
        "decide": ("decide", "Third", "--supersedes", old),
        "supersede": ("supersede", old, new),
        "delete": ("delete", old),
    }
    command = args[operation]
    before, count = tree(repo), commits(repo)
    done = tmp_path / "done"
    shutil.copytree(repo, done, symlinks=True)
    assert run_until(0, done, *command) == 0
    after = tree(done)
    last = steps_of(repo, tmp_path, *command)
    assert last > 15
    for step in range(1, last, stride):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(repo, victim, symlinks=True)
        assert run_until(step, victim, *command) == -9, f"step {step}"
        status = memctl("status", "--json", where=victim, code=None)
        assert not (victim / ".git" / "index.lock").exists(), f"step {step}"
        halfway = tree(victim)
        if halfway not in (before, after):
            assert status.data["pending"] or status.data["waiting"], f"step {step}"
        memctl("commit", where=victim)
        assert tree(victim) in (before, after), f"step {step}"
        assert git(victim, "status", "--porcelain") == "", f"step {step}"
        assert commits(victim) == count + (tree(victim) == after), f"step {step}"
        assert not memctl("status", "--json", where=victim).data["pending"]
        assert not list((victim / ".memory").rglob(".memctl-*"))
        shutil.rmtree(victim)


def test_rendering_after_a_killed_write_shows_its_record(repo: Path, memctl: Memctl) -> None:
    pending = repo / ".git" / "memctl" / ".memory" / "pending"
    for step in range(1, 100):
        assert run_until(step, repo, "learn", "Cut off") == -9
        if list(pending.glob("[0-9]*.writing.json")):
            break
    assert not list((repo / ".memory").glob("learnings/*/*.md"))
    memctl("render")
    assert "1 open record belongs to no section" in (repo / ".memory" / "docs" / "INDEX.md").read_text()
    memctl("check")


def test_a_write_killed_after_its_commit_is_never_committed_again(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    command = ("decide", "Killed")
    last = steps_of(repo, tmp_path, *command)
    was_waiting = False
    for step in range(last - 4, last):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(repo, victim, symlinks=True)
        assert run_until(step, victim, *command) == -9, f"step {step}"
        is_committed = "Killed" in git(victim, "log", "-1", "--format=%s")
        was_waiting |= is_committed and any((victim / ".git" / "memctl").glob("*/pending/*.json"))
        if is_committed:
            memctl("edit", "DEC", "--add", "tags=found", where=victim)
            assert git(victim, "log", "--format=%B").count("Memctl-Op: decide\n") == 1, f"step {step}"
            assert not memctl("status", "--json", where=victim).data["pending"], f"step {step}"
    assert was_waiting


def test_an_interrupted_write_does_not_overwrite_what_was_edited_since(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    old, new = memctl("decide", "Old").id, memctl("decide", "New").id
    path = memctl("show", new, "--json").data["records"][0]["path"]
    for step in range(1, 60):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(repo, victim, symlinks=True)
        run_until(step, victim, "supersede", old, new)
        waiting = memctl("status", "--json", where=victim).data["pending"]
        if waiting and waiting[0]["stage"] == "writing":
            mine = (victim / path).read_text() + "\nwritten by hand\n"
            (victim / path).write_text(mine)
            memctl("learn", "The next write", where=victim)
            assert (victim / path).read_text() == mine
            assert git(victim, "status", "--porcelain") == ""
            return
    pytest.fail("no step left a write half done")


def test_no_commit_leaves_the_change_pending_until_commit(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    made = memctl("decide", "Later", "--no-commit")
    assert commits(repo) == before
    memctl("issue", "Unrelated")
    assert commits(repo) == before + 1
    memctl("commit")
    assert commits(repo) == before + 2
    assert changed_in(repo) == [made.out.split()[1]]
    assert git(repo, "log", "-1", "--format=%s").startswith("docs(memory): decide")


def test_changes_of_one_file_that_wait_become_one_commit_with_all_trailers(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Later", "--no-commit")
    memctl("edit", made.id, "--add", "tags=x", "--no-commit", "--reason", "to find it")
    memctl("commit")
    body = git(repo, "log", "-1", "--format=%B")
    assert "Memctl-Op: decide\n" in body
    assert "Memctl-Op: edit\n" in body
    assert "Memctl-Reason: to find it" in body
    assert memctl("log", made.id, "--json").data["commits"][0]["ops"] == ["decide", "edit"]


def test_decision_reworded_by_hand_is_committed_only_with_the_option(repo: Path, memctl: Memctl) -> None:
    path = repo / memctl("decide", "Sign", "--rationale", "Keys are public.").out.split()[1]
    path.write_text(path.read_text().replace("Keys are public.", "Keys are not."))
    before = commits(repo)
    refused = memctl("commit", code=1).err
    assert "is accepted: its text can't be changed any more" in refused
    assert commits(repo) == before
    memctl("commit", "--allow-accepted")
    assert commits(repo) == before + 1
    path.write_text(path.read_text().replace("status: accepted", "status: deprecated"))
    memctl("commit")
    assert commits(repo) == before + 2


def test_edits_by_hand_are_committed_by_commit(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "By hand")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text() + "\nA note.\n")
    assert memctl("status", "--json").data["uncommitted"] == [made.out.split()[1]]
    assert made.id in memctl("commit", "--dry-run").out
    before = commits(repo)
    memctl("commit")
    assert commits(repo) == before + 1
    assert git(repo, "status", "--porcelain") == ""
    assert memctl("commit").err == "nothing is pending\n"


def test_losing_the_notes_of_pending_changes_loses_no_record(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "Later", "--no-commit")
    shutil.rmtree(repo / ".git" / "memctl")
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""
    assert memctl("list", "--json").data["total"] == 1


def test_a_dry_run_writes_nothing_at_all(repo: Path, memctl: Memctl) -> None:
    def everything() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for f in repo.rglob("*") if f.is_file() and "memctl" not in f.parts}

    made = memctl("decide", "Real")
    before = everything()
    for command in (
        ["decide", "Not real"],
        ["edit", made.id, "--add", "tags=x"],
        ["archive", made.id],
        ["delete", made.id],
        ["init", "--here"],
    ):
        where = repo / "sub" if command[0] == "init" else repo
        where.mkdir(exist_ok=True)
        assert "would" in memctl(*command, "--dry-run", where=where).out
        assert everything() == before
    assert memctl("decide", "Real too").id == "DEC-2025-11-04-002"


def test_an_edit_without_a_change_makes_no_commit(repo: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Same", "--tag", "x")
    before = git(repo, "rev-parse", "HEAD")
    for args in (("--set", "severity=medium"), ("--add", "tags=x"), ("--set", "title=Same")):
        assert memctl("edit", made.id, *args).err == "nothing to change\n"
    assert git(repo, "rev-parse", "HEAD") == before


def test_a_refused_write_uses_up_no_id(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "x" * 101, code=1)
    memctl("decide", "Key", "--rationale", "AKIA" + "IOSFODNN7EXAMPLF", code=1)
    assert memctl("decide", "Fine").id.endswith("-001")
