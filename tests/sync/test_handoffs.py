"""A handoff that two clones answered before either knew of the other: its status and who owns its sections agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, Once, git, slow
from tests.sync.test_kinds import GIVEN, owners, synced

ANSWERS = {"accept": "accepted", "decline": "declined", "withdraw": "withdrawn"}
OWNERS = {
    "accepted": {"§2.1": "bob", "§2.2": "bob"},
    "declined": {"§2.1": "claude"},
    "withdrawn": {"§2.1": "claude"},
}


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def given(memctl: Memctl, one: Path, two: Path, once: Once) -> str:
    """A handoff to bob that both clones know: of a section of claude's, and of one that nobody owned."""

    def make() -> str:
        memctl("section", "add", "Search", where=one)
        memctl("own", "acquire", "2.1", "--reason", "mine", where=one)
        made = memctl("handoff", "--to", "bob", "--section", "2.1,2.2", *GIVEN, "--json", where=one).data["id"]
        synced(memctl, one, two)
        return str(made)

    return str(once(make))


def status(memctl: Memctl, clone: Path) -> str:
    found = memctl("handoff", "list", "--all", "--json", where=clone).data["handoffs"]
    return str(found[0]["record"]["status"])


def at_work(memctl: Memctl, clone: Path) -> dict[str, Any]:
    found: dict[str, Any] = memctl("coordination", "show", "--json", where=clone).data["active_agents"]
    return found


def contradictions(memctl: Memctl, clone: Path) -> list[str]:
    findings = memctl("check", "--select", "MEM602", "--json", where=clone).data["findings"]
    return [one["message"] for one in findings]


@pytest.mark.parametrize(
    ("of_one", "of_two", "first", "remote"),
    [
        ("withdraw", "accept", 0, ()),
        ("withdraw", "accept", 1, ("--remote", "origin")),
        *slow(("withdraw", "decline", 1, ()), ("accept", "decline", 0, ("--remote", "origin"))),
    ],
)
def test_answer_published_first_decides_the_owner_of_the_sections(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path, of_one: str, of_two: str, first: int,
    remote: tuple[str, ...],
) -> None:  # fmt: skip
    for name, clone, more in ((of_one, one, remote), (of_two, two, ())):
        who = memctl if name == "withdraw" else bob
        who("handoff", name, given, "--reason", f"Said in {clone.name}", *more, where=clone)
    order = (one, two) if first == 0 else (two, one)
    memctl("sync", where=order[0])
    memctl("sync", where=order[1])
    memctl("sync", where=order[0])
    wins = ANSWERS[(of_one, of_two)[first]]
    for clone in (one, two):
        assert status(memctl, clone) == wins
        assert owners(memctl, clone) == OWNERS[wins]
        assert ("bob" in at_work(memctl, clone)) == (wins == "accepted")
        assert contradictions(memctl, clone) == []
        text = memctl("show", given, where=clone).out
        other = order[1].name
        assert f"Said in {other}" not in text  # the words of an answer go with it


@pytest.mark.parametrize(
    ("first", "then"),
    [("withdraw", "accept"), *slow(("accept", "withdraw"), ("decline", "accept"))],
)
def test_second_answer_at_the_remote_is_refused(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path, first: str, then: str
) -> None:
    who = {"withdraw": memctl, "accept": bob, "decline": bob}
    who[first]("handoff", first, given, "--remote", "origin", where=one)
    owned = owners(memctl, one)
    err = who[then]("handoff", then, given, "--remote", "origin", where=two, code=1).err
    assert f"{given} was already answered in another clone" in err
    assert "`memctl sync` fetches the answer" in err
    assert owners(memctl, two) == owned
    assert status(memctl, two) == "offered"
    synced(memctl, one, two)
    assert status(memctl, two) == ANSWERS[first]


def test_a_sync_reports_settled_ownership(memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path) -> None:
    memctl("handoff", "withdraw", given, "--reason", "After all", where=one)
    bob("handoff", "accept", given, where=two)
    memctl("sync", where=two)
    tried = memctl("sync", "-n", where=one).out
    assert f"ownership would change: {given} is accepted: §2.1 is bob's, no longer claude's" in tried
    assert owners(memctl, one) == {"§2.1": "claude"}
    data = memctl("sync", "--json", where=one).data
    assert data["coordination"]["settled"] == [
        f"{given} is accepted: §2.1 is bob's, no longer claude's",
        f"{given} is accepted: §2.2 is bob's, no longer nobody's",
    ]
    lost = {item["field"]: (item["lost"], item["kept"]) for item in data["lost"]}
    assert lost["status"] == ("withdrawn", "accepted")
    assert lost["answered_by"] == ("claude", "bob")
    assert lost["answer"] == ("After all", "")
    said = git(one, "log", "-1", "--format=%s", "refs/memctl/coordination")
    assert said.startswith(f"docs(memory): settle {given} is accepted")
    assert "ownership" not in memctl("sync", where=one).out


