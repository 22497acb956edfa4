"""Handoffs move ownership and write a record, both or neither: killed at every step, raced, refused by Git."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, Once, commits, git, process, slow, strides
from tests.write.test_mishaps import hook
from tests.write.test_transaction import run_until, steps_of

OFFER = ("handoff", "--to", "bob", "--section", "2.1", "--reason", "The schema is done", "--format", "markdown")


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    """A memory with a section that claude owns, and a state that says what comes next."""

    def make() -> None:
        memctl("section", "add", "Payment", "--path", "app.py")
        memctl("section", "add", "Search")
        memctl(
            "state",
            "Refunds",
            "--task",
            "Refunds by card are tested",
            "--next",
            "Write the cascade",
            "--section",
            "2.1",
        )
        memctl("own", "acquire", "2.1", "--reason", "mine")

    once(make)
    return repo


def owner(memctl: Memctl, where: Path, section: str = "§2.1") -> str:
    found = memctl("own", "list", "--json", where=where).data["sections"]
    return next((one["owner_agent_id"] for one in found if one["section_id"] == section), "")


def offers(memctl: Memctl, where: Path) -> list[Any]:
    data: list[Any] = memctl("handoff", "list", "--all", "--json", where=where).data["handoffs"]
    return data


def agree(memctl: Memctl, where: Path, step: object) -> bool:
    """Whether a section has a new owner exactly if an offer says so, both committed."""
    found = [one for one in offers(memctl, where) if one["record"]["status"] == "offered"]
    assert (owner(memctl, where) == "bob") == bool(found), f"step {step}"
    assert git(where, "status", "--porcelain") == "", f"step {step}"
    assert not memctl("status", "--json", where=where).data["pending"], f"step {step}"
    if found:
        text = memctl("handoff", "show", found[0]["record"]["id"], where=where).out
        assert text.startswith("# Handoff of shop")
        assert "Write the cascade" in text
    return bool(found)


def copied(repo: Path, name: str, *more: Path) -> Path:
    victim = repo.parent / name / repo.name
    shutil.copytree(repo, victim, symlinks=True)
    for other in more:
        shutil.copytree(other, victim.parent / other.name, symlinks=True)
    return victim


@strides(37)
def test_an_offer_killed_at_any_step_has_happened_or_not_after_the_next_command(
    shop: Path, memctl: Memctl, stride: int
) -> None:
    last = steps_of(shop, shop.parent / "probes", *OFFER)
    assert last > 30
    outcomes = set()
    for step in range(1, last, stride):
        victim = copied(shop, f"victim{step}")
        assert run_until(step, victim, *OFFER) == -9, f"step {step}"
        for lock in ("index.lock", "refs/memctl/coordination.lock"):
            (victim / ".git" / lock).unlink(missing_ok=True)
        memctl("learn", "The next write", where=victim)
        happened = agree(memctl, victim, step)
        assert git(victim, "log", "--format=%s").count("handoff HND") == happened, f"step {step}"
        outcomes.add(happened)
        if not happened:
            memctl(*OFFER, where=victim)
            assert agree(memctl, victim, f"{step}, again")
        shutil.rmtree(victim.parent)
    assert outcomes == {False, True}


@strides(37)
@pytest.mark.parametrize(
    ("answer", "agent", "happened"),
    [
        ("accept", "bob", ("accepted", "bob")),
        *slow(("decline", "bob", ("declined", "claude")), ("withdraw", "claude", ("withdrawn", "claude"))),
    ],
)
def test_an_answer_killed_at_any_step_has_happened_or_not_after_the_next_command(
    shop: Path,
    memctl: Memctl,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    agent: str,
    happened: tuple[str, str],
    stride: int,
) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    monkeypatch.setenv("MEMCTL_AGENT", agent)
    command = ("handoff", answer, made, "--reason", "No access")
    last = steps_of(shop, shop.parent / "probes", *command)
    assert last > 20
    for step in range(1, last, stride):
        victim = copied(shop, f"victim{step}")
        assert run_until(step, victim, *command) == -9, f"step {step}"
        for lock in ("index.lock", "refs/memctl/coordination.lock"):
            (victim / ".git" / lock).unlink(missing_ok=True)
        memctl("own", "acquire", "2.2", where=victim)
        memctl("commit", where=victim)
        status = offers(memctl, victim)[0]["record"]["status"]
        assert (status, owner(memctl, victim)) in {("offered", "bob"), happened}, f"step {step}"
        is_active = "bob" in memctl("coordination", "show", "--json", where=victim).data["active_agents"]
        assert is_active == (status == "accepted"), f"step {step}"
        assert git(victim, "log", "--format=%s").count(f"{answer} {made}") == (status != "offered"), f"step {step}"
        assert git(victim, "status", "--porcelain") == "", f"step {step}"
        shutil.rmtree(victim.parent)


@pytest.fixture
def shared(shop: Path, tmp_path: Path) -> Path:
    """The same, with a bare remote that has its state; the address is relative, so that copies have their own."""
    bare = tmp_path / "hub.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(shop, "remote", "add", "hub", "../hub.git")
    git(shop, "push", "-q", "hub", "main")
    return shop


@pytest.mark.parametrize("stride", slow(1))
def test_an_offer_through_a_remote_killed_at_any_step_is_finished_or_undone(
    shared: Path, memctl: Memctl, tmp_path: Path, stride: int
) -> None:
    memctl("own", "acquire", "2.1", "--remote", "hub")
    command = (*OFFER, "--remote", "hub")
    step = 1 - stride
    said: set[str] = set()
    while True:
        step += stride
        victim = copied(shared, f"victim{step}", tmp_path / "hub.git")
        if run_until(step, victim, *command) == 0:
            break
        for lock in (
            ".git/index.lock",
            ".git/refs/memctl/coordination.lock",
            "../hub.git/refs/memctl/coordination.lock",
        ):
            (victim / lock).unlink(missing_ok=True)
        words = memctl("handoff", "recover", where=victim).out.partition(": ")
        memctl("learn", "The next write", where=victim)
        happened = agree(memctl, victim, step)
        assert words[0] in (("", "finished") if happened else ("", "undone")), f"step {step}"
        assert words[2].startswith("handoff HND-2025-11-04-") == bool(words[0])
        said.add(words[0])
        assert (owner(memctl, victim) == "bob") == happened
        memctl("own", "list", "--remote", "hub", where=victim)
        assert (owner(memctl, victim) == "bob") == happened, f"step {step}"
        shutil.rmtree(victim.parent)
    assert step > 30
    assert said >= {"", "finished"}


def test_push_with_unknown_outcome_is_checked_and_undone_by_recover(
    shared: Path, memctl: Memctl, tmp_path: Path
) -> None:
    memctl("own", "acquire", "2.1", "--remote", "hub")
    bare, away = tmp_path / "hub.git", tmp_path / "away"
    receiving = bare / "hooks" / "pre-receive"
    receiving.parent.mkdir(exist_ok=True)
    taken = "read _ _ ref; case $ref in refs/memctl/coordination)"
    receiving.write_text(f"#!/bin/sh\n{taken} mv '{bare}' '{away}'; kill -9 $PPID ;; esac\n")
    receiving.chmod(0o755)
    memctl(*OFFER, "--remote", "hub", code=1)
    assert "`memctl team handoff recover` finishes or undoes it" in memctl("handoff", "list").err
    shutil.move(away, bare)
    out = memctl("handoff", "recover").out
    assert out.startswith("undone: handoff HND-2025-11-04-")
    assert out.endswith("-1 To bob: Write the cascade; no section has changed its owner\n")
    assert not agree(memctl, shared, "undone")
    assert memctl("handoff", "recover").out == ""


def test_exactly_one_of_concurrent_handoffs_of_a_section_wins(shop: Path, memctl: Memctl) -> None:
    before = commits(shop)
    takers = ["bob", "carol", "dora"]
    running = [process(shop, *OFFER[:2], name, *OFFER[3:]) for name in takers]
    said = [one.communicate()[1] for one in running]
    codes = [one.returncode for one in running]
    assert sorted(codes) == [0, 1, 1]
    assert sum("§2.1 is owned by" in one for one in said) == 2
    assert owner(memctl, shop) == takers[codes.index(0)]
    assert [one["to_agent_id"] for one in offers(memctl, shop)] == [takers[codes.index(0)]]
    assert commits(shop) == before + 1


def test_remote_decides_between_handoffs_in_two_clones(
    shared: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")  # under a fixed clock both records would have one memory_id
    memctl("own", "acquire", "2.1", "--remote", "hub")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), str(other))
    git(other, "config", "memctl.trusted", "true")
    git(other, "remote", "add", "hub", "../hub.git")
    running = [
        process(where, *OFFER[:2], name, *OFFER[3:], "--remote", "hub")
        for where, name in ((shared, "bob"), (other, "carol"))
    ]
    said = [one.communicate()[1] for one in running]
    codes = [one.returncode for one in running]
    assert sorted(codes) == [0, 1]
    assert "§2.1 is owned by" in said[codes.index(1)]
    winner = ("bob", "carol")[codes.index(0)]
    for where, code in ((shared, codes[0]), (other, codes[1])):
        memctl("own", "list", "--remote", "hub", where=where)
        assert owner(memctl, where) == winner
        offered = [one for one in offers(memctl, where) if one["record"]["status"] == "offered"]
        takers = [one["to_agent_id"] for one in offered]
        assert takers == [winner] or (takers == [] and code == 1)


def test_handoff_refused_by_a_git_hook_keeps_the_owner(shop: Path, memctl: Memctl) -> None:
    hook(shop, "pre-commit", "echo no >&2; exit 1")
    before = commits(shop)
    refused = memctl(*OFFER, code=1)
    assert refused.out == ""
    assert "no section was handed over" in refused.err
    assert owner(memctl, shop) == "claude"
    assert offers(memctl, shop) == []
    assert git(shop, "status", "--porcelain") == ""
    assert commits(shop) == before
    (shop / ".git/hooks/pre-commit").unlink()
    memctl("learn", "The next write")
    assert not agree(memctl, shop, "refused")
    memctl(*OFFER)
    assert agree(memctl, shop, "again")


def test_handoff_refused_by_a_git_hook_is_undone_at_the_remote(shared: Path, memctl: Memctl) -> None:
    memctl("own", "acquire", "2.1", "--remote", "hub")
    hook(shared, "pre-commit", "exit 1")
    memctl(*OFFER, "--remote", "hub", code=1)
    memctl("own", "list", "--remote", "hub")
    assert owner(memctl, shared) == "claude"
    assert offers(memctl, shared) == []


def test_handoff_is_refused_during_a_merge(shop: Path, memctl: Memctl) -> None:
    (shop / ".git/MERGE_HEAD").write_text("")
    assert "a merge is under way" in memctl(*OFFER, code=1).err
    assert owner(memctl, shop) == "claude"
    assert git(shop, "status", "--porcelain", check=False) == ""


def test_unreachable_remote_leaves_the_handoff_unchanged(shared: Path, memctl: Memctl, tmp_path: Path) -> None:
    shutil.move(tmp_path / "hub.git", tmp_path / "away.git")
    memctl(*OFFER, "--remote", "hub", code=1)
    assert owner(memctl, shared) == "claude"
    assert offers(memctl, shared) == []
    memctl("learn", "The next write")
    assert not agree(memctl, shared, "away")


def test_record_edited_before_the_answer_is_merged_not_overwritten(shop: Path, memctl: Memctl, bob: Memctl) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    memctl("edit", made, "--add", "tags=urgent")
    bob("handoff", "accept", made)
    record = memctl("show", made, "--json").data["records"][0]
    assert (record["status"], record["tags"]) == ("accepted", ["urgent"])
