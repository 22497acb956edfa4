"""Locks that a killed Git left, and commits that somebody else was quicker with: named, waited for, tried again."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from memctl.git import locks
from memctl.git.commits import Importer, update_index
from memctl.git.index_lock import IndexLock
from memctl.git.repository import open_repository
from tests.conftest import Memctl, commits, git
from tests.write.test_mishaps import hook

MOVING = """
count=$(cat {repo}/.git/count 2>/dev/null || echo 0)
[ "$count" -ge {times} ] && exit 0
echo $((count + 1)) >{repo}/.git/count
unset GIT_INDEX_FILE
git update-ref refs/heads/main "$(git commit-tree -p HEAD -m 'quicker' 'HEAD^{{tree}}')"
"""


@pytest.fixture(params=["fast-import", "commit --only"])
def lane(request: pytest.FixtureRequest, repo: Path) -> str:
    if request.param == "commit --only":
        hook(repo, "post-commit", "exit 0")
    return str(request.param)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memctl.git.commits._LOCK_PATIENCE", 0.2)
    monkeypatch.setattr("memctl.git.index_lock.PATIENCE", 0.2)


@pytest.mark.usefixtures("lane")
@pytest.mark.parametrize("name", ["refs/heads/main.lock", "HEAD.lock", "index.lock"])
def test_leftover_lock_is_reported_with_its_age_and_the_command_that_removes_it(
    repo: Path, memctl: Memctl, name: str
) -> None:
    lock = repo / ".git" / name
    lock.touch()
    os.utime(lock, (time.time() - 90, time.time() - 90))
    before = commits(repo)
    said = memctl("learn", "Locked out").err
    assert re.search(rf"for 9\d s \({re.escape(str(lock))}\)", said)
    assert f"rm '{lock}'" in said
    status = memctl("status")
    assert f"rm '{lock}'" in status.out
    assert str(lock) in memctl("status", "--json").data["pending"][0]["why"]
    assert "Locked out" in memctl("commit", code=1).out
    assert commits(repo) == before
    lock.unlink()
    memctl("commit")
    assert commits(repo) == before + 1
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["packed-refs", "config"])
def test_status_reports_a_lock_that_prevents_no_commit(repo: Path, memctl: Memctl, name: str) -> None:
    lock = repo / ".git" / f"{name}.lock"
    lock.touch()
    assert f"rm '{lock}'" in memctl("status").out
    assert memctl("learn", "Not locked out").err == ""


def test_locked_config_file_is_reported_with_its_lock(repo: Path, memctl: Memctl) -> None:
    lock = repo / ".git" / "config.lock"
    lock.touch()
    assert f"rm '{lock}'" in memctl("install", "git", code=1).err


def test_lock_in_a_linked_worktree_is_reported(repo: Path, memctl: Memctl) -> None:
    other = repo.parent / "other"
    git(repo, "worktree", "add", "-q", "-b", "side", str(other))
    for lock in (repo / ".git/worktrees/other/index.lock", repo / ".git/refs/heads/side.lock"):
        lock.touch()
        assert f"rm '{lock}'" in memctl("learn", "Locked out", where=other).err
        assert f"rm '{lock}'" in memctl("status", where=other).out
        lock.unlink()
    assert memctl("commit", where=other).err == ""


@pytest.mark.usefixtures("lane")
def test_ref_lock_of_another_process_is_waited_for(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memctl.git.commits._LOCK_PATIENCE", 20)
    lock = repo / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    before = commits(repo)
    release = threading.Timer(0.5, lock.unlink)
    release.start()
    assert memctl("learn", "A moment").err == ""
    release.join()
    assert commits(repo) == before + 1
    assert git(repo, "status", "--porcelain") == ""


def test_lock_file_in_a_hooks_message_is_not_taken_for_a_git_lock(repo: Path, memctl: Memctl) -> None:
    hook(repo, "pre-commit", f"echo \"'{repo}/poetry.lock' is out of date\" >&2; exit 1")
    said = memctl("learn", "Refused").err
    assert "poetry.lock' is out of date" in said
    assert "rm '" not in said


@pytest.mark.parametrize(
    ("stderr", "found"),
    [
        ("fatal: Unable to create '/a b/.git/index.lock': File exists.\n\nAnother", "/a b/.git/index.lock"),
        ("error: cannot lock ref 'HEAD': Unable to create '/r/.git/HEAD.lock': File exists.", "/r/.git/HEAD.lock"),
        ("Fatal: Konnte »/r/.git/index.lock« nicht erstellen", "/r/.git/index.lock"),
        ("error: could not lock config file .git/config: File exists", "/top/.git/config.lock"),
        ("fatal: not a git repository", None),
        ("fatal: " + "x/" * 200_000, None),
    ],
)
def test_lock_file_is_parsed_from_the_git_message(stderr: str, found: str | None) -> None:
    assert locks.parse(stderr, Path("/top")) == (Path(found) if found else None)


@pytest.mark.parametrize(("times", "is_made"), [(1, True), (3, True), (4, False)])
def test_commit_that_lost_a_race_is_tried_again_three_times(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, times: int, is_made: bool
) -> None:
    before, left = commits(repo), [times]
    finish = Importer.finish

    def slower(self: Importer) -> str:
        if left[0]:
            left[0] -= 1
            quicker = git(repo, "commit-tree", "-p", "HEAD", "-m", "quicker", "HEAD^{tree}").strip()
            git(repo, "update-ref", "refs/heads/main", quicker)
        return finish(self)

    monkeypatch.setattr(Importer, "finish", slower)
    said = memctl("learn", "Slower").err
    assert ("another process committed at the same moment" in said) != is_made
    assert "Not updating" not in said
    assert commits(repo) == before + times + is_made
    memctl("commit")
    assert commits(repo) == before + times + 1
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(("times", "is_made"), [(3, True), (4, False)])
def test_commit_with_user_hooks_that_lost_a_race_is_tried_again(
    repo: Path, memctl: Memctl, times: int, is_made: bool
) -> None:
    hook(repo, "pre-commit", MOVING.format(repo=repo, times=times))
    before = commits(repo)
    said = memctl("learn", "Slower").err
    assert ("another process committed at the same moment" in said) != is_made
    assert "cannot lock ref" not in said
    assert commits(repo) == before + times + is_made
    memctl("commit")
    assert commits(repo) == before + times + 1
    assert git(repo, "status", "--porcelain") == ""


def test_change_in_a_quicker_commit_is_not_committed_twice(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, done = IndexLock.take, []

    def slower(self: IndexLock, paths: Iterable[str], process: int) -> None:
        if not done:
            done.append(1)
            git(repo, "add", "-A")
            git(repo, "commit", "-qm", "quicker, with all")
        take(self, paths, process)

    monkeypatch.setattr(IndexLock, "take", slower)
    before = commits(repo)
    memctl("learn", "Slower")
    assert commits(repo) == before + 1
    assert memctl("status", "--json").data["pending"] == []
    assert git(repo, "status", "--porcelain") == ""


def test_a_lock_is_waited_for_in_a_folder_with_an_apostrophe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "Bob's work"
    top.mkdir()
    git(top, "init", "--quiet")
    (lock := top / ".git" / "index.lock").touch()
    monkeypatch.setattr("memctl.git.commits._LOCK_PATIENCE", 20)
    (top / "a").touch()
    threading.Timer(0.3, lock.unlink).start()
    update_index(open_repository(top), ["a"])
    assert git(top, "ls-files").split() == ["a"]
