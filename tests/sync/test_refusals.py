"""What a sync can't do: it says so, says what helps, and leaves everything as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memctl.git import checkout
from tests.conftest import Memctl, Once, git
from tests.sync.test_sync import errors, refused, the, write


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def parted(memctl: Memctl, one: Path, two: Path, once: Once) -> Path:
    """A clone that has something to push and something to take in."""

    def make() -> None:
        memctl("decide", "By one", where=one)
        memctl("sync", where=one)
        memctl("learn", "By two", where=two)

    once(make)
    return two


def hook(folder: Path, name: str, script: str) -> None:
    file = folder / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_detached_head_is_refused(memctl: Memctl, parted: Path) -> None:
    git(parted, "switch", "-q", "--detach")
    assert "HEAD is detached" in refused(memctl, parted).err


def test_branch_without_a_commit_is_refused(memctl: Memctl, parted: Path) -> None:
    git(parted, "switch", "-q", "--orphan", "new")
    git(parted, "checkout", "-q", "main", "--", ".memory")
    assert "the branch new has no commit yet" in refused(memctl, parted).err


@pytest.mark.parametrize(("file", "what"), [("MERGE_HEAD", "a merge"), ("rebase-merge", "a rebase")])
def test_sync_during_another_git_operation_is_refused(memctl: Memctl, parted: Path, file: str, what: str) -> None:
    (parted / ".git" / file).touch()
    assert f"`memctl sync` can't run now: {what} is under way" in refused(memctl, parted).err


def test_branch_without_an_upstream_is_refused_with_a_hint(memctl: Memctl, parted: Path) -> None:
    git(parted, "switch", "-q", "-c", "new")
    result = refused(memctl, parted)
    assert "new has no upstream at a remote" in result.err
    assert (
        "(the remotes are origin)\nhint: run `git push --set-upstream origin new`, or `memctl sync origin` if"
        in result.err
    )


def test_branch_with_a_local_upstream_is_refused(memctl: Memctl, parted: Path) -> None:
    git(parted, "switch", "-q", "-c", "new", "--track", "main")
    assert "its upstream is refs/heads/main of this clone" in refused(memctl, parted).err


def test_output_of_a_refusing_pre_push_hook_is_shown(memctl: Memctl, parted: Path) -> None:
    hook(parted / ".git", "pre-push", "cat > /dev/null; echo 'the linter is not content'; exit 1")
    assert "the linter is not content" in refused(memctl, parted).err


def test_conflicted_files_without_a_merge_are_refused(memctl: Memctl, one: Path, two: Path) -> None:
    """As `git stash pop` leaves them: Git can't move the worktree, and would say so only after the push."""
    write(one, "app.py", "by one\n")
    memctl("sync", "--with-code", where=one)
    memctl("learn", "By two", where=two)
    write(two, "two.py", "first\n")
    (two / "two.py").write_text("kept\n")
    git(two, "stash", "-q")
    write(two, "two.py", "second\n")
    git(two, "stash", "pop", check=False)
    there = git(one, "ls-remote", "origin")
    for args in ((), ("-n",), ("--no-push",)):
        result = refused(memctl, two, "--with-code", *args)
        assert "these files have merge conflicts\n  two.py" in result.err
        assert "`git add` the files and commit" in result.err
    assert git(one, "ls-remote", "origin") == there
    git(two, "reset", "-q", "--hard")
    memctl("sync", "--with-code", where=two)
    assert the(memctl, two, "By two")


def test_unknown_or_missing_remote_is_refused_with_a_hint(memctl: Memctl, parted: Path) -> None:
    assert "hint: the remotes are origin" in refused(memctl, parted, "nowhere", code=2).err
    git(parted, "remote", "remove", "origin")
    assert "`git remote add NAME ADDRESS`" in refused(memctl, parted).err


def test_unreachable_remote_is_refused(memctl: Memctl, parted: Path, tmp_path: Path) -> None:
    git(parted, "remote", "set-url", "origin", str(tmp_path / "gone.git"))
    assert "`git fetch` from origin failed" in refused(memctl, parted).err
    git(parted, "remote", "set-url", "origin", "http://127.0.0.1:1/shop.git")
    assert "`git fetch` from origin failed" in refused(memctl, parted).err


def test_remote_without_the_branch_is_refused_with_a_hint(memctl: Memctl, parted: Path, bare: Path) -> None:
    git(bare, "branch", "-q", "other", "main")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/other")
    git(bare, "branch", "-q", "-D", "main")
    result = refused(memctl, parted)
    assert "origin has no branch main" in result.err
    assert "`git push --set-upstream origin main`" in result.err
    assert (
        "if it was renamed to other there, run `git fetch origin` and then `git branch -u origin/other`" in result.err
    )
    git(parted, "fetch", "-q")
    git(parted, "branch", "-q", "-u", "origin/other")
    git(parted, "config", "push.default", "upstream")
    memctl("sync", where=parted)


