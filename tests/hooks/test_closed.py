"""What an owner keeps from others does not reach an agent by its hooks either."""

from __future__ import annotations

import pytest

from tests.conftest import Memctl, Once
from tests.hooks.session import Session


@pytest.fixture
def closed(memctl: Memctl, bob: Memctl, once: Once, monkeypatch: pytest.MonkeyPatch) -> str:
    """A record of a section that bob keeps to elena; it is bob who asks."""

    def make() -> str:
        memctl("section", "add", "Payment")
        memctl("detail", "add", "Cards", "--section", "2.1", "--file", "-", stdin="Zebrafish.\n")
        made = memctl("decide", "Zebrafish hold the keys", "-i", "10", "--section", "3.1").id
        memctl("learn", "Open to everybody", "-i", "10")
        bob("own", "acquire", "2.1", "--reader", "elena", "--for", "4h")
        return made

    made = str(once(make))
    monkeypatch.setenv("MEMCTL_AGENT", "bob")
    return made


@pytest.mark.parametrize("agent", [None, "", "cody"])
def test_a_closed_record_is_not_in_the_pack(
    session: Session, closed: str, agent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_AGENT")
    text = session.context("SessionStart", environ=None if agent is None else {"MEMCTL_AGENT": agent}, source="startup")
    assert "Open to everybody" in text
    assert "Zebrafish" not in text


def test_closed_record_is_given_to_its_owner(session: Session, closed: str) -> None:
    assert "Zebrafish" in session.context("SessionStart", source="startup")


def test_a_closed_record_is_not_in_the_state_after_a_compaction(
    session: Session, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_AGENT")
    session.transcript.prompt("Refunds")
    session.send("PreCompact", trigger="auto")
    text = session.context("SessionStart", source="compact")
    assert "Open to everybody" in text
    assert "Zebrafish" not in text
    assert session.faults() == []
