"""What is said of handoffs when a task is taken up: what they were then, and what they are now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl

OFFER = (
    "handoff",
    "--to",
    "bob",
    "--reason",
    "Done",
    "--summary",
    "It stands",
    "--immediate",
    "Go",
    "--success",
    "Yes",
)
SAVE = ("checkpoint", "save", "--task", "Refunds", "--next", "Test", "--expect", "POST", "--constraint", "none")


@pytest.mark.parametrize(
    ("answer", "became"), [("accept", "accepted"), ("withdraw", "withdrawn"), ("decline", "declined")]
)
def test_a_handoff_answered_since_the_checkpoint_is_not_said_to_be_offered(
    repo: Path, memctl: Memctl, bob: Memctl, answer: str, became: str
) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    memctl(*SAVE)
    offered = f"- agent_handoff: {made} was offered"
    assert f"{offered}\n" in memctl("checkpoint", "resume").out
    (memctl if answer == "withdraw" else bob)("handoff", answer, made)
    out = memctl("checkpoint", "resume").out
    assert f"{offered}; it is {became} now\n" in out
    assert f"{made} was {became}" in out
    assert "is offered" not in out


def test_a_checkpoint_from_before_says_it_like_the_others(repo: Path, memctl: Memctl, bob: Memctl) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    memctl(*SAVE)
    path = next((repo / ".memory" / "checkpoints").rglob("*.json"))
    path.write_text(path.read_text().replace(f"{made} was offered", f"{made} is offered"))
    bob("handoff", "accept", made)
    assert f"agent_handoff: {made} was offered; it is accepted now" in memctl("checkpoint", "resume").out


def test_of_an_id_that_two_handoffs_had_nothing_is_said_that_may_be_the_other_s(
    repo: Path, memctl: Memctl, bob: Memctl
) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    memctl(*SAVE)
    bob("handoff", "accept", made)
    record = next((repo / ".memory" / "handoffs").rglob("*.md"))
    other = record.with_name(record.name.replace("-001-", "-123456-"))
    text = (
        record.read_text().replace(f"id: {made}", f"id: {made[:-3]}123456", 1).replace("memory_id: 0", "memory_id: 1")
    )
    other.write_text(text.replace("title:", f"aliases: [{made}]\ntitle:", 1))
    assert "it is accepted now" not in memctl("checkpoint", "resume").out
