"""Who is at work by a handoff, and until when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, Once

OFFER = ("--reason", "Done", "--summary", "It stands well", "--immediate", "Go on", "--success", "It works", "--json")


@pytest.fixture
def accepted(repo: Path, memctl: Memctl, bob: Memctl, once: Once) -> str:
    """A handoff of two sections that bob has accepted."""

    def make() -> str:
        memctl("section", "add", "Payment")
        memctl("section", "add", "Search")
        made = memctl("handoff", "--to", "bob", "--section", "2.1,2.2", "--task", "Refunds", *OFFER).data["id"]
        bob("handoff", "accept", made)
        return str(made)

    return str(once(make))


def at_work(memctl: Memctl) -> dict[str, Any]:
    found: dict[str, Any] = memctl("coordination", "show", "--json").data["active_agents"]
    return found


def test_an_accepted_handoff_puts_its_taker_at_work_on_the_sections(memctl: Memctl, accepted: str) -> None:
    assert at_work(memctl)["bob"]["handoffs"][accepted]["sections"] == ["§2.1", "§2.2"]
    assert f"Refunds ({accepted}: §2.1 §2.2)" in memctl("coordination", "show").out


def test_agent_without_sections_after_a_release_is_no_longer_at_work(
    memctl: Memctl, bob: Memctl, accepted: str
) -> None:
    bob("own", "release", "2.1")
    assert at_work(memctl)["bob"]["handoffs"][accepted]["sections"] == ["§2.2"]
    bob("own", "release", "§2.2")
    assert at_work(memctl) == {}


@pytest.mark.parametrize("how", [("transfer",), ("acquire",)])
def test_agent_that_loses_all_sections_is_no_longer_at_work(
    memctl: Memctl, bob: Memctl, accepted: str, how: tuple[str, ...]
) -> None:
    if how == ("transfer",):
        bob("own", "transfer", "2.1", "2.2", "--to", "carol", "--reason", "hers")
    else:
        memctl("own", "acquire", "2.1", "2.2", "--force", "--reason", "bob is gone")
    assert at_work(memctl) == {}


def test_a_giver_is_at_work_until_the_handoff_is_accepted(
    memctl: Memctl, bob: Memctl, accepted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    on = bob("handoff", "--to", "carol", "--section", "2.1,2.2", "--task", "Refunds", *OFFER).data["id"]
    assert list(at_work(memctl)) == ["bob"]
    monkeypatch.setenv("MEMCTL_AGENT", "carol")
    memctl("handoff", "decline", on, "--reason", "no")
    assert list(at_work(memctl)) == ["bob"]
    monkeypatch.setenv("MEMCTL_AGENT", "claude")
    on = bob("handoff", "--to", "carol", "--section", "2.1,2.2", "--task", "Refunds", *OFFER).data["id"]
    monkeypatch.setenv("MEMCTL_AGENT", "carol")
    memctl("handoff", "accept", on)
    assert list(at_work(memctl)) == ["carol"]


def test_an_agent_at_work_before_stays_with_the_task_that_it_named_since(
    memctl: Memctl, bob: Memctl, accepted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob("coordination", "join", "--task", "My own")
    bob("own", "release", "2.1", "2.2")
    assert at_work(memctl)["bob"] == {"joined_at": "2025-11-04T14:32:00Z", "task": "My own", "handoffs": {}}
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T15:00:00Z")
    made = memctl("handoff", "--to", "bob", "--section", "2.1", "--task", "Search", *OFFER).data["id"]
    bob("handoff", "accept", made)
    bob("own", "release", "2.1")
    assert at_work(memctl)["bob"] == {"joined_at": "2025-11-04T14:32:00Z", "task": "", "handoffs": {}}


def test_releasing_one_of_two_handoffs_keeps_the_task_of_the_other(memctl: Memctl, bob: Memctl, accepted: str) -> None:
    memctl("section", "add", "Mail")
    second = memctl("handoff", "--to", "bob", "--section", "2.3", "--task", "Mails", *OFFER).data["id"]
    bob("handoff", "accept", second)
    assert at_work(memctl)["bob"]["task"] == "Mails"
    bob("own", "release", "2.3")
    assert at_work(memctl)["bob"]["task"] == "Refunds"
