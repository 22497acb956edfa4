"""Claude Code itself with our hooks, from start through tools, a compaction and a resume: what reaches the model.

Seen with version 2.1.330. It needs no network: the Messages API is a stand-in on this machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memctl.hooks.compaction import INSTRUCTIONS
from memctl.hooks.dispatch import GUARD
from tests.agents.messages_api import MessagesAPI, all_text
from tests.agents.program import (
    DECISION,
    FINDING,
    REFUSED,
    ClaudeCode,
    expect_recorded_and_found,
    expect_refused,
    found,
    install_twice,
    page_of,
)
from tests.agents.stand_in import text_of
from tests.conftest import Memctl, git

SETTING = "MEMCTL_TEST_CLAUDE"  # the program, if it is not on the PATH
PROGRAM = found(SETTING, "claude", "claude-code/node_modules/@anthropic-ai/claude-code-*/claude")
pytestmark = pytest.mark.skipif(
    not PROGRAM, reason=f"Claude Code is not installed (npm: @anthropic-ai/claude-code), nor named by {SETTING}"
)


def call(number: int, tool: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{number:03}", "name": tool, "input": given}]


def says(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


@pytest.fixture
def api() -> Iterator[MessagesAPI]:
    with MessagesAPI([], "<analysis>short</analysis><summary>Refunds are under way.</summary>") as made:
        yield made


@pytest.fixture
def claude(repo: Path, tmp_path: Path, api: MessagesAPI) -> ClaudeCode:
    home = tmp_path / "agents-home"
    home.mkdir()
    return ClaudeCode(PROGRAM, repo, home, api)


def told(api: MessagesAPI, number: int) -> str:
    return all_text(api.asked[number])


def test_a_session_from_its_start_over_a_compaction_to_its_end(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long before the session: what is of the second in which it starts is given again when it is resumed.
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9")
    memctl("issue", "Checkout times out", "--severity", "critical", "--next", "Queue connections")
    monkeypatch.delenv("MEMCTL_NOW")
    memctl("install", "claude-code", "--yes")
    api.answers += [
        (60_000, call(1, "Bash", command="cat app.py", description="look")),
        (140_000, call(2, "Write", file_path=str(repo / "card.py"), content="def refund(): ...\n")),
        (140_000, call(9, "Bash", command="true", description="wait")),
        (141_000, says("DECISION: Round half to even, because the bank does.\n\nNext steps:\n- Test with 0.005\n")),
    ]

    result = claude.run("Refunds by card: orders can be refunded")
    assert result["modelUsage"]["claude-sonnet-4-5"]["contextWindow"] == 200_000  # what `pressure` takes it to be
    # The pack is there before the first answer, once.
    assert told(api, 0).count("# Memory of shop") == 1
    assert "Adopt PostgreSQL" in told(api, 0)
    assert "Queue connections" in told(api, 0)
    # 60,000 of 167,000 are no reason to say anything; 140,000 are, and the model hears of it once with a tool's result:
    # that of the same answer, or of the next one if the program has not written the usage down by then.
    assert "tool calls since the context was last compacted" not in told(api, 1)
    said = told(api, 3)
    assert said.count("140,000 tokens, 84% of the 167,000") == said.count("tool calls since the context was") == 1
    # The session ended: its page is in the memory, in one commit.
    page = page_of(repo, claude.session)
    assert "| `card.py` | created |" in page
    assert "- `app.py`" in page
    assert "Round half to even" in page
    assert git(repo, "status", "--porcelain", "--", ".memory") == ""

    before = int(git(repo, "rev-list", "--count", "refs/memctl/sessions"))
    claude.run("/compact keep the numbers")
    # The user's own words and ours are both among the summariser's instructions.
    asked = all_text(api.summarised[-1])
    assert "keep the numbers" in asked
    assert INSTRUCTIONS.strip() in asked
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"] == "Refunds by card: orders can be refunded"
    assert saved["session"] == claude.session
    assert [one["path"] for one in saved["files"]][:2] == ["card.py", "app.py"]
    assert int(git(repo, "rev-list", "--count", "refs/memctl/sessions")) == before + 1

    api.answers += [(20_000, call(3, "Bash", command="true", description="go on")), (20_100, says("Done."))]
    number = len(api.asked)
    claude.run("Go on")
    # After the compaction the model has the host's summary and our state of the work, and the pack is gone.
    text = told(api, number)
    assert "Refunds are under way." in text
    assert "RESUME: main, version 1" in text
    for line in ("TASK: Refunds by card", "- Test with 0.005", "- card.py", "Adopt PostgreSQL", "Checkout times out"):
        assert line in text, line
    assert "# Memory of shop" not in text  # it went with what was compacted, and a resume brings only what is new

    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["session"], one["trigger"], one["calls"], one["suggested"]) == (claude.session, "manual", 3, ["orange"])
    assert one["before"] >= 141_000
    assert one["after"] is not None
    assert one["after"] < 100_000
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0
    assert memctl("check", "--json", code=None).code == 0


def test_automatic_compaction_is_handled(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable sets the window: without an account 2.1.330 compacts at no number of tokens by itself."""
    monkeypatch.delenv("MEMCTL_NOW")
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9")
    memctl("install", "claude-code", "--yes")
    claude.environ["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    api.answers += [
        (30_000, call(1, "Write", file_path=str(repo / "card.py"), content="def refund(): ...\n")),
        (60_000, call(2, "Bash", command="true", description="wait")),
        (60_000, call(3, "Bash", command="true", description="wait")),
        (68_000, call(4, "Bash", command="true", description="wait")),
        (20_000, says("Done.")),
    ]
    claude.run("Refunds by card: orders can be refunded")
    assert len(api.summarised) == 1
    assert INSTRUCTIONS.strip() in all_text(api.summarised[0])
    # What was said before it names the point at which the program compacts then.
    assert "60,000 tokens, 90% of the 67,000" in all_text(api.summarised[0])
    # The work goes on in the same run, with the state, however fast the summary came.
    text = told(api, 4)
    for line in ("Refunds are under way.", "RESUME: main, version 1", "TASK: Refunds by card", "- card.py"):
        assert line in text, line
    assert "# Memory of shop" not in text
    assert memctl("checkpoint", "show", "--json").data["session"] == claude.session
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["trigger"], one["limit"], one["calls"], one["suggested"][0]) == ("auto", 67_000, 4, "orange")
    assert one["before"] >= 68_000
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0


