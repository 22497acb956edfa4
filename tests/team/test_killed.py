"""A change of the coordination state killed at any step: nothing is lost or stays locked, and the next change works."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git, slow, strides
from tests.write import killed

REF = "refs/memctl/coordination"


@pytest.fixture
def shop(memctl: Memctl, bob: Memctl, repo: Path, once: Once) -> Path:
    """claude has §2.1, bob has §2.2."""

    def make() -> None:
        memctl("section", "add", "Payment")
        memctl("section", "add", "Search")
        memctl("own", "acquire", "2.1")
        bob("own", "acquire", "2.2")

    once(make)
    return repo


CHANGES = [
    ("own", "acquire", "2.1", "--reason", "again"),
    ("own", "release", "2.1"),
    ("own", "transfer", "2.1", "--to", "elena"),
    ("coordination", "join", "--task", "Refunds"),
    ("coordination", "assign", "elena", "Refunds"),
]


@strides(23)
@pytest.mark.parametrize("args", CHANGES)
def test_change_killed_at_any_step_in_one_clone_is_whole_or_absent(
    memctl: Memctl, bob: Memctl, shop: Path, tmp_path: Path, args: tuple[str, ...], stride: int
) -> None:
    before = git(shop, "rev-parse", REF).strip()
    victim, step, code, states = tmp_path / "victim", 1 - stride, -signal.SIGKILL, set()
    while code == -signal.SIGKILL:
        step += stride
        shutil.rmtree(victim, ignore_errors=True)
        shutil.copytree(shop, victim, symlinks=True)
        code = killed.run(step, victim, *args).returncode
        made = git(victim, "rev-list", f"{before}..{REF}").split()
        states.add(len(made))
        assert len(made) <= 1
        bob("coordination", "assign", "bob", "Search", where=victim)
        is_given_away = made and args[1] in ("release", "transfer")
        memctl(*args, where=victim, code=1 if is_given_away else 0)
        data = memctl("coordination", "show", "--json", where=victim).data
        assert data["agent_task_assignments"]["bob"] == ["Search"]
        assert data["section_ownership_map"]["§2.2"]["owner_agent_id"] == "bob"
        owner = data["section_ownership_map"].get("§2.1", {}).get("owner_agent_id")
        assert owner == {"release": None, "transfer": "elena"}.get(args[1], "claude")
        assert not list((victim / ".git").rglob("coordination.lock.lock"))
        memctl("learn", "Writing goes on", where=victim)
        assert git(victim, "fsck", "--no-dangling", "--no-progress") == ""
    assert code == 0
    assert step > 5
    assert states == {0, 1}, "some were killed before the ref moved and some after it"


@pytest.mark.parametrize("stride", slow(1))
@pytest.mark.parametrize("args", [CHANGES[1], CHANGES[3]])
def test_change_killed_at_any_step_with_a_remote_is_whole_or_absent(
    memctl: Memctl, bob: Memctl, shop: Path, tmp_path: Path, args: tuple[str, ...], stride: int
) -> None:
    remote = ("--remote", "origin")
    step, code, seen = 1 - stride, -signal.SIGKILL, set()
    while code == -signal.SIGKILL:
        step += stride
        place = tmp_path / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        git(place, "clone", "-q", "--mirror", str(shop), "bare.git")
        for name in ("one", "other"):
            git(place, "clone", "-q", "bare.git", name)
        memctl("own", "list", *remote, where=place / "one")
        before = git(place / "bare.git", "rev-parse", REF).strip()
        code = killed.run(step, place / "one", *args, *remote).returncode
        there = git(place / "bare.git", "rev-list", f"{before}..{REF}").split()
        seen.add(len(there))
        assert len(there) <= 1
        bob("coordination", "assign", "bob", "Search", *remote, where=place / "other")
        memctl("coordination", "assign", "claude", "Look", *remote, where=place / "one")
        states = [memctl("coordination", "show", "--json", *remote, where=place / n).data for n in ("one", "other")]
        assert states[0] == states[1]
        assert states[0]["agent_task_assignments"] == {"bob": ["Search"], "claude": ["Look"]}
        assert states[0]["section_ownership_map"]["§2.2"]["owner_agent_id"] == "bob"
        has_it = "§2.1" in states[0]["section_ownership_map"]
        assert has_it == (args[1] != "release" or not there)
        tips = {git(place / name, "rev-parse", REF) for name in ("one", "other", "bare.git")}
        assert len(tips) == 1
    assert code == 0
    assert step > 8
    assert seen == {0, 1}


@pytest.mark.parametrize("stride", slow(1))
def test_section_goes_to_the_survivor_unless_the_killed_agent_has_it(
    memctl: Memctl, bob: Memctl, shop: Path, tmp_path: Path, stride: int
) -> None:
    memctl("own", "release", "2.1")
    victim, step, code, winners = tmp_path / "victim", 1 - stride, -signal.SIGKILL, set()
    while code == -signal.SIGKILL:
        step += stride
        shutil.rmtree(victim, ignore_errors=True)
        shutil.copytree(shop, victim, symlinks=True)
        code = killed.run(step, victim, "own", "acquire", "2.1").returncode
        second = bob("own", "acquire", "2.1", where=victim, code=None)
        (row,) = (
            r for r in memctl("own", "list", "--json", where=victim).data["sections"] if r["section_id"] == "§2.1"
        )
        winners.add(row["owner_agent_id"])
        assert (second.code == 0) == (row["owner_agent_id"] == "bob")
        assert second.code == 0 or "is owned by claude (exclusive), since" in second.err
    assert winners == {"bob", "claude"}
