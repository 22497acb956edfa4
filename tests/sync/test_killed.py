"""A sync that is killed at any step: the next command finishes it, and nothing is lost."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import count, cycle
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git, strides
from tests.sync.test_sync import errors, refused, the, write
from tests.write.test_transaction import run_until


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def parted(memctl: Memctl, one: Path, two: Path, tmp_path: Path, once: Once) -> Path:
    """A folder with a remote and two clones, of which one has pushed what the other has yet to merge."""

    def make() -> None:
        base = the(memctl, one, "Shared")
        memctl("edit", base, "--add", "tags=one", where=one)
        memctl("edit", base, "--add", "tags=two", where=two)
        memctl("decide", "By one", where=one)
        memctl("decide", "By two", where=two)
        write(one, "app.py", "by one\n")
        write(two, "two.py", "by two\n")
        memctl("own", "acquire", "2.1", where=two)
        memctl("section", "add", "Search", where=one)
        memctl("section", "add", "Catalogue", where=two)
        memctl("own", "acquire", "2.2", where=two)
        memctl("sync", "--with-code", where=one)

    once(make)
    folder = tmp_path / "parted"
    folder.mkdir()
    for name in ("bare.git", "one", "two"):
        shutil.copytree(tmp_path / name, folder / name, symlinks=True)
    return folder


def copy(parted: Path, to: Path) -> tuple[Path, Path]:
    """Its two clones, copied with their remote."""
    shutil.copytree(parted, to, symlinks=True)
    for name in ("one", "two"):
        git(to / name, "remote", "set-url", "origin", str(to / "bare.git"))
    return to / "one", to / "two"


def assert_whole(memctl: Memctl, one: Path, two: Path, before: set[str]) -> None:
    """Both clones have everything, and nothing of the interruption is left."""
    assert git(two, "status", "--porcelain") == ""
    assert not (two / ".git" / "memctl" / "move.json").exists()
    assert not list((two / ".memory").rglob(".memctl-*"))
    assert errors(memctl, two) == []
    memctl("sync", "--with-code", where=one)
    assert git(one, "rev-parse", "HEAD", "refs/memctl/coordination") == git(
        two, "rev-parse", "HEAD", "refs/memctl/coordination"
    )
    assert before <= set(git(two, "rev-list", "HEAD").split())
    titles = {record["title"] for record in memctl("list", "--json", where=two).data["records"]}
    assert {"By one", "By two", "Shared"} <= titles
    state = memctl("coordination", "show", "--json", where=one).data
    assert set(state["section_ownership_map"]) == {"§2.1", "§2.3"}


def commits_of(*clones: Path) -> set[str]:
    return {commit for clone in clones for commit in git(clone, "rev-list", "refs/heads/main").split()}


@strides(43)
def test_killed_at_any_step_the_next_command_goes_on_from_there(
    memctl: Memctl, parted: Path, tmp_path: Path, stride: int, mode: str
) -> None:
    for name in ("one", "two"):
        git(parted / name, "config", "memctl.commits", mode)
    memctl("learn", "Not committed", where=parted / "two")
    if mode == "later":  # a sync sends commits
        memctl("commit", where=parted / "two")
    before = commits_of(parted / "one", parted / "two")
    for step, then in zip(count(stride, stride), cycle(["sync", "learn"]), strict=False):
        one, two = copy(parted, tmp_path / f"victim{step}")
        if run_until(step, two, "sync", "--with-code") == 0:
            break
        if then == "learn":
            memctl("learn", "Written right after", where=two)
            if mode == "later":
                memctl("commit", where=two)
            assert git(two, "status", "--porcelain") == "", f"step {step}"
        memctl("sync", "--with-code", where=two)
        assert the(memctl, two, "Not committed")
        assert_whole(memctl, one, two, before)
        assert then == "sync" or the(memctl, two, "Written right after")
        shutil.rmtree(two.parent)
    assert step > 50


@pytest.fixture
def torn(memctl: Memctl, one: Path, two: Path) -> Path:
    """A clone in which Git itself was killed while it wrote the files of a merge."""
    names = [f"{letter}.txt" for letter in "abcdef"]
    for name in names:
        write(one, name, f"{name} of one\n" * 200)
    git(one, "rm", "-q", "app.py")
    git(one, "commit", "-qm", "no app")
    memctl("decide", "By one", where=one)
    memctl("sync", "--with-code", where=one)
    memctl("learn", "By two", where=two)
    (two / ".git" / "info").mkdir(exist_ok=True)
    (two / ".git" / "info" / "attributes").write_text("d.txt filter=deadly\n")
    git(two, "config", "filter.deadly.smudge", "kill -9 $PPID; cat")
    result = memctl("sync", "--with-code", where=two, code=1)
    assert "Git can't move the worktree" in result.err
    git(two, "config", "--unset", "filter.deadly.smudge")
    (two / ".git" / "info" / "attributes").unlink()
    assert (two / "a.txt").exists()
    assert not (two / "f.txt").exists()
    return two


def test_git_killed_while_writing_files_is_detected(memctl: Memctl, torn: Path) -> None:
    lock = torn / ".git" / "index.lock"
    if lock.exists():
        assert str(lock) in memctl("sync", "--with-code", where=torn, code=1).err
        lock.unlink()
    assert memctl("status", "--json", where=torn).data["interrupted"]
    (torn / "b.txt").write_text("b.txt of one\n" * 7)  # cut short, as by a crash of the machine
    memctl("sync", "--with-code", where=torn)
    assert git(torn, "status", "--porcelain") == ""
    assert (torn / "b.txt").read_text() == "b.txt of one\n" * 200
    assert not (torn / "app.py").exists()
    assert the(memctl, torn, "By one")
    assert the(memctl, torn, "By two")


def test_file_edited_after_a_crash_is_kept_and_named(memctl: Memctl, torn: Path) -> None:
    (torn / ".git" / "index.lock").unlink(missing_ok=True)
    (torn / "c.txt").write_text("mine\n")
    result = memctl("learn", "Later", where=torn, code=1)
    assert "  c.txt" in result.err
    assert (torn / "c.txt").read_text() == "mine\n"
    (torn / "c.txt").rename(torn / "mine.txt")
    memctl("learn", "Later", where=torn)
    assert git(torn, "status", "--porcelain") == "?? mine.txt\n"
    assert (torn / "c.txt").read_text() == "c.txt of one\n" * 200


def killed_after_the_push(parted: Path, to: Path) -> Path:
    """A clone whose sync died when the remote had taken what it pushed."""
    _, two = copy(parted, to)
    hook = to / "bare.git" / "hooks" / "post-update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $(cat ../two/.git/memctl/lock)\n")
    hook.chmod(0o755)
    command = [sys.executable, "-m", "memctl", "-C", str(two), "sync", "--with-code"]
    assert subprocess.run(command, capture_output=True).returncode == -9
    hook.unlink()
    return two


def test_sync_killed_after_its_push_is_finished_without_the_remote(
    memctl: Memctl, parted: Path, tmp_path: Path
) -> None:
    """What referred to an id that was given another would mean another record else."""
    two = killed_after_the_push(parted, tmp_path / "victim")
    shutil.move(tmp_path / "victim" / "bare.git", tmp_path / "gone.git")
    assert memctl("status", "--json", where=two).data["interrupted"]
    identifier = the(memctl, two, "By two")
    told = memctl("learn", "Later", where=two).err.splitlines()
    assert told[0] == "the sync with origin/main was interrupted earlier; memctl has finished it now:"
    assert told[1].startswith("  fetched ")
    assert f"  {identifier} is now {the(memctl, two, 'By two')}: on origin/main, {identifier} is another record" in told
    assert the(memctl, two, "By one") == identifier
    assert the(memctl, two, "By two") != identifier
    assert errors(memctl, two) == []
    assert refused(memctl, two).err


def test_next_sync_reports_the_result_of_a_killed_one(memctl: Memctl, parted: Path, tmp_path: Path) -> None:
    memctl("edit", the(memctl, parted / "two", "Shared"), "--set", "importance=3", where=parted / "two")
    one, two = parted / "one", parted / "two"
    memctl("edit", the(memctl, one, "Shared"), "--set", "importance=8", where=one)
    for clone in (one, two):
        git(clone, "remote", "set-url", "origin", str(parted / "bare.git"))
    memctl("sync", "--with-code", where=one)
    two = killed_after_the_push(parted, tmp_path / "victim")
    asked = memctl("sync", "-n", where=two)
    assert "the sync with origin/main was interrupted: `memctl sync` finishes it first" in asked.err
    found = memctl("sync", "--json", where=two)
    assert found.data["finished"] == found.err.splitlines()
    assert f"  {the(memctl, two, 'Shared')} importance: '3' was replaced by '8'" in found.data["finished"]
    assert found.data["finished"][-1].startswith("the sync with origin/main was interrupted after it had pushed ")
    assert (found.data["pushed"], found.data["fetched"]) == (0, 0)
    assert memctl("sync", "--json", where=two).data["finished"] == []
