"""Accidents that happened once: each of these lost something, or could have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.store import cache_update, load
from memctl.store.cache import Cache
from memctl.store.memory import open_memory
from tests.conftest import Memctl, changed_in, commits, git, process, strides
from tests.write.test_transaction import run_until, steps_of


def hook(repo: Path, name: str, script: str) -> None:
    file = repo / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@strides(14)
def test_killed_delete_of_the_last_record_does_not_block_later_writes(
    repo: Path, memctl: Memctl, tmp_path: Path, stride: int
) -> None:
    made = memctl("learn", "Only one").id
    for step in range(1, steps_of(repo, tmp_path, "delete", made), stride):
        victim = tmp_path / f"victim{step}"
        subprocess.run(["cp", "-r", str(repo), str(victim)], check=True)
        run_until(step, victim, "delete", made)
        (victim / ".git" / "index.lock").unlink(missing_ok=True)
        memctl("issue", "The next write", where=victim)
        memctl("commit", where=victim)
        assert git(victim, "status", "--porcelain") == "", step


def test_interrupted_delete_keeps_later_changes(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    made = memctl("learn", "Precious")
    path = made.out.split()[1]
    for step in range(1, steps_of(repo, tmp_path, "delete", made.id)):
        victim = tmp_path / f"victim{step}"
        subprocess.run(["cp", "-r", str(repo), str(victim)], check=True)
        run_until(step, victim, "delete", made.id)
        waiting = memctl("status", "--json", where=victim).data["pending"]
        if waiting and (victim / path).exists():
            with open(victim / path, "a") as file:
                file.write("\nmore work\n")
            memctl("issue", "The next write", where=victim)
            memctl("commit", where=victim, code=None)
            assert "more work" in (victim / path).read_text()
            return
    pytest.fail("no step left the file there and the change noted")


def test_two_memories_of_one_worktree_keep_their_pending_changes_apart(repo: Path, memctl: Memctl) -> None:
    for name in ("p1", "p2"):
        (repo / name).mkdir()
        memctl("init", "--here", where=repo / name)
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    memctl("learn", "Secret of p1", where=repo / "p1")
    (repo / ".git" / "MERGE_HEAD").unlink()
    memctl("learn", "Of p2", where=repo / "p2")
    assert not list((repo / "p2").rglob("*secret*"))
    memctl("commit", where=repo / "p1")
    assert "learn" in git(repo, "log", "-1", "--format=%s", "--", "p1")
    assert git(repo, "status", "--porcelain") == ""


def test_init_works_from_a_subfolder_with_a_relative_path(repo: Path) -> None:
    (repo / "pkg").mkdir()
    subprocess.run(
        [sys.executable, "-m", "memctl", "init", "--here"], cwd=repo / "pkg", check=True, capture_output=True
    )
    assert "project: pkg" in (repo / "pkg" / ".memory" / "config.yaml").read_text()
    (repo / "other").mkdir()
    subprocess.run(
        [sys.executable, "-m", "memctl", "-C", "other", "init", "--here"], cwd=repo, check=True, capture_output=True
    )
    assert (repo / "other" / ".memory" / "README.md").exists()


def test_record_ignored_by_git_stays_pending_and_commit_names_it(repo: Path, memctl: Memctl) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text(".memory/learnings/\n")
    memctl("learn", "Hidden")
    assert "Git ignores" in memctl("commit", code=1).err
    assert [p["op"] for p in memctl("status", "--json").data["pending"]] == ["learn"]


def test_text_that_is_in_no_commit_is_not_deleted_or_replaced(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Mine")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text() + "\nby hand\n")
    assert "uncommitted changes" in memctl("delete", made.id, code=1).err
    assert "uncommitted changes" in memctl("restore", made.id, "--at", "HEAD", code=1).err
    assert "by hand" in file.read_text()
    memctl("restore", made.id, "--at", "HEAD", "--discard")
    assert "by hand" not in file.read_text()
    held = memctl("learn", "Never committed", "--no-commit").id
    assert "uncommitted changes" in memctl("delete", held, code=1).err


def test_a_refused_write_leaves_nothing_to_finish(repo: Path, memctl: Memctl) -> None:
    outside = repo.parent / "elsewhere"
    outside.mkdir()
    (repo / ".memory" / "issues").mkdir()
    (repo / ".memory" / "issues" / "2025-11").symlink_to(outside)
    assert "symbolic link" in memctl("issue", "Refused", code=1).err
    memctl("learn", "Other")
    (repo / ".memory" / "issues" / "2025-11").unlink()
    memctl("learn", "Third")
    assert {r["title"] for r in memctl("list", "--json").data["records"]} == {"Other", "Third"}
    assert memctl("status", "--json").data["pending"] == []


def test_a_planted_link_under_a_temporary_name_is_not_followed(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    victim = repo.parent / "victim"
    victim.write_text("untouched")
    file = repo / made.out.split()[1]
    (file.parent / f".memctl-{file.name}").symlink_to(victim)
    memctl("edit", made.id, "--set", "importance=9")
    assert victim.read_text() == "untouched"
    assert not file.is_symlink()


def test_file_name_that_is_not_utf8_is_only_a_fault(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    file = repo / made.out.split()[1]
    odd = os.path.join(os.fsencode(file.parent), b"X\xe9.md")
    with open(odd, "wb") as stream:
        stream.write(file.read_bytes())
    listed = memctl("list", code=1)
    assert made.id in listed.out
    assert "not UTF-8" in listed.err
    git(repo, "add", "-A")
    git(repo, "commit", "-qnm", "odd")
    assert "not UTF-8" in memctl("list", code=1).err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    (repo / made.out.split()[1]).chmod(0)
    assert "Permission denied" in memctl("list", code=1).err


def test_odd_branch_and_author_names_are_handled(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    git(repo, "checkout", "-q", "-b", "a\u3000b")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "A\x1fB")
    made = memctl("learn", "One").id
    git(repo, "config", "log.showSignature", "true")
    assert [c["ops"] for c in memctl("log", made, "--json").data["commits"]] == [["learn"]]
    memctl("delete", made)
    memctl("restore", made)


def test_an_edit_back_to_what_head_has_makes_no_empty_commit(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One", "-i", "6")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text().replace("importance: 6", "importance: 8"))
    before = commits(repo)
    memctl("edit", made.id, "--set", "importance=6")
    assert commits(repo) == before
    assert git(repo, "status", "--porcelain") == ""


def test_executable_record_stays_executable(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    (repo / made.out.split()[1]).chmod(0o755)
    memctl("edit", made.id, "--add", "tags=x")
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "ls-tree", "HEAD", "--", made.out.split()[1]).startswith("100755")


def test_hook_of_our_commit_may_write_a_record(repo: Path, memctl: Memctl) -> None:
    hook(repo, "post-commit", f"{sys.executable} -m memctl learn 'From a hook'")
    running = process(repo, "issue", "Outer")
    assert running.wait(20) == 0
    (repo / ".git" / "hooks" / "post-commit").unlink()
    memctl("commit")
    assert {r["title"] for r in memctl("list", "--json").data["records"]} == {"Outer", "From a hook"}
    assert git(repo, "status", "--porcelain") == ""


def test_process_left_running_by_a_hook_commits_after_the_hook(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    monkeypatch.setenv("MEMCTL_COMMITTING", str(gone.pid))
    before = commits(repo)
    memctl("learn", "From the background")
    assert commits(repo) == before + 1


def test_reasons_are_kept_and_checked_for_credentials(repo: Path, memctl: Memctl) -> None:
    one, two = memctl("issue", "One").id, memctl("issue", "Two").id
    memctl("link", one, two, "--reason", "same cause")
    assert memctl("log", one, "--json").data["commits"][0]["reason"] == "same cause"
    token = "ghp_" + "a1B2" * 9
    assert "reason: line 1 looks like a credential" in memctl("archive", one, "--reason", token, code=1).err


def test_commit_leaves_out_odd_files_and_commits_the_rest(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    readme = repo / ".memory" / "README.md"
    readme.write_text(readme.read_text() + "\nMore.\n")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text() + "\n" + "AKIA" + "IOSFODNN7EXAMPLF\n")
    (repo / ".memory" / "secret.env").write_text("x=1\n")
    left = memctl("commit", code=1)
    assert changed_in(repo) == [".memory/README.md"]
    assert "credential" in left.err
    assert "secret.env" not in git(repo, "ls-files")


def test_pending_record_removed_by_git_clean_can_be_written_again(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Lost", "--no-commit")
    git(repo, "clean", "-fdq")
    assert "undone outside memctl" in memctl("commit", code=1).err
    assert [one["undone"] for one in memctl("status", "--json").data["pending"]] == [True]
    memctl("commit", "--again")
    assert [record["title"] for record in memctl("list", "--json").data["records"]] == ["Lost"]
    assert git(repo, "status", "--porcelain") == ""


def test_pending_record_with_a_merge_conflict_is_committed_once_it_is_resolved(repo: Path, memctl: Memctl) -> None:
    name = memctl("learn", "One", "--lesson", "Take it", "--importance", "3").id
    memctl("edit", name, "--importance", "4", "--no-commit")
    git(repo, "stash", "-q")
    memctl("edit", name, "--importance", "7")
    git(repo, "stash", "pop", check=False)
    file = next((repo / ".memory/learnings").rglob("*.md"))
    conflicting, before = file.read_text(), commits(repo)
    result = memctl("commit", code=1)
    assert "this line begins an unresolved merge conflict" in result.err
    assert (commits(repo), file.read_text()) == (before, conflicting)
    file.write_text(re.sub(r"<<<<<<<.*\n(?:.*\n)*?=======\n(.*\n)>>>>>>>.*\n", r"\1", conflicting))
    memctl("commit")
    assert memctl("list", "--json").data["records"][0]["importance"] == 4
    assert git(repo, "status", "--porcelain") == ""


def test_cache_updated_by_another_process_is_not_overwritten(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = memctl("learn", "Title of main")
    file = repo / made.out.split()[1]
    git(repo, "checkout", "-q", "-b", "other")
    file.write_text(file.read_text().replace("Title of main", "Title of other"))
    git(repo, "commit", "-qnam", "other")
    git(repo, "checkout", "-q", "main")
    real, done = cache_update.update, []

    def meanwhile(cache: Cache, *args: object) -> bool:
        if not done:
            done.append(1)
            git(repo, "checkout", "-q", "other")
            os.utime(file, (1, 1))
            process(repo, "list").wait()
            git(repo, "checkout", "-q", "main")
            os.utime(file, (2, 2))
        return real(cache, *args)  # type: ignore[arg-type]

    (repo / ".memory" / "learnings" / "2025-11" / "LRN-2025-11-04-009-x.md").write_text("dirty\n")
    monkeypatch.setattr(cache_update, "update", meanwhile)
    _ = load.disk(open_memory(repo, os.environ)).records
    monkeypatch.setattr(cache_update, "update", real)
    assert [r.title for r in load.disk(open_memory(repo, os.environ)).records] == ["Title of main"]


@pytest.mark.slow
def test_hostile_sizes_are_handled_quickly(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "One")
    file = repo / made.out.split()[1]
    file.write_text(file.read_text() + "\n" + "<<<<<<<\n=======\n" * 8_000)
    memctl("list")
    file.write_text(file.read_text() + "\n" + "key" + " " * 50_000 + "\n" + "- a\n" * 20_000)
    memctl("show", made.id, "--json")


def test_wrong_arguments_and_full_disks_are_not_reported_as_bugs(repo: Path, memctl: Memctl) -> None:
    assert "not UTF-8" in memctl("decide", "x", "--rationale", "bad\udcff", code=2).err
    command = f"{sys.executable} -m memctl -C {repo} list > /dev/full"
    memctl("learn", "One")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, "bug" in done.stderr) == (1, False)


def test_text_refused_after_the_editor_is_kept(repo: Path, memctl: Memctl) -> None:
    from tests.cli.test_list_records import run_on_terminal

    made = memctl("learn", "One", "--importance", "3").id
    editor = repo.parent / "editor.sh"
    editor.write_text(
        "#!/bin/sh\nsed -i 's/^importance: .*/importance: eleven/' \"$1\"; echo 'an hour of typing' >> \"$1\"\n"
    )
    editor.chmod(0o755)
    said = run_on_terminal(repo, "edit", made, EDITOR=str(editor), VISUAL=str(editor))
    assert "your text is in" in said
    assert "an hour of typing" in (repo / ".git" / "memctl" / ".memory" / "edited.md").read_text()
