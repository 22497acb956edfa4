"""Gemini CLI itself with our hooks, from start through tools and a resume over a compression: what reaches the model.

Seen with version 0.61.0. It needs no network: the Gemini API is a stand-in on this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.hooks.compaction import INSTRUCTIONS
from memctl.hooks.dispatch import GUARD
from tests.agents.generate_content_api import GenerateContentAPI, all_text, call
from tests.agents.program import (
    DECISION,
    FINDING,
    REFUSED,
    Gemini,
    expect_recorded_and_found,
    expect_refused,
    found,
    install_twice,
    page_of,
)
from tests.conftest import Memctl, git, record_all

SETTING = "MEMCTL_TEST_GEMINI"  # the program, if it is not on the PATH
PROGRAM = found(SETTING, "gemini", "gemini/node_modules/.bin/gemini")
pytestmark = pytest.mark.skipif(
    not PROGRAM, reason=f"Gemini CLI is not installed (npm: @google/gemini-cli), nor named by {SETTING}"
)


@pytest.fixture
def api() -> Iterator[GenerateContentAPI]:
    with GenerateContentAPI([], "<state_snapshot>Refunds are under way.</state_snapshot>") as made:
        yield made


@pytest.fixture
def gemini(repo: Path, tmp_path: Path, api: GenerateContentAPI, monkeypatch: pytest.MonkeyPatch) -> Gemini:
    monkeypatch.delenv("MEMCTL_NOW")
    home = tmp_path / "agents-home"
    home.mkdir()
    return Gemini(PROGRAM, repo, home, api)


def told(api: GenerateContentAPI, number: int) -> str:
    return all_text(api.asked[number])


def test_a_session_from_its_start_over_a_resume_and_a_compression_to_its_end(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9")
    memctl("issue", "Checkout times out", "--severity", "critical", "--next", "Queue connections")
    memctl("install", "gemini", "--yes")
    api.answers += [
        (1_000, [call("run_shell_command", command="cat app.py")]),
        (1_000, [call("write_file", file_path=str(repo / "card.py"), content="def refund(): ...\n")]),
    ]
    gemini.run("Refunds by card: orders can be refunded")
    # The pack is there before the first answer, once, and nothing is said to come from a compaction.
    assert told(api, 0).count("# Memory of shop") == 1
    assert "Adopt PostgreSQL" in told(api, 0)
    assert "shop" in told(api, 1)
    assert "RESUME" not in told(api, 2)
    assert memctl("hook", "log", "--json").data["total"] == 0
    # The session ended: its page is in the memory, in a commit.
    page = page_of(repo, gemini.session)
    assert "| `card.py` | created |" in page
    assert git(repo, "status", "--porcelain", "--", ".memory") == ""

    # Two prompts make what it can compress. What was recorded since comes with the resume.
    memctl("learn", "Retries hide an exhausted pool", "--lesson", "Look at the pool first")
    gemini.settings(model={"compressionThreshold": 0.02})
    api.answers += [
        (1_000, [call("run_shell_command", command="true")]),
        (50_000, [call("run_shell_command", command="true")]),
        (2_000, [call("run_shell_command", command="true")]),
    ]
    number, first = len(api.asked), gemini.session
    gemini.run("Go on")
    assert gemini.session == first
    assert "Retries hide an exhausted pool" in told(api, number)
    assert INSTRUCTIONS.splitlines()[0] not in all_text(api.summarised[0])  # it takes none of ours
    # After the compression the model has the program's summary, and our state of the work with the next tool's result.
    text = told(api, len(api.asked) - 1)
    for line in ("Refunds are under way.", "RESUME: main, version 1", "TASK: Refunds by card", "- card.py"):
        assert text.count(line) == 1, line
    assert "Checkout times out" in text
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"] == "Refunds by card: orders can be refunded"
    assert saved["session"] == gemini.session
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["session"], one["host"], one["calls"]) == (gemini.session, "gemini", 4)
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0
    assert memctl("check", "--json", code=None).code == 0


def test_project_and_user_hooks_together_give_the_pack_once(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    install_twice(memctl, gemini, "gemini")
    api.answers += [(1_000, [call("run_shell_command", command="true")])]
    gemini.run("Hello")
    assert told(api, 0).count("# Memory of shop") == 1
    assert (repo / ".git/memctl/hooks/.memory/sessions" / gemini.session / "calls").read_bytes() == b"."


def test_decision_in_an_answer_reaches_the_next_session_once(
    memctl: Memctl, api: GenerateContentAPI, gemini: Gemini
) -> None:
    memctl("install", "gemini", "--yes")
    api.answers += [
        (1_000, [{"text": "DECISION: Round half to even, as banks do.\n\nNext steps:\n- Test with half a cent"}])
    ]
    gemini.run("Refunds by card")
    gemini.session = ""
    number = len(api.asked)
    gemini.run("What is next?")
    for fact in ("Refunds by card", "Round half to even", "Test with half a cent"):
        assert told(api, number).count(fact) == 1, fact


def test_agent_in_default_mode_may_only_record_and_search(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    install_twice(memctl, gemini, "gemini")
    (gemini.home / ".gemini" / "policies" / "mine.toml").write_text(
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "memctl status"\ndecision = "deny"\npriority = 2\n'
    )
    gemini.ask()
    commands = (DECISION, *FINDING, *REFUSED, "memctl status")
    api.answers += [(1_000, [call("run_shell_command", command=one)]) for one in commands]
    gemini.run("Choose a database")
    results = [
        part["functionResponse"]["response"]
        for one in api.asked[-1]["contents"]
        for part in one["parts"]
        if "functionResponse" in part
    ]
    expect_recorded_and_found(memctl, [result["output"] for result in results[:3]])
    expect_refused(memctl, repo)
    assert "denied by policy" in results[-1]["error"]  # a user's own rules are stronger
    assert told(api, 0).count("# Memory of shop") == 1


def test_all_of_the_largest_pack_reaches_the_model(memctl: Memctl, api: GenerateContentAPI, gemini: Gemini) -> None:
    titles = [f"Решение {number}" for number in range(40)]
    record_all(memctl, "decision", titles, rationale="{}. " + "Потому что так удобнее. " * 30, importance=9)
    memctl("install", "gemini", "--yes")
    gemini.run("Hello")
    text = told(api, 0).partition("# Memory of shop")[2]
    assert [title for title in titles if re.search(rf" {title}\b", text) is None] == []  # the end of the pack is there
    assert len(text.encode()) > 8_500
    assert "truncated" not in text


def test_broken_memory_does_not_stop_the_program(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    memctl("install", "gemini", "--yes")
    (repo / ".memory" / "config.yaml").write_text("format: [broken\n")
    api.answers += [(1_000, [call("run_shell_command", command="true")])]
    assert gemini.run("Hello")["response"] == "Done."
    assert "Traceback" not in told(api, 1)


def test_program_called_by_memctl_gets_nothing_from_the_hooks(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    memctl("install", "gemini", "--yes")
    gemini.environ[GUARD] = "1"
    gemini.run("Sum up these notes")
    assert "Memory of shop" not in told(api, 0)
    assert not (repo / ".git" / "memctl" / "hooks").exists()


def test_record_made_by_the_agent_names_its_agent(memctl: Memctl, api: GenerateContentAPI, gemini: Gemini) -> None:
    memctl("install", "gemini", "--yes")
    command = 'memctl learn "Retries hide an exhausted pool" --lesson "Look at the pool first"'
    api.answers += [(1_000, [call("run_shell_command", command=command)])]
    gemini.run("Note what we learned")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "gemini"


def test_program_refuses_to_run_in_an_untrusted_folder(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    """What `install gemini` and README say of it."""
    assert "`--skip-trust`" in memctl("install", "gemini", "--yes").err
    del gemini.environ["GEMINI_CLI_TRUST_WORKSPACE"]
    with pytest.raises(AssertionError, match="not running in a trusted directory"):
        gemini.run("Hello")
    assert not api.asked
    assert not (repo / ".git" / "memctl" / "hooks" / ".memory" / "sessions").exists()


def test_program_has_at_least_the_tested_version() -> None:
    packages = [folder / "package.json" for folder in Path(PROGRAM).resolve().parents]  # asking it takes 3 s
    told = json.loads(next(file for file in packages if file.exists()).read_text())["version"]
    assert tuple(int(part) for part in told.split(".")[:2]) >= (0, 61), "an older Gemini CLI has other events"


def test_unresolved_error_is_on_the_page_and_in_the_next_session(
    memctl: Memctl, repo: Path, api: GenerateContentAPI, gemini: Gemini
) -> None:
    memctl("install", "gemini", "--yes")
    api.answers += [
        (1_000, [call("run_shell_command", command="echo 'E   assert 0.01 == 0.02'; echo '1 failed'; exit 1")]),
        (1_000, [call("write_file", file_path=str(repo / "card.py"), content="def refund(): ...\n")]),
    ]
    gemini.run("Refunds by card")
    assert "1 failed" in page_of(repo, gemini.session)
    gemini.session = ""
    number = len(api.asked)
    gemini.run("What is next?")
    assert "1 failed" in told(api, number)
