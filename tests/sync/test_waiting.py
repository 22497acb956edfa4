"""A sync while changes wait for their commit, or another process of the clone writes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Memctl, git
from tests.sync.test_refusals import hook
from tests.sync.test_sync import the


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def left(memctl: Memctl, one: Path) -> Path:
    """A clone with a change that waits for its commit, and nothing in its way any more."""
    (one / ".git" / "MERGE_HEAD").touch()
    assert "commit pending" in memctl("learn", "Left", where=one).err
    (one / ".git" / "MERGE_HEAD").unlink()
    return one


def test_a_write_that_waits_for_its_commit_is_committed_and_pushed(memctl: Memctl, left: Path, two: Path) -> None:
    result = memctl("sync", where=left)
    assert f": learn {the(memctl, left, 'Left')} Left" in result.err
    assert "pushed 1 commit to origin/main" in result.out
    assert git(left, "log", "-1", "--format=%s").startswith("docs(memory): learn ")
    memctl("sync", where=two)
    assert the(memctl, two, "Left")


def test_a_dry_run_says_what_it_would_commit_first_and_leaves_it(memctl: Memctl, left: Path) -> None:
    before = git(left, "rev-parse", "HEAD")
    assert (
        "this change is not committed yet, and `memctl sync` commits it first: " in memctl("sync", "-n", where=left).err
    )
    assert git(left, "rev-parse", "HEAD") == before
    assert memctl("status", "--json", where=left).data["pending"]


def test_a_commit_that_still_can_t_be_made_stops_the_sync_with_the_reason(memctl: Memctl, left: Path) -> None:
    hook(left / ".git", "pre-commit", "echo not today >&2; exit 1")
    result = memctl("sync", where=left, code=1)
    assert ") can't be committed: " in result.err
    assert "not today" in result.err


def test_the_first_refused_commit_of_several_ends_the_sync(memctl: Memctl, left: Path, tmp_path: Path) -> None:
    (left / ".git" / "MERGE_HEAD").touch()
    memctl("learn", "Left too", where=left)
    (left / ".git" / "MERGE_HEAD").unlink()
    hook(left / ".git", "pre-commit", f"echo asked >> '{tmp_path}/asked'; exit 1")
    memctl("sync", where=left, code=1)
    assert (tmp_path / "asked").read_text() == "asked\n"
    (left / ".git" / "hooks" / "pre-commit").unlink()
    assert "pushed 2 commits to origin/main" in memctl("sync", where=left).out


def test_sync_does_not_commit_a_write_with_no_commit(memctl: Memctl, one: Path) -> None:
    memctl("learn", "Held", "--no-commit", where=one)
    memctl("sync", where=one)
    assert "Held" not in git(one, "log", "--format=%s")
    assert memctl("status", "--json", where=one).data["pending"]


def test_dry_run_names_no_commit_for_a_killed_write_with_no_commit(memctl: Memctl, one: Path) -> None:
    memctl("learn", "Held", "--no-commit", where=one)
    (held,) = (one / ".git").rglob("*.held.json")
    held.rename(held.with_name(held.name.replace(".held.", ".writing.")))
    assert memctl("sync", "-n", where=one).err == ""


@pytest.mark.slow
def test_a_sync_takes_turns_with_a_write_of_another_process(memctl: Memctl, one: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    hook(one / ".git", "pre-commit", f"touch '{begun}'; sleep 1")
    command = [sys.executable, "-m", "memctl", "-C", str(one), "learn", "By another"]
    writer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not begun.exists():
        assert writer.poll() is None
        time.sleep(0.01)
    assert "pushed 1 commit to origin/main" in memctl("sync", where=one).out
    assert writer.wait() == 0