def test_hostile_branch_name_is_quoted_in_the_hint(memctl: Memctl, parted: Path, bare: Path) -> None:
    git(bare, "branch", "-m", "main", "x;touch${IFS}y")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/x;touch${IFS}y")
    assert "`git branch -u 'origin/x;touch${IFS}y'`" in refused(memctl, parted).err


def test_remote_without_branches_is_refused_without_an_upstream_hint(memctl: Memctl, parted: Path, bare: Path) -> None:
    git(bare, "update-ref", "-d", "refs/heads/main")
    result = refused(memctl, parted)
    assert "origin has no branch main" in result.err
    assert "git branch -u" not in result.err


def test_unrelated_histories_are_refused(memctl: Memctl, parted: Path, bare: Path) -> None:
    empty = git(bare, "commit-tree", "-m", "other", git(bare, "mktree", stdin="").strip()).strip()
    git(bare, "update-ref", "refs/heads/main", empty)
    assert "have no commit in common" in refused(memctl, parted).err


def test_shallow_clone_without_the_common_commit_is_refused(
    memctl: Memctl, one: Path, bare: Path, tmp_path: Path
) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{bare}", str(shallow))
    git(shallow, "config", "memctl.trusted", "true")
    memctl("learn", "By shallow", where=shallow)
    start = git(bare, "rev-list", "--max-parents=0", "main").strip()
    side = git(bare, "commit-tree", "-p", start, "-m", "side", f"{start}^{{tree}}").strip()
    git(bare, "update-ref", "refs/heads/main", side)
    assert "it is shallow" in refused(memctl, shallow).err


