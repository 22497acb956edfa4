"""Pages of sessions and checkpoints that are on a ref of their own go from clone to clone with a sync."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.git import refs
from memctl.git.repository import Repository
from tests.conftest import Memctl, git
from tests.hooks.session import Session
from tests.sync.conftest import Clone
from tests.text.secrets import x
from tests.write.test_redact_file import page as redactable

REF = "refs/memctl/sessions"


@pytest.fixture(autouse=True)
def beside(one: Path, two: Path) -> None:
    for clone in (one, two):
        git(clone, "config", "memctl.hookCommits", "records")


def work(clone: Path, tmp_path: Path, name: str, prompt: str) -> None:
    session = Session(clone, tmp_path / f"{clone.name}-{name}.jsonl", name)
    session.context("SessionStart", source="startup")
    session.transcript.prompt(prompt)
    session.transcript.call("Write", file_path=str(clone / f"{name}.py"), content="x = 1\n")
    session.transcript.says(f"Decision: {prompt} by card because it is simple.")
    session.send("PreCompact", trigger="auto")
    assert session.faults() == []


def put(clone: Path, path: str, text: str, tmp_path: Path) -> None:
    """Commit a file on the ref as an older memctl may have done."""
    index = {"GIT_INDEX_FILE": str(tmp_path / "index")}
    git(clone, "read-tree", f"--index-output={index['GIT_INDEX_FILE']}", REF)
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=text).strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(*index.popitem())
        git(clone, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
        tree = git(clone, "write-tree").strip()
    git(clone, "update-ref", REF, git(clone, "commit-tree", tree, "-p", REF, "-m", "older").strip())


def files(clone: Path) -> list[str]:
    return git(clone, "ls-tree", "-r", "--name-only", REF).split()


def start(clone: Path, tmp_path: Path, name: str = "fresh") -> str:
    return Session(clone, tmp_path / f"{name}.jsonl", name).context("SessionStart", source="startup")


def test_task_is_resumed_in_another_clone_after_a_sync(one: Path, two: Path, memctl: Memctl, tmp_path: Path) -> None:
    work(one, tmp_path, "first", "Refunds")
    before = git(one, "rev-parse", "HEAD")
    assert "pages of sessions: pushed to origin" in memctl("sync", where=one).out
    assert "pages of sessions: fetched from origin" in memctl("sync", where=two).out
    assert "Refunds" in memctl("checkpoint", "resume", where=two).out
    assert "Refunds" in memctl("session", "show", "first", where=two).out
    assert git(two, "rev-parse", "HEAD") == before
    assert git(two, "status", "--porcelain") == ""
    again = memctl("sync", "--json", where=two).data
    assert again["sessions"] == {"fetched": False, "pushed": False, "redacted": []}


def test_dry_run_moves_no_ref_of_session_pages(one: Path, two: Path, memctl: Memctl, tmp_path: Path) -> None:
    work(one, tmp_path, "first", "Refunds")
    assert "would be pushed" in memctl("sync", "--dry-run", where=one).out
    memctl("sync", where=one)
    assert "would be fetched" in memctl("sync", "--dry-run", where=two).out
    assert f" {REF}\n" not in git(two, "show-ref")


def test_pages_stay_here_while_a_hook_of_the_user_does_not_see_them(
    one: Path, bare: Path, memctl: Memctl, tmp_path: Path
) -> None:
    hook = one / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n! git diff --cached | grep -q TITAN\n")
    hook.chmod(0o755)
    work(one, tmp_path, "first", "Refunds for TITAN")
    memctl("learn", "Hooks see the branch", "--lesson", "And nothing else", where=one)
    done = memctl("sync", where=one)
    assert f"stay in this clone, because {hook} does not see them" in done.out
    assert "memctl.sharePages" in done.out
    assert REF not in git(bare, "for-each-ref")
    assert "TITAN" not in git(bare, "log", "--all", "-p")
    assert git(bare, "rev-parse", "HEAD") == git(one, "rev-parse", "HEAD")
    git(one, "config", "memctl.sharePages", "true")
    assert "pages of sessions: pushed to origin" in memctl("sync", where=one).out


def test_the_hook_that_memctl_installs_keeps_no_page_here(one: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("install", "git", "--yes", where=one)
    work(one, tmp_path, "first", "Refunds")
    assert "pages of sessions: pushed to origin" in memctl("sync", where=one).out


def test_no_push_does_not_push_session_pages(one: Path, two: Path, memctl: Memctl, tmp_path: Path) -> None:
    work(one, tmp_path, "first", "Refunds")
    memctl("sync", "--no-push", where=one)
    assert memctl("sync", "--json", where=two).data["sessions"] == {"fetched": False, "pushed": False, "redacted": []}


def test_two_clones_that_began_apart_have_all_pages_of_both(
    one: Path, two: Path, memctl: Memctl, tmp_path: Path
) -> None:
    work(one, tmp_path, "first", "Refunds")
    work(two, tmp_path, "second", "Invoices")
    assert len(files(one)) == len(files(two)) == 3
    for clone in (one, two, one):
        memctl("sync", where=clone)
    assert files(one) == files(two)
    assert len(files(one)) == 6
    assert git(one, "rev-parse", REF) == git(two, "rev-parse", REF)
    assert memctl("check", where=two).code == 0
    assert git(one, "log", "-1", "--format=%s", REF) == "docs(memory): sync sessions with origin\n"


def test_session_continued_in_two_clones_has_one_page_with_the_lines_of_both(
    one: Path, two: Path, memctl: Memctl, tmp_path: Path
) -> None:
    work(one, tmp_path, "shared", "Refunds")
    memctl("sync", where=one)
    memctl("sync", where=two)
    work(one, tmp_path, "shared", "Refunds")
    work(two, tmp_path, "shared", "Invoices")
    for clone in (one, two, one):
        memctl("sync", where=clone)
    page = memctl("session", "show", "shared", where=one).out
    assert "Refunds by card" in page
    assert "Invoices by card" in page
    assert "<<<<<<<" not in page
    assert git(one, "rev-parse", REF) == git(two, "rev-parse", REF)


def test_a_page_that_one_side_deleted_stays_deleted(
    one: Path, two: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        memctl("checkpoint", "save", "--task", "T", "--doing", f"{number}", "--next", "N", where=one)
    memctl("sync", where=one)
    memctl("sync", where=two)
    work(two, tmp_path, "second", "Invoices")
    monkeypatch.setenv("MEMCTL_NOW", "2026-02-04T15:00:00Z")
    memctl("maintain", where=one)
    for clone in (one, two, one):
        memctl("sync", where=clone)
    assert files(one) == files(two)
    assert len([path for path in files(one) if path.endswith(".json")]) == 11  # ten, and that of the session


def test_pages_of_other_memories_in_the_clone_are_kept(one: Path, two: Path, memctl: Memctl, tmp_path: Path) -> None:
    (one / "sub").mkdir()
    (one / "sub" / "x.py").write_text("x = 1\n")
    memctl("init", "--here", where=one / "sub")
    memctl("sync", where=one)
    memctl("sync", where=two)
    args = ["checkpoint", "save", "--doing", "A", "--next", "B", "--task"]
    memctl(*args, "Below", where=one / "sub")
    memctl(*args, "Above", where=two)
    for clone in (one, two, one):
        memctl("sync", where=clone)
    assert "Below" in memctl("checkpoint", "resume", where=two / "sub").out
    assert "Above" in memctl("checkpoint", "resume", where=one).out
    assert "Below" not in memctl("checkpoint", "list", where=one).out


def test_remote_that_refuses_session_pages_gives_one_line(
    one: Path, bare: Path, memctl: Memctl, tmp_path: Path
) -> None:
    hook = bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase $1 in refs/memctl/sessions) echo "not here" >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    work(one, tmp_path, "first", "Refunds")
    memctl("learn", "Mine", where=one)
    result = memctl("sync", where=one)
    assert result.err == ""
    assert "origin takes no refs/memctl/* (hook declined)" in result.out
    assert "pushed 1 commit to origin/main" in result.out
    assert len(files(one)) == 3


@pytest.mark.slow
def test_concurrent_syncs_lose_no_session_page(clone: Clone, memctl: Memctl, tmp_path: Path) -> None:
    clones = [clone(f"clone-{number}") for number in range(3)]
    for one in clones:
        git(one, "config", "memctl.trusted", "true")
        git(one, "config", "memctl.hookCommits", "records")
        work(one, tmp_path, one.name, f"What {one.name} is for")
    command = [sys.executable, "-m", "memctl", "sync", "--json"]
    running = [subprocess.Popen(command, cwd=one, stdout=subprocess.DEVNULL, env=os.environ) for one in clones]
    assert [process.wait(timeout=120) for process in running] == [0] * 3
    memctl("sync", where=clones[0])
    pages = [path for path in files(clones[0]) if "/sessions/" in path]
    assert len(pages) == 3


def test_first_session_start_says_once_how_to_fetch_session_pages(
    clone: Clone, memctl: Memctl, tmp_path: Path, one: Path
) -> None:
    work(one, tmp_path, "first", "Refunds")
    memctl("sync", where=one)
    fresh = clone("fresh")
    git(fresh, "config", "memctl.trusted", "true")
    assert "memctl sync" not in start(fresh, tmp_path, "before")
    git(fresh, "config", "memctl.hookCommits", "records")
    assert "may be at origin and are not here yet: ask the user to run `memctl sync`" in start(fresh, tmp_path)
    assert "memctl sync" not in start(fresh, tmp_path, "next")


def test_session_start_mentions_fetched_pages_but_not_local_ones(
    clone: Clone, memctl: Memctl, tmp_path: Path, one: Path
) -> None:
    work(one, tmp_path, "first", "Refunds")
    memctl("sync", where=one)
    fresh, other = clone("fresh"), clone("other")
    for each in (fresh, other):
        memctl("install", "git", where=each)
        assert "memctl sync" not in start(each, tmp_path, "before")
        git(each, "fetch", "-q")
    memctl("sync", where=other)
    assert "memctl sync" not in start(other, tmp_path)
    assert "memctl sync" in start(fresh, tmp_path)


def test_pages_that_older_rules_let_pass_are_pushed_without_their_credentials(
    one: Path, two: Path, bare: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the page as it is now nor a commit of before brings one to the remote; a first push is lost to others."""
    work(one, tmp_path, "first", "Refunds")
    memctl("sync", where=one)
    work(one, tmp_path, "Xq7kd92lsPzR8vTn4wYb", "Invoices")
    token, page = "ghp" + "_" + x(36), ".memory/sessions/Xq7kd92lsPzR8vTn4wYb.md"
    for text in (f"Invoices, with {token}", "Invoices"):
        put(one, page, git(one, "show", f"{REF}:{page}").replace("Invoices", text), tmp_path)
    assert f"would be removed from {page}" in memctl("sync", "--dry-run", where=one).out
    assert token in git(one, "log", "-p", REF)
    push, lost = refs.push, list[str]()

    def losing(repository: Repository, remote: str, ref: str, *rest: str) -> bool:
        if ref == REF and not lost:
            lost.append(ref)
            return False
        return push(repository, remote, ref, *rest)

    monkeypatch.setattr(refs, "push", losing)
    said = memctl("sync", where=one).out
    assert lost
    assert f"credentials were removed from {page} before the push; revoke these credentials" in said
    assert token not in git(bare, "log", "-p", "--all")
    assert token not in git(one, "log", "-p", "--all")
    memctl("sync", where=two)
    assert "Invoices" in memctl("session", "show", "Xq7kd92lsPzR8vTn4wYb", where=two).out
    assert memctl("sync", "--json", where=one).data["sessions"]["redacted"] == []