def test_handoff_settled_without_a_push_is_pushed_later(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path
) -> None:
    memctl("handoff", "withdraw", given, where=one)
    bob("handoff", "accept", given, where=two)
    memctl("sync", where=two)
    memctl("sync", "--no-push", where=one)
    assert owners(memctl, one) == OWNERS["accepted"]
    synced(memctl, one, two)
    assert owners(memctl, two) == OWNERS["accepted"]


def test_section_transferred_meanwhile_is_left_and_reported(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path
) -> None:
    bob("handoff", "accept", given, where=two)
    memctl("handoff", "withdraw", given, where=one)
    memctl("own", "transfer", "2.1", "--to", "carol", "--reason", "hers", where=one)
    memctl("sync", where=two)
    out = memctl("sync", where=one).out
    assert f"{given} is accepted, but meanwhile its section has another owner: §2.1 is owned by carol" in out
    assert f"{given} is accepted: bob is no longer at work on §2.1, which is carol's" in out
    synced(memctl, two, one)
    assert owners(memctl, two) == {"§2.1": "carol", "§2.2": "bob"}
    assert at_work(memctl, two)["bob"]["handoffs"][given]["sections"] == ["§2.2"]
    assert contradictions(memctl, one) == []


def test_sections_released_by_the_taker_are_not_given_back_to_it(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path
) -> None:
    bob("handoff", "accept", given, where=two)
    bob("own", "release", "2.1", "2.2", where=two)
    memctl("handoff", "withdraw", given, where=one)
    memctl("sync", where=two)
    memctl("sync", where=one)
    assert status(memctl, one) == "accepted"
    assert owners(memctl, one) == {}
    assert at_work(memctl, one) == {}


def test_section_declined_by_the_winning_answer_is_returned(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path
) -> None:
    bob("handoff", "accept", given, where=one)
    bob("handoff", "accept", given, "--decline", "2.1", where=two)
    memctl("sync", where=two)
    memctl("sync", where=one)
    assert owners(memctl, one) == {"§2.1": "claude", "§2.2": "bob"}
    assert contradictions(memctl, one) == []


@pytest.mark.parametrize(("preferred", "wins"), [("ours", "withdrawn"), ("theirs", "accepted")])
def test_a_merge_by_git_is_found_by_check_and_settled_by_recover(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path, preferred: str, wins: str
) -> None:
    memctl("handoff", "withdraw", given, where=one)
    bob("handoff", "accept", given, where=two)
    git(two, "push", "-q")
    git(one, "fetch", "-q")
    git(one, "merge", "-q", "-X", preferred, "-m", "Join", "origin/main")
    assert status(memctl, one) == wins
    memctl("own", "list", "--remote", "origin", where=one)
    expected = [] if wins == "withdrawn" else ["and nobody owns §2.2", "and §2.1 is owned by claude"]
    found = contradictions(memctl, one)
    assert len(found) == len(expected)
    assert all(part in line for part, line in zip(expected, found, strict=True))
    out = memctl("handoff", "recover", "--remote", "origin", where=one).out
    assert out.count("settled: ") == len(expected)
    assert owners(memctl, one) == OWNERS[wins]
    assert contradictions(memctl, one) == []
    assert "nothing to repair" in memctl("handoff", "recover", where=one).err
    memctl("own", "list", "--remote", "origin", where=two)
    assert owners(memctl, two) == OWNERS[wins]


def test_sync_killed_before_settling_ownership_is_finished_by_the_next(
    memctl: Memctl, bob: Memctl, given: str, one: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memctl.git.refs._PATIENCE", 0.2)
    memctl("handoff", "withdraw", given, where=one)
    bob("handoff", "accept", given, where=two)
    memctl("sync", where=two)
    ref = one / ".git/refs/memctl/coordination.lock"
    ref.write_text("")  # nobody can move it, as after a kill
    assert "could not be synced" in memctl("sync", where=one, code=1).err
    assert (status(memctl, one), owners(memctl, one)) == ("accepted", {"§2.1": "claude"})
    assert contradictions(memctl, one)
    ref.unlink()
    assert f"ownership: {given} is accepted: §2.1 is bob's" in memctl("sync", where=one).out
    assert owners(memctl, one) == OWNERS["accepted"]


def test_record_is_at_the_remote_before_its_section_has_another_owner(
    memctl: Memctl, bob: Memctl, one: Path, two: Path
) -> None:
    memctl("section", "add", "Search", where=one)
    synced(memctl, one, two)
    options = ("--to", "bob", "--section", "2.1", "--remote", "origin", *GIVEN)
    said = memctl("handoff", *options, where=one).err
    assert "origin has the record and the sections' owner: bob can accept it after `memctl sync`" in said
    assert git(one, "ls-remote", "origin", "main").split()[0] == git(one, "rev-parse", "HEAD").strip()
    bob("sync", where=two)
    made = bob("handoff", "list", "--json", where=two).data["handoffs"][0]["record"]["id"]
    assert "accepted" in bob("handoff", "accept", made, where=two).out