def test_project_and_user_hooks_together_give_the_pack_once(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    install_twice(memctl, claude, "claude-code")
    memctl("install", "claude-code", "--local", "--yes")
    api.answers += [(1_000, call(1, "Bash", command="true", description="x")), (1_100, says("Done."))]
    claude.run("Hello")
    assert told(api, 0).count("# Memory of shop") == 1
    assert (repo / ".git/memctl/hooks/.memory/sessions" / claude.session / "calls").read_bytes() == b"."


def test_decisions_and_errors_of_a_session_reach_the_next_one(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")
    memctl("install", "claude-code", "--yes")
    command = "echo 'E   assert 0.01 == 0.02'; echo '1 failed'; exit 1"
    api.answers += [
        (1_000, call(1, "Bash", command=command, description="test")),
        (1_000, says("We went with a ring buffer because lists copy.\n\nNext steps:\n- Test with half a cent\n")),
    ]
    assert "ring buffer" in claude.run("Read the stream")["result"]  # nothing has kept it from its end
    claude.session = ""
    number = len(api.asked)
    claude.run("What is next?")
    text = told(api, number)
    for fact in ("Asked: Read the stream", "We went with a ring buffer", "1 failed", "Test with half a cent"):
        assert text.count(fact) == 1, fact
    for words in ("ring buffer", "half a cent"):
        assert "session" in memctl("search", words).out
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0


def test_sub_agent_gets_the_records_for_its_prompt(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    decided = memctl("decide", "Payment worker retries a gateway that times out", "--rationale", "Twice, then mail.").id
    install_twice(memctl, claude, "claude-code")
    asked = "Find out how the payment worker retries a gateway that times out"
    api.answers += [(1_000, call(1, "Agent", description="Look", prompt=asked, subagent_type="general-purpose"))]
    claude.run("Mend the payments")
    (text,) = [all_text(one) for one in api.asked if asked in text_of(one["messages"][0]["content"])]
    assert text.count(f"{decided} | ") == 1
    assert text.count("memctl why FILE") == 1
    assert "Use the project's memory as you work" not in text  # that is the session's own
    assert told(api, 0).count(f"{decided} | ") == told(api, 0).count("memctl why FILE") == 1


def test_agent_in_default_mode_may_only_record_and_search(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    install_twice(memctl, claude, "claude-code")
    claude.ask()
    commands = (DECISION, *FINDING, *REFUSED)
    api.answers += [(1_000, call(n, "Bash", command=one, description="x")) for n, one in enumerate(commands)]
    result = claude.run("Choose a database")
    denied = {denial["tool_input"]["command"] for denial in result["permission_denials"]}
    # What is let through is memctl's own to refuse.
    assert denied == set(REFUSED) - {"memctl rehydrate --out evil", "memctl learn Accounts --file /etc/passwd"}
    results = {
        block["tool_use_id"]: text_of(block["content"])
        for message in api.asked[-1]["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    }
    expect_recorded_and_found(memctl, [results[f"toolu_{number:03}"] for number in range(3)])
    expect_refused(memctl, repo)
    assert told(api, 0).count("# Memory of shop") == 1


def test_user_permission_needs_no_trusted_folder(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    install_twice(memctl, claude, "claude-code")
    claude.modes = ()
    api.answers += [(1_000, call(1, "Bash", command=DECISION, description="x"))]
    assert claude.run("Choose a database")["permission_denials"] == []
    assert memctl("list", "--type", "decision", "--json").data["total"] == 1


def test_project_without_a_memory_gets_no_pack(
    memctl: Memctl, repo: Path, tmp_path: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("install", "claude-code", "--yes")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    git(elsewhere, "init", "-q")
    (elsewhere / ".claude").mkdir()
    (elsewhere / ".claude" / "settings.json").write_bytes((repo / ".claude" / "settings.json").read_bytes())
    ClaudeCode(PROGRAM, elsewhere, tmp_path / "agents-home", api).run("Hello")
    assert "Memory of" not in told(api, 0)
    assert sorted(file.name for file in elsewhere.iterdir()) == [".claude", ".git"]


def test_broken_memory_does_not_stop_the_program(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("install", "claude-code", "--yes")
    (repo / ".memory" / "config.yaml").write_text("format: [broken\n")
    api.answers += [(1_000, call(1, "Bash", command="true", description="x")), (1_100, says("All well."))]
    assert claude.run("Hello")["result"] == "All well."
    assert "Traceback" not in told(api, 1)


def test_program_called_by_memctl_gets_nothing_from_the_hooks(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("install", "claude-code", "--yes")
    claude.environ[GUARD] = "1"
    claude.run("Sum up these notes")
    assert "Memory of shop" not in told(api, 0)
    assert not (repo / ".git" / "memctl" / "hooks").exists()


def test_record_made_by_the_agent_names_its_agent_and_session(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("install", "claude-code", "--yes")
    command = 'memctl learn "Retries hide an exhausted pool" --lesson "Look at the pool first"'
    api.answers += [(1_000, call(1, "Bash", command=command, description="record")), (1_100, says("Recorded."))]
    claude.run("Note what we learned")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "claude-code"
    trailers = git(repo, "log", "--format=%(trailers:key=Memctl-Session,valueonly)", "--", learned["path"])
    assert trailers.strip() == claude.session


def test_program_has_at_least_the_tested_version() -> None:
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    version = tuple(int(part) for part in done.stdout.split()[0].split("."))
    assert version >= (2, 1, 300), "an older Claude Code has other events"


PLUGIN = Path(__file__).parents[2] / "plugin"


def test_the_plugin_and_its_marketplace_are_valid(claude: ClaudeCode) -> None:
    for folder in (PLUGIN, PLUGIN.parent):
        assert "Validation passed" in claude.answered("plugin", "validate", str(folder))


def test_decision_on_a_file_reaches_the_model_once_at_its_first_read(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "--code", "app.py")
    memctl("list")
    install_twice(memctl, claude, "claude-code")  # and the plugin is a third time
    claude.modes = ("--plugin-dir", str(PLUGIN), *claude.modes)
    api.answers += [
        (10_000, call(1, "Read", file_path=str(repo / "app.py"))),
        (10_100, call(2, "Read", file_path=str(repo / "app.py"))),
        (10_200, says("Done.")),
    ]
    claude.run("What does it do?")
    said = "is about app.py: Adopt PostgreSQL. Payments need transactions"
    assert [told(api, number).count(said) for number in range(3)] == [0, 1, 1]
    assert told(api, 0).count("# Memory of shop") == 1

    git(repo, "config", "memctl.trusted", "false")
    claude.session = ""
    api.answers += [(10_000, call(3, "Read", file_path=str(repo / "app.py"))), (10_100, says("Done."))]
    number = len(api.asked)
    claude.run("And now?")
    assert said not in told(api, number + 1)


def test_failed_call_is_told_the_lesson_that_has_its_error(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("install", "claude-code", "--yes")
    memctl("learn", "Tools need the extra", "--lesson", "No module named yaml: run `make extras`", "--importance", "1")
    error = "echo \"ModuleNotFoundError: No module named 'yaml'\" >&2; exit 1"
    api.answers += [(10_000, call(1, "Bash", command=error, description="run")), (10_100, says("Done."))]
    claude.run("Run the tool")
    assert "has the words of this error: Tools need the extra." in told(api, 1)
    assert (repo / ".git/memctl/hooks/.memory/sessions" / claude.session / "calls").read_bytes() == b"."


def test_the_server_of_tools_answers_the_model(
    memctl: Memctl, repo: Path, api: MessagesAPI, claude: ClaudeCode
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions")
    settings = memctl("install", "mcp", "--for", "claude-code").out
    claude.modes = ("--mcp-config", settings, "--strict-mcp-config", "--allowedTools", "Bash,mcp__memctl__recall")
    api.answers += [
        (10_000, call(1, "Bash", command="sleep 10", description="until the server is there")),
        (10_100, call(2, "mcp__memctl__recall", query="postgresql")),
        (10_200, says("Done.")),
    ]
    claude.run("What was decided?")
    assert "Adopt PostgreSQL: Payments need transactions" in told(api, 2)