def test_shallow_clone_with_the_common_commit_is_synced(memctl: Memctl, one: Path, bare: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{bare}", str(shallow))
    git(shallow, "config", "memctl.trusted", "true")
    memctl("learn", "By shallow", where=shallow)
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    memctl("sync", where=shallow)
    memctl("sync", where=one)
    assert the(memctl, one, "By shallow")
    assert the(memctl, shallow, "By one")


def test_push_refused_by_the_remote_is_reported_and_no_push_works(memctl: Memctl, parted: Path, bare: Path) -> None:
    hook(bare, "pre-receive", "echo 'main is protected' >&2; exit 1")
    result = refused(memctl, parted)
    assert "main is protected" in result.err
    name = f"memory/main-{git(parted, 'rev-parse', '--short=7', 'HEAD').strip()}"
    assert f"`git switch -c {name}` and `git push -u origin {name}`" in result.err
    assert f"`git push origin HEAD:refs/heads/{name}`" in result.err
    assert "`memctl sync --no-push`" in result.err
    memctl("sync", "--no-push", where=parted)
    assert the(memctl, parted, "By one")


def test_push_refused_by_a_user_hook_is_reported(memctl: Memctl, parted: Path, tmp_path: Path) -> None:
    hook(parted / ".git", "pre-push", f"cat > {tmp_path}/pushed; echo 'tests fail' >&2; exit 1")
    err = refused(memctl, parted).err
    assert "tests fail" in err
    assert "git switch" not in err
    local, _, ref, _ = (tmp_path / "pushed").read_text().split()
    assert ref == "refs/heads/main"
    assert git(parted, "rev-list", "--merges", "-1", local).strip() == local


def test_memory_deleted_at_the_remote_is_refused(memctl: Memctl, one: Path, two: Path) -> None:
    git(one, "rm", "-rq", ".memory")
    git(one, "commit", "-qm", "no memory")
    git(one, "push", "-q")
    memctl("learn", "By two", where=two)
    result = refused(memctl, two)
    assert "origin/main has no memory any more" in result.err
    git(two, "reset", "-q", "--hard", "HEAD^")
    assert "has no memory any more" in refused(memctl, two).err


def test_newer_format_at_the_remote_is_refused(memctl: Memctl, one: Path, two: Path) -> None:
    config = one / ".memory" / "config.yaml"
    write(one, ".memory/config.yaml", config.read_text().replace("format: 2", "format: 3"))
    git(one, "push", "-q")
    result = refused(memctl, two)
    assert "origin/main:.memory/config.yaml: this memory has format 3" in result.err
    assert "hint: install a newer version of memctl" in result.err


def test_memory_missing_at_the_remote_is_synced(memctl: Memctl, one: Path, two: Path, tmp_path: Path) -> None:
    start = git(one, "rev-list", "--max-parents=0", "HEAD").strip()
    git(one, "switch", "-q", "-c", "bare-code", start)
    write(one, "lib.py", "1\n")
    git(one, "push", "-q", "--set-upstream", "origin", "bare-code")
    git(two, "fetch", "-q")
    git(two, "branch", "-q", "--set-upstream-to=origin/bare-code")
    git(two, "config", "push.default", "upstream")
    memctl("learn", "By two", where=two)
    memctl("sync", where=two)
    assert (two / "lib.py").read_text() == "1\n"
    assert the(memctl, two, "By two")
    assert errors(memctl, two) == []


def test_unsigned_commit_is_refused_when_signatures_are_required(memctl: Memctl, parted: Path) -> None:
    git(parted, "config", "merge.verifySignatures", "true")
    assert "has no valid signature" in refused(memctl, parted).err


def test_merge_commit_is_signed_when_configured(memctl: Memctl, parted: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen")
    import subprocess

    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingKey", f"{key}.pub"), ("commit.gpgsign", "true")):
        git(parted, "config", name, value)
    memctl("sync", where=parted)
    assert "gpgsig" in git(parted, "cat-file", "commit", "HEAD")


def test_user_git_settings_do_not_affect_a_sync(memctl: Memctl, parted: Path) -> None:
    for name, value in (
        ("merge.ff", "false"),
        ("merge.autoStash", "true"),
        ("pull.rebase", "true"),
        ("push.default", "matching"),
    ):
        git(parted, "config", name, value)
    (parted / "app.py").write_text("dirty\n")
    memctl("sync", where=parted)
    assert git(parted, "status", "--porcelain") == " M app.py\n"
    assert git(parted, "stash", "list") == ""


def test_post_merge_hook_of_the_user_runs_after_a_sync(memctl: Memctl, parted: Path, tmp_path: Path) -> None:
    hook(parted / ".git", "post-merge", f"git rev-parse HEAD > {tmp_path}/seen")
    memctl("install", "git", where=parted)
    memctl("sync", where=parted)
    assert (tmp_path / "seen").read_text() == git(parted, "rev-parse", "HEAD")


def test_sync_inside_a_git_hook_is_refused(memctl: Memctl, parted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = git(parted, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_INDEX_FILE", str(parted / ".git" / "index"))
    assert "another commit is being made" in memctl("sync", where=parted, code=1).err
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert git(parted, "rev-parse", "HEAD") == before


def test_locked_index_is_refused(memctl: Memctl, parted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(parted, "status")  # what is a copy looks changed until Git has read it
    monkeypatch.setattr(checkout, "_LOCK_WAIT", 0.1)
    (parted / ".git" / "index.lock").touch()
    result = memctl("sync", where=parted, code=1)
    assert "has locked the index" in result.err
    (parted / ".git" / "index.lock").unlink()
    memctl("sync", where=parted)


def test_missing_git_identity_is_refused_with_a_hint(
    memctl: Memctl, parted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        for part in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{part}")
    git(parted, "config", "user.useConfigOnly", "true")
    assert "`git config --global user.name NAME`" in refused(memctl, parted).err


def test_file_that_is_a_folder_at_the_remote_is_named_plainly(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, "other.py/part.py", "of one\n")
    memctl("sync", "--with-code", where=one)
    write(two, "other.py", "of two\n")
    result = refused(memctl, two, "--with-code")
    assert "\n  other.py\n" in result.err
    assert "~" not in result.err


def test_refused_conflict_names_the_memctl_commands_for_the_merge(memctl: Memctl, one: Path, two: Path) -> None:
    for clone in (one, two):
        write(clone, "app.py", f"of {clone.name}\n")
    memctl("sync", "--with-code", where=one)
    assert "memctl renumber" not in refused(memctl, two, "--with-code").err
    given = memctl("decide", "By one", where=one).id
    memctl("sync", "--with-code", where=one)
    assert memctl("decide", "By two", where=two).id == given
    err = refused(memctl, two, "--with-code").err
    assert "hint: `memctl install git` makes Git merge the memory as `memctl sync` does; after that `git merge" in err
    assert f"during that merge, `memctl renumber` gives {given} another number" in err
    memctl("install", "git", where=two)
    assert "hint: `git merge origin/main` shows the conflicts" in refused(memctl, two, "--with-code").err


def test_leftover_lock_at_the_remote_is_not_reported_as_a_race(
    memctl: Memctl, parted: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memctl.sync.sync._TRIES", 3)
    (bare / "refs" / "heads" / "main.lock").touch()
    before = git(parted, "rev-parse", "HEAD")
    err = memctl("sync", where=parted, code=1).err
    assert "origin/main has refused" in err
    assert "although no other clone has pushed" in err
    assert "refs/heads/main.lock" in err
    assert git(parted, "rev-parse", "HEAD") == before
    assert git(bare, "for-each-ref", "refs/memctl/turns") == ""