def test_page_that_cannot_be_redacted_is_not_pushed_but_others_are(
    one: Path, two: Path, bare: Path, memctl: Memctl, tmp_path: Path
) -> None:
    work(one, tmp_path, "first", "Refunds")
    page, token = git(one, "show", f"{REF}:.memory/sessions/first.md"), "ghp" + "_" + x(36)
    models = " ".join(f"pw=a{number}b2c3" for number in range(100, 180))  # longer than may be, once they are redacted
    locked = redactable("Orders", model=models)
    unfit = (".memory/sessions/first-large.md", f".memory/{locked.path}")
    put(
        one,
        unfit[0],
        page.replace("session_id: first", "session_id: first-large") + f"{token}\n{'a' * 2_100_000}",
        tmp_path,
    )
    put(one, unfit[1], locked.text, tmp_path)
    for expected in ("would be pushed", "pushed"):
        result = memctl("sync", *(["--dry-run"] if expected[0] == "w" else []), where=one, code=1)
        assert f"pages of sessions: {expected} to origin" in result.out
        assert all(f"{path} (" in result.err for path in unfit)
    assert token not in git(bare, "log", "-p", "--text", "--all")
    assert "pw=a100" not in git(bare, "log", "-p", "--all")
    assert set(files(one)) - set(files(bare)) == set(unfit)
    before = git(one, "rev-parse", REF), git(bare, "rev-parse", REF)
    assert memctl("sync", "--json", where=one, code=1).data["sessions"]["pushed"] is False
    assert (git(one, "rev-parse", REF), git(bare, "rev-parse", REF)) == before
    work(two, tmp_path, "second", "Invoices")
    memctl("sync", where=two)
    work(one, tmp_path, "third", "Orders")
    memctl("sync", where=one, code=1)
    assert set(files(one)) - set(files(bare)) == set(unfit)
    assert {f".memory/sessions/{name}.md" for name in ("first", "second", "third")} <= set(files(bare))
    assert token not in git(bare, "log", "-p", "--text", "--all")


def test_an_older_clone_without_such_pages_pushes_none(one: Path, bare: Path, memctl: Memctl) -> None:
    shutil.rmtree(one / ".git" / "memctl", ignore_errors=True)
    memctl("learn", "Mine", where=one)
    memctl("sync", where=one)
    assert REF not in git(bare, "for-each-ref")
