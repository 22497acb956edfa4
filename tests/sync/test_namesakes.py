"""Two handoffs with one id, from two clones: the answer to one never counts for the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git, slow
from tests.sync.test_handoffs import at_work, contradictions
from tests.sync.test_kinds import GIVEN, owners, synced


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def named(memctl: Memctl, one: Path, two: Path, once: Once) -> tuple[str, str]:
    """Two handoffs to bob that had one id, each of a section of its own: the one that kept it, and the other."""

    def make() -> tuple[str, str]:
        memctl("section", "add", "Search", where=one)
        synced(memctl, one, two)
        first = memctl("handoff", "--to", "bob", "--section", "2.1", *GIVEN, "--json", where=one).data["id"]
        second = memctl("handoff", "--to", "bob", "--section", "2.2", *GIVEN, "--json", where=two).data["id"]
        assert first == second
        synced(memctl, one, two)
        found = memctl("handoff", "list", "--all", "--json", where=one).data["handoffs"]
        ids = {item["record"]["id"] for item in found}
        assert len(ids) == 2
        return first, next(iter(ids - {first}))

    made: tuple[str, str] = once(make)
    return made


@pytest.mark.parametrize("answered", ["decline", *slow("withdraw")])
def test_renamed_handoff_is_answered_while_its_namesake_is_accepted(
    memctl: Memctl, bob: Memctl, named: tuple[str, str], one: Path, two: Path, answered: str
) -> None:
    kept, renamed = named
    bob("handoff", "accept", kept, where=one)
    (bob if answered == "decline" else memctl)("handoff", answered, renamed, where=one)
    synced(memctl, one, two)
    for clone in (one, two):
        assert [*at_work(memctl, clone)["bob"]["handoffs"]] == [kept]
        assert contradictions(memctl, clone) == []
        assert "bob" in owners(memctl, clone).values()
        assert len(owners(memctl, clone)) == 1


def test_declining_a_renamed_handoff_keeps_the_sections_of_its_namesake(
    memctl: Memctl, bob: Memctl, named: tuple[str, str], one: Path, two: Path
) -> None:
    kept, renamed = named
    bob("handoff", "decline", renamed, where=one)
    bob("handoff", "accept", kept, where=two)
    synced(memctl, one, two)
    for clone in (one, two):
        assert [*at_work(memctl, clone)["bob"]["handoffs"]] == [kept]
        assert contradictions(memctl, clone) == []


def test_handoff_accepted_under_a_reassigned_id_has_the_new_id(
    memctl: Memctl, bob: Memctl, one: Path, two: Path
) -> None:
    """The clone whose handoff gets another id has accepted it already."""
    memctl("section", "add", "Search", where=one)
    synced(memctl, one, two)
    offer = ("handoff", "--to", "bob", *GIVEN, "--json")
    first = memctl(*offer, "--section", "2.1", where=one).data["id"]
    assert memctl(*offer, "--section", "2.2", where=two).data["id"] == first
    bob("handoff", "accept", first, where=two)
    synced(memctl, one, two)
    assert owners(memctl, one) == {"§2.1": "bob", "§2.2": "bob"}
    (renamed,) = at_work(memctl, one)["bob"]["handoffs"]
    assert renamed != first
    bob("handoff", "decline", first, where=one)
    assert owners(memctl, one) == {"§2.2": "bob"}
    assert contradictions(memctl, one) == []


def test_two_handoffs_with_one_id_merged_by_git_are_both_left_unsettled(
    memctl: Memctl, bob: Memctl, one: Path, two: Path
) -> None:
    memctl("section", "add", "Search", where=one)
    synced(memctl, one, two)
    offer = ("handoff", "--to", "bob", *GIVEN, "--json")
    first = memctl(*offer, "--section", "2.1", "--task", "Pay", where=one).data["id"]
    memctl(*offer, "--section", "2.2", "--task", "Find", where=two)
    bob("handoff", "accept", first, where=one)
    bob("handoff", "decline", first, where=two)
    git(two, "push", "-q", "origin", "HEAD:apart")
    git(one, "pull", "-q", "--no-rebase", "--no-edit", "origin", "apart", check=False)
    git(one, "add", "--all")
    assert contradictions(memctl, one) == []
    assert "nothing to repair" in memctl("handoff", "recover", where=one, code=None).err
    assert [*at_work(memctl, one)["bob"]["handoffs"]] == [first]


def test_undo_of_a_renumbering_says_that_others_know_its_ids(memctl: Memctl, one: Path, two: Path) -> None:
    for clone in (one, two):
        memctl("learn", f"By {clone.name}", where=clone)
    git(two, "push", "-q")
    git(one, "pull", "-q", "--no-rebase", "--no-edit")
    memctl("renumber", where=one)
    assert "warning" not in memctl("undo", "-n", where=one).err
    git(one, "push", "-q")
    said = memctl("undo", where=one).err
    assert "warning: a remote has this renumbering, so others may refer to ids that it gave" in said
    assert "MEM104" in memctl("check", where=one, code=1).out
