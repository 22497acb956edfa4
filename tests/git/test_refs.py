"""Files on a ref: what is written is read back, and of several who move the ref one is first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.git import refs, tree_merge
from memctl.git.git import GitFailed
from memctl.git.push import PushRefused
from memctl.git.repository import Repository, open_repository
from tests.conftest import commits, git

REF = "refs/memctl/coordination"
_MOVER = """
import sys
from pathlib import Path
from memctl.git import refs, tree_merge
from memctl.git.repository import open_repository
repository = open_repository(Path(sys.argv[1]))
done = 0
while done < int(sys.argv[3]):
    seen = repository.tip("refs/memctl/coordination")
    kept = refs.read(repository, seen, ["a.json"])["a.json"].data if seen else b""
    (blob,) = tree_merge.store(repository, [kept + sys.argv[2].encode()])
    new = refs.write_commit(repository, {"a.json": blob}, [seen] if seen else [], sys.argv[2])
    done += refs.swap(repository, "refs/memctl/coordination", new, seen)
"""


def made(repository: Repository, text: str, *parents: str) -> str:
    (blob,) = tree_merge.store(repository, [text.encode()])
    return refs.write_commit(repository, {"a.json": blob}, parents, text)


@pytest.mark.parametrize("packed", [False, True])
def test_written_ref_is_read_back(repo: Path, packed: bool) -> None:
    repository = open_repository(repo)
    before = commits(repo)
    assert repository.tip(REF) == ""
    new = made(repository, "one\n\nline")
    assert refs.swap(repository, REF, new, "")
    if packed:
        git(repo, "pack-refs", "--all")
    assert repository.tip(REF) == new == git(repo, "rev-parse", REF).strip()
    assert refs.read(repository, new, ["none", "a.json"])["a.json"].data == b"one\n\nline"
    assert set(refs.read(repository, new, ["none", "a.json"])) == {"a.json"}
    assert refs.message(repository, new).startswith("one")
    assert commits(repo) == before
    assert git(repo, "status", "--porcelain") == ""


def test_swap_moves_a_ref_only_from_the_expected_commit(repo: Path) -> None:
    repository = open_repository(repo)
    one, other = made(repository, "one"), made(repository, "other")
    assert refs.swap(repository, REF, one, "")
    assert not refs.swap(repository, REF, other, "")
    second = made(repository, "second", one)
    assert refs.swap(repository, REF, second, one)
    assert not refs.swap(repository, REF, made(repository, "third", one), one)
    assert repository.tip(REF) == second


def test_base_is_the_common_commit_of_two_histories(repo: Path) -> None:
    repository = open_repository(repo)
    one = made(repository, "one")
    left, right = made(repository, "left", one), made(repository, "right", one)
    assert refs.base(repository, left, right) == one
    assert refs.base(repository, left, made(repository, "elsewhere")) == ""


def test_concurrent_ref_updates_do_not_overwrite_each_other(repo: Path) -> None:
    movers = [
        subprocess.Popen([sys.executable, "-c", _MOVER, str(repo), letter, "6"], stderr=subprocess.PIPE)
        for letter in "abcd"
    ]
    assert [mover.communicate()[1] for mover in movers] == [b""] * 4
    repository = open_repository(repo)
    text = refs.read(repository, repository.tip(REF), ["a.json"])["a.json"].data
    assert sorted(text) == sorted(b"abcd" * 6)
    assert int(git(repo, "rev-list", "--count", REF)) == 24


def test_push_moves_a_remote_ref_only_from_the_expected_commit(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    repository = open_repository(repo)
    tracking = "refs/memctl/remotes/origin/coordination"
    assert refs.fetch(repository, "origin", REF, tracking) == ""
    one = made(repository, "one")
    assert refs.push(repository, "origin", REF, one, "")
    assert not refs.push(repository, "origin", REF, made(repository, "other"), "")
    assert refs.fetch(repository, "origin", REF, tracking) == one == repository.tip(tracking)
    assert not refs.push(repository, "origin", REF, made(repository, "third"), made(repository, "never"))
    assert refs.push(repository, "origin", REF, made(repository, "second", one), one)


def test_missing_or_refusing_remote_is_reported(repo: Path, tmp_path: Path) -> None:
    repository = open_repository(repo)
    with pytest.raises(MemctlError, match="there is no remote '--upload-pack=x'"):
        refs.fetch(repository, "--upload-pack=x", REF, REF)
    git(repo, "remote", "add", "gone", str(tmp_path / "gone.git"))
    repository = open_repository(repo)  # which remotes there are is read once
    with pytest.raises(MemctlError, match="from gone failed:\n"):
        refs.fetch(repository, "gone", REF, REF)
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    (bare / "hooks").mkdir(exist_ok=True)
    hook = bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no such refs here, fetch first the stale info >&2\nexit 1\n")
    hook.chmod(0o755)
    git(repo, "remote", "add", "strict", str(bare))
    with pytest.raises(PushRefused, match="no such refs here"):
        refs.push(repository, "strict", REF, made(repository, "one"), "")
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    with pytest.raises(GitFailed):
        refs.push(repository, "strict", REF, made(repository, "one"), "")


def test_commit_without_a_git_name_is_refused_with_a_hint(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME")
        monkeypatch.delenv(f"GIT_{role}_EMAIL")
    git(repo, "config", "user.useConfigOnly", "true")
    with pytest.raises(MemctlError, match="does not know who you are"):
        made(open_repository(repo), "one")


@pytest.mark.parametrize("said", [b"", b"garbage", b"\xff\xfe"])
def test_broken_ref_is_not_taken_for_a_missing_one(repo: Path, said: bytes) -> None:
    repository = open_repository(repo)
    one = made(repository, "one")
    assert refs.swap(repository, REF, one, "")
    (repo / ".git" / REF).write_bytes(said)
    with pytest.raises(MemctlError, match="is damaged") as raised:
        repository.tip(REF)
    (repo / ".git" / REF).unlink()
    command = str(raised.value.hint).split("`")[1]
    git(repo, *command.split()[1:])
    assert repository.tip(REF) == one


def test_only_a_ref_lock_older_than_a_minute_is_removed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = open_repository(repo)
    one, lock = made(repository, "one"), repo / ".git" / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    monkeypatch.setattr(refs, "_PATIENCE", 0.1)
    with pytest.raises(MemctlError, match="has locked"):
        refs.swap(repository, REF, one, "")
    assert lock.exists()
    os.utime(lock, (0, 0))
    assert refs.swap(repository, REF, one, "")
    assert repository.tip(REF) == one
    assert not lock.exists()


def test_fetch_removes_the_lock_of_a_killed_fetch(repo: Path, tmp_path: Path) -> None:
    repository, tracking = open_repository(repo), "refs/memctl/remotes/origin/coordination"
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "bare.git"))
    one = made(repository, "one")
    assert refs.push(repository, "origin", REF, one, "")
    lock = repo / ".git" / f"{tracking}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (0, 0))
    assert refs.fetch(repository, "origin", REF, tracking) == one
