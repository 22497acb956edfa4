"""What a resume text says of a handoff that was answered since the checkpoint."""

from __future__ import annotations

from pathlib import Path

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


def test_handoff_answered_after_the_checkpoint_is_listed_as_an_event(repo: Path, memctl: Memctl, bob: Memctl) -> None:
    made = memctl(*OFFER, "--json").data["id"]
    memctl(*SAVE)
    assert f"- agent_handoff: {made} was offered\n" in memctl("checkpoint", "resume").out
    bob("handoff", "accept", made)
    assert f"1 event since: agent_handoff: {made} was accepted" in memctl("checkpoint", "resume").out
