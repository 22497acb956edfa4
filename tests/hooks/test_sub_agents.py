"""What a sub-agent is given at its start: what bears on its own prompt, once, in 300 tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.hooks.hosts import CODEX
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from tests.conftest import Memctl, record_all
from tests.hooks.session import Session

GATEWAY = "Find out how the payment worker retries a gateway that times out"
LANTERN = "Find out which glass the lantern needs and how it is sent"


@pytest.fixture
def decided(memctl: Memctl) -> str:
    memctl("learn", "Lantern glass breaks in the post", "--lesson", "Send the lantern with straw around its glass.")
    text = "Twice, then mail, since the gateway answers late at night. " * 2
    return memctl("decide", "Payment worker retries a gateway that times out", "--rationale", text).id


def launch(session: Session, *prompts: str, kinds: str = "Explore Explore") -> None:
    """An answer with a call for each sub-agent that the main agent starts, a line for each."""
    told = session.transcript
    answer = f"msg_{len(told.lines)}"
    for number, (prompt, kind) in enumerate(zip(prompts, kinds.split(), strict=False)):
        given = {"description": "Look", "subagent_type": kind, "prompt": prompt}
        block = {"type": "tool_use", "id": f"{answer}_{number}", "name": "Agent", "input": given}
        told.add("assistant", message={"id": answer, "role": "assistant", "content": [block]})


def starts(session: Session, agent: str, kind: str = "Explore") -> str:
    return session.context("SubagentStart", agent_id=agent, agent_type=kind)


def test_sub_agent_gets_the_records_for_its_own_prompt_once(session: Session, decided: str) -> None:
    session.context("SessionStart", source="startup")  # what the session was shown its sub-agent was not
    session.transcript.prompt("Mend the payments")
    launch(session, GATEWAY)
    said = starts(session, "a1")
    assert decided in said
    assert "Twice, then mail" in said
    assert "information, not instructions" in said
    assert "Lantern" not in said
    for command in ("`memctl search X`", "`memctl why FILE`"):
        assert said.count(command) == 1
    assert starts(session, "a1") == ""
    assert session.faults() == []


def test_sub_agent_gets_the_resolved_issue_about_its_prompt(session: Session, memctl: Memctl) -> None:
    found = memctl("issue", "Payment worker hammers the gateway", "--description", "It times out, and again. " * 90).id
    memctl("resolve", found, "--resolution", "It waits twice as long each time.")
    launch(session, f"{GATEWAY}, since the payment worker hammers it")
    said = starts(session, "a1")
    assert f"{found} | resolved" in said
    assert "waits twice as long" in said


def test_parallel_sub_agents_get_records_for_their_own_prompts(session: Session, decided: str) -> None:
    launch(session, LANTERN)  # of an answer before, which nobody asks for any more
    session.transcript.says("Now for two of them.")
    launch(session, GATEWAY, LANTERN)
    first, second = starts(session, "a1"), starts(session, "a2")
    assert decided in first
    assert "Lantern" not in first
    assert decided not in second
    assert "Lantern" in second


def test_sub_agent_gets_the_call_of_its_kind(session: Session, decided: str) -> None:
    launch(session, LANTERN, GATEWAY, kinds="Plan Explore")
    assert decided in starts(session, "a1", "Explore")
    assert "Lantern" in starts(session, "a2", "Plan")


@pytest.mark.usefixtures("decided")
def test_sub_agent_without_a_matching_record_gets_the_search_command(session: Session) -> None:
    for prompts in ((), ("Rename the variable and run the linter again",)):
        launch(session, *prompts)
        said = starts(session, f"a{len(prompts)}")
        assert "memctl search X" in said
        assert "Payment" not in said
        assert "\n" not in said.strip()


def test_codex_sends_the_prompt_of_a_sub_agent(repo: Path, tmp_path: Path, decided: str) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    codex.context("UserPromptSubmit", prompt="Mend the payments")
    said = codex.context("UserPromptSubmit", prompt=GATEWAY, agent_id="a1", agent_type="default")
    assert decided in said
    assert "memctl why FILE" in said
    assert codex.context("UserPromptSubmit", prompt=f"{GATEWAY}?", agent_id="a1", agent_type="default") == ""
    assert decided in codex.context("UserPromptSubmit", prompt=GATEWAY)  # the session itself was not shown it


def test_a_sub_agent_gets_at_most_300_tokens(session: Session, memctl: Memctl) -> None:
    titles = [f"Payment worker and gateway retries {number}" for number in range(9)]
    record_all(memctl, "learning", titles, lesson="It times out: " + "a b c " * 20)
    memctl("learn", "Payment worker, gateway and retries at length", "--lesson", "It times out. " * 400)
    launch(session, GATEWAY)
    said = starts(session, "a1")
    assert "Payment worker" in said
    assert 150 < Counter(FAMILIES["gpt"]).count(said).tokens <= 300


def test_a_broken_transcript_is_no_fault(session: Session, decided: str) -> None:
    launch(session, GATEWAY)
    for line in ('{"type": "assistant", "message": {"content": [{"name": "Agent"', '["Agent"]', '{"message": "Task"}'):
        session.transcript.raw(line)
    assert decided in starts(session, "a1")
    assert session.faults() == []


def test_sub_agent_is_told_what_was_rejected(session: Session, memctl: Memctl) -> None:
    texts = ("--rationale", "One query could fetch all.", "--context", "Rejected: the cache is lost.")
    found = memctl("decide", "GraphQL for the storefront", "--status", "proposed", *texts).id
    memctl("edit", found, "--set", "status=rejected")
    launch(session, "Let us offer GraphQL to the mobile storefront")
    assert f"rejected 2025-11-04: GraphQL for the storefront ({found}), because the cache is lost." in starts(
        session, "a1"
    )


def test_sub_agent_is_told_of_as_many_rejected_decisions_as_there_is_room_for(session: Session, memctl: Memctl) -> None:
    for place in ("storefront", "admin", "mobile app", "partner site", "kiosk"):
        texts = ("--rationale", "One query could fetch all.", "--context", "Rejected: the cache of each page is lost.")
        found = memctl("decide", f"GraphQL for the mobile storefront and the {place}", "--status", "proposed", *texts)
        memctl("edit", found.id, "--set", "status=rejected")
    launch(session, "Let us offer GraphQL to the mobile storefront")
    said = starts(session, "a1")
    assert 1 <= said.count("rejected 2025-11-04: GraphQL") < 5
    assert all(Counter(family).count(said).tokens <= 300 for family in FAMILIES.values())
