"""An agent's own calls of memctl, from the shell that its program opens for it: whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.store import agent_env
from tests.conftest import Memctl, git

NAMES = ("MEMCTL_AGENT", "MEMCTL_SESSION")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, ("", "")),
        ({"CODEX_SESSION_ID": "01a2-be"}, ("codex", "01a2-be")),
        ({"CODEX_SESSION_ID": "../../x y"}, ("codex", "x-y")),
        ({"CODEX_SESSION_ID": ""}, ("", "")),
        ({"CLAUDECODE": "1"}, ("claude-code", "")),
        ({"GEMINI_CLI": "1"}, ("gemini", "")),
        ({"GEMINI_CLI": "1", "MEMCTL_AGENT": "ada", "MEMCTL_SESSION": "refunds"}, ("ada", "refunds")),
        ({"CODEX_SESSION_ID": "01a2", "MEMCTL_AGENT": "ada"}, ("ada", "01a2")),
    ],
)
def test_variables_of_a_program_name_its_agent_unless_already_set(given: dict[str, str], told: tuple[str, str]) -> None:
    found = agent_env.with_agent(given)
    assert tuple(found.get(name, "") for name in NAMES) == told
    assert {name: found[name] for name in given} == given


def test_record_from_an_agents_shell_has_its_agent_and_session(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_AGENT")
    monkeypatch.setenv("CODEX_SESSION_ID", "01a2be")
    memctl("learn", "Retries hide an exhausted pool", "--lesson", "Look at the pool first")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "codex"
    assert git(repo, "log", "-1", "--format=%(trailers:key=Memctl-Session,valueonly)").strip() == "01a2be"
