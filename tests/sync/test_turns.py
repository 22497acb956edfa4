"""A clone that lost a race of pushes takes a turn: others wait until the turn ends or expires."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.git import remotes
from memctl.git.remotes import SyncTurn, Upstream
from memctl.git.repository import Repository, open_repository
from memctl.sync import sync
from tests.conftest import Memctl, git, process
from tests.sync.test_refusals import hook

MAIN = "refs/heads/main"
TURN = "refs/memctl/turns/main"


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


def turn(clone: Path) -> tuple[Repository, Upstream, SyncTurn]:
    repository, upstream = open_repository(clone), Upstream(MAIN, "origin", MAIN)
    remotes.fetch(repository, upstream)
    return repository, upstream, SyncTurn(repository, upstream)


def test_only_one_clone_has_the_turn_and_it_expires(one: Path, two: Path, bare: Path) -> None:
    _, _, first = turn(one)
    repository, upstream, second = turn(two)
    assert first.claim("claude")
    assert not second.claim("bob")  # it has not seen the other's
    remotes.fetch(repository, upstream)
    assert second.is_claimed_elsewhere
    assert not first.is_claimed_elsewhere
    first.release()
    remotes.fetch(repository, upstream)
    assert not second.is_claimed_elsewhere
    assert second.claim("bob")
    second.release()
    assert git(bare, "for-each-ref", "refs/memctl") == ""


def test_abandoned_turn_is_taken_over(one: Path, two: Path, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turn(one)[2].claim("killed")
    _, _, second = turn(two)
    assert second.is_claimed_elsewhere
    monkeypatch.setattr(remotes, "_LONGEST_TURN", 0.0)
    assert not second.is_claimed_elsewhere
    assert second.claim("bob")
    second.release()
    assert git(bare, "for-each-ref", TURN) == ""


def test_sync_removes_an_abandoned_turn(
    memctl: Memctl, one: Path, two: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sync that loses no race does not need it; it takes it away all the same, or each that follows would wait."""
    assert turn(one)[2].claim("killed")
    monkeypatch.setattr(remotes, "_LONGEST_TURN", 0.1)
    memctl("learn", "By two", where=two)
    memctl("sync", where=two)
    assert git(bare, "for-each-ref", TURN) == ""


def test_holder_of_an_expired_turn_takes_another_turn(
    one: Path, two: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, upstream, first = turn(one)
    assert first.claim("slow")
    _, _, second = turn(two)
    monkeypatch.setattr(remotes, "_LONGEST_TURN", 0.0)
    assert not second.is_claimed_elsewhere
    assert second.claim("bob")
    second.release()
    remotes.fetch(repository, upstream)
    assert first.claim("slow")
    assert "slow" in git(bare, "log", "-1", "--format=%s", TURN)


def test_turn_with_a_lost_answer_belongs_to_its_taker(one: Path, bare: Path) -> None:
    repository, upstream, first = turn(one)
    hook(bare, "post-update", "kill -9 $PPID")
    assert first.claim("claude")
    assert git(bare, "for-each-ref", TURN)
    (bare / "hooks" / "post-update").unlink()
    remotes.fetch(repository, upstream)
    assert not first.is_claimed_elsewhere
    first.release()
    assert git(bare, "for-each-ref", TURN) == ""


def test_remote_that_refuses_the_turn_ref_grants_turns_without_one(one: Path, bare: Path) -> None:
    hook(bare, "update", 'case $1 in refs/memctl/turns/*) echo "no such refs" >&2; exit 1 ;; esac')
    _, _, first = turn(one)
    assert first.claim("claude")
    assert git(bare, "for-each-ref", TURN) == ""
    first.release()


def test_sync_waits_for_the_turn_of_another_clone(memctl: Memctl, one: Path, two: Path) -> None:
    _, _, first = turn(one)
    assert first.claim("claude")
    memctl("learn", "By two", where=two)
    waiting = process(two, "sync")
    assert memctl("sync", "--dry-run", where=two).out.startswith("would push 1 commit")
    assert waiting.poll() is None
    first.release()
    assert waiting.communicate()[0] == "pushed 1 commit to origin/main\n"


def test_sync_without_changes_to_push_waits_for_no_turn(
    memctl: Memctl, one: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("learn", "By one", where=one)
    memctl("sync", where=one)
    assert turn(one)[2].claim("claude")
    monkeypatch.setattr(sync.time, "sleep", lambda _: pytest.fail("it waits"))
    assert memctl("sync", where=two).out.startswith("fetched 1 commit from origin/main\n")


def test_lock_left_by_a_killed_fetch_does_not_hide_a_turn(one: Path, two: Path) -> None:
    repository, upstream, second = turn(two)
    lock = repository.common_dir / f"{upstream.turn_tracking_ref}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (0, 0))
    assert turn(one)[2].claim("claude")
    remotes.fetch(repository, upstream)
    assert second.is_claimed_elsewhere


def test_ended_turn_is_recognized_at_a_remote_that_deletes_no_refs(
    memctl: Memctl, one: Path, two: Path, bare: Path
) -> None:
    hook(bare, "update", 'case $3 in *[!0]*) ;; *) echo "nothing is deleted here" >&2; exit 1 ;; esac')
    _, _, first = turn(one)
    repository, upstream, second = turn(two)
    assert first.claim("claude")
    first.release()
    remotes.fetch(repository, upstream)
    assert not second.is_claimed_elsewhere
    assert second.claim("bob")
    remotes.fetch(*turn(one)[:2])
    assert first.is_claimed_elsewhere
    second.release()
    memctl("learn", "By two", where=two)
    memctl("sync", where=two)


def test_leftover_lock_at_the_remote_does_not_block_a_turn(one: Path, bare: Path) -> None:
    _, _, first = turn(one)
    lock = bare / f"{TURN}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert any(first.claim("claude") for _ in range(remotes._TRIES))
    assert git(bare, "for-each-ref", TURN) == ""


def test_branches_with_one_name_inside_the_other_have_separate_turns(one: Path) -> None:
    repository = open_repository(one)
    taken = [SyncTurn(repository, Upstream(MAIN, "origin", f"refs/heads/{name}")) for name in ("topic", "topic/part")]
    assert all(each.claim("claude") for each in taken)
    assert len(git(one, "ls-remote", "origin", "refs/memctl/turns/*").splitlines()) == 2
