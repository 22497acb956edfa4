"""Pushes of the coordination state that fail, or whose outcome is unknown: the messages, and what has changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memctl.git import refs
from tests.conftest import Memctl, Once, git

REF = "refs/memctl/coordination"
REMOTE = ("--remote", "origin")
OFFER = (
    "handoff", "--to", "bob", "--section", "2.1", "--reason", "The schema is done",
    "--summary", "It stands", "--immediate", "Run the tests", "--success", "All pass",
)  # fmt: skip


@pytest.fixture
def bare(memctl: Memctl, repo: Path, tmp_path: Path, once: Once) -> Path:
    """The remote of the repository, which has a section."""

    def make() -> None:
        memctl("section", "add", "Payment")
        git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
        git(repo, "remote", "add", "origin", str(tmp_path / "bare.git"))

    once(make)
    return tmp_path / "bare.git"


def hook(bare: Path, name: str, script: str) -> None:
    file = bare / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_refused_push_gives_its_reason_and_changes_nothing(memctl: Memctl, repo: Path, bare: Path) -> None:
    command = ("own", "acquire", "2.1")
    hook(bare, "pre-receive", "echo 'Only on Mondays; please fetch first' >&2; exit 1")
    head, tip = git(repo, "rev-parse", "HEAD"), git(repo, "for-each-ref", REF)
    result = memctl(*command, *REMOTE, code=1)
    assert result.err.startswith(
        "error: origin did not accept the change of the coordination state, so this clone has not made it either:\n"
    )
    assert "Only on Mondays" in result.err
    assert "pre-receive hook declined" in result.err
    assert (git(repo, "rev-parse", "HEAD"), git(repo, "for-each-ref", REF)) == (head, tip)
    assert memctl("status", "--json").data["interrupted"] == []
    assert memctl("handoff", "recover").err.startswith("nothing to repair: no handoff was interrupted")
    (bare / "hooks" / "pre-receive").unlink()
    memctl(*command, *REMOTE)
    assert git(bare, "for-each-ref", REF)


@pytest.mark.parametrize("command", [("own", "acquire", "2.1"), OFFER])
def test_connection_lost_after_the_push_is_no_failure(memctl: Memctl, bare: Path, command: tuple[str, ...]) -> None:
    hook(bare, "post-update", "kill -9 $PPID")
    memctl(*command, *REMOTE)
    assert git(bare, "for-each-ref", REF)
    assert memctl("own", "list", "--json").data["sections"]
    assert memctl("status", "--json").data["interrupted"] == []


def test_connection_lost_before_the_push_changes_nothing(memctl: Memctl, bare: Path) -> None:
    hook(bare, "pre-receive", "kill -9 $PPID")
    result = memctl(*OFFER, *REMOTE, code=1)
    assert "no section was handed over: the record can't be pushed: origin/main did not accept the push" in result.err
    assert memctl("own", "list", "--json").data["sections"] == []
    assert memctl("handoff", "list").out == ""
    assert memctl("status", "--json").data["interrupted"] == []
    assert git(bare, "for-each-ref", REF) == ""


def test_push_with_unknown_outcome_can_be_recovered_later(memctl: Memctl, bare: Path, tmp_path: Path) -> None:
    hook(bare, "post-update", f"case $1 in {REF}) mv '{bare}' '{tmp_path}/away'; kill -9 $PPID ;; esac")
    result = memctl(*OFFER, *REMOTE, code=1)
    assert "origin can't be reached, so it is not known whether it has the change" in result.err
    assert "`memctl team handoff recover`" in result.err
    assert memctl("status", "--json").data["interrupted"]
    shutil.move(tmp_path / "away", bare)
    memctl("handoff", "recover")
    assert memctl("status", "--json").data["interrupted"] == []
    assert "offered" in memctl("handoff", "list").out


@pytest.mark.parametrize("command", [("own", "acquire", "2.1"), OFFER])
def test_change_taken_by_the_remote_is_finished_later_in_a_locked_clone(
    memctl: Memctl, repo: Path, bare: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    lock = repo / ".git" / f"{REF}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    monkeypatch.setattr(refs, "_PATIENCE", 0.05)
    result = memctl(*command, *REMOTE, code=1)
    assert result.err.startswith(
        "error: origin has the change of the coordination state, but this clone does not have it yet:\n"
    )
    assert str(lock) in result.err
    assert git(bare, "for-each-ref", REF)
    lock.unlink()
    if command == OFFER:
        assert memctl("status", "--json").data["interrupted"]
        assert "finished: handoff " in memctl("handoff", "recover").out
        assert "offered" in memctl("handoff", "list").out
    assert memctl("own", "list", "--json", *REMOTE).data["sections"]
    assert memctl("status", "--json").data["interrupted"] == []


def test_unreachable_remote_is_reported_in_full(memctl: Memctl, repo: Path, bare: Path) -> None:
    shutil.rmtree(bare)
    result = memctl("own", "acquire", "2.1", *REMOTE, code=1)
    assert result.err.startswith("error: `git fetch` from origin failed:\n")
    assert "does not appear to be a git repository" in result.err
    assert git(repo, "for-each-ref", REF) == ""


def test_sync_with_a_connection_lost_after_the_push_succeeds(memctl: Memctl, repo: Path, bare: Path) -> None:
    git(repo, "push", "-q", "--set-upstream", "origin", "HEAD")
    memctl("learn", "Something")
    hook(bare, "post-update", "kill -9 $PPID")
    assert memctl("sync").out == "pushed 1 commit to origin/main\n"
