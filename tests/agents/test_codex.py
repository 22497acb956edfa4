"""Codex itself with our hooks, from start through tools, a compaction and a resume: what reaches the model.

Seen with version 0.169.0. It needs no network: the Responses API is a stand-in on this machine.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.hooks.compaction import INSTRUCTIONS
from memctl.hooks.dispatch import GUARD
from tests.agents.program import (
    DECISION,
    FINDING,
    REFUSED,
    Codex,
    expect_recorded_and_found,
    found,
    install_twice,
    page_of,
)
from tests.agents.responses_api import ResponsesAPI, all_text, patch, shell
from tests.agents.stand_in import text_of
from tests.conftest import Memctl, git, record_all

SETTING = "MEMCTL_TEST_CODEX"  # the program, if it is not on the PATH
PROGRAM = found(SETTING, "codex", "codex/node_modules/@openai/codex-*/vendor/*/bin/codex")
pytestmark = pytest.mark.skipif(
    not PROGRAM, reason=f"Codex is not installed (npm: @openai/codex), nor named by {SETTING}"
)


@pytest.fixture
def api() -> Iterator[ResponsesAPI]:
    with ResponsesAPI([], "Refunds are under way.") as made:
        yield made


@pytest.fixture
def codex(repo: Path, tmp_path: Path, api: ResponsesAPI, monkeypatch: pytest.MonkeyPatch) -> Codex:
    monkeypatch.delenv("MEMCTL_NOW")
    home = tmp_path / "agents-home"
    home.mkdir()
    return Codex(PROGRAM, repo, home, api)


def told(api: ResponsesAPI, number: int) -> str:
    return all_text(api.asked[number])


def test_a_session_from_its_start_over_tools_to_its_end_and_a_resume(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9")
    memctl("install", "codex", "--yes")
    api.answers += [
        (60_000, [shell(1, "cat app.py")]),
        (61_000, [patch(2, "*** Add File: card.py", "+def refund(): ...")]),
    ]
    codex.run("Refunds by card: orders can be refunded")
    # The pack is there before the first answer, once, as the program's word and not the user's.
    assert told(api, 0).count("# Memory of shop") == 1
    (given,) = [one for one in api.asked[0]["input"] if "# Memory of shop" in all_text({"input": [one]})]
    assert given["role"] == "developer"
    assert "Adopt PostgreSQL" in told(api, 0)
    assert "Success. Updated the following files" in told(api, 2)
    # The session ended: its page is in the memory, in a commit.
    page = page_of(repo, codex.session)
    assert "| `card.py` | created |" in page
    assert git(repo, "status", "--porcelain", "--", ".memory") == ""

    memctl("learn", "Retries hide an exhausted pool", "--lesson", "Look at the pool first")
    (repo / ".git/memctl/hooks/.memory/sessions" / codex.session / "calls").write_bytes(b"." * 49)
    number = len(api.asked)
    api.answers += [(62_000, [shell(3, "true")])]
    codex.run("Go on")
    text = told(api, number)
    assert text.count("# Memory of shop") == 2  # the pack from before, and what was recorded since
    assert "Retries hide an exhausted pool" in text
    assert "memctl: 50 tool calls since" in told(api, number + 1)  # with a tool's result
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0
    assert memctl("check", "--json", code=None).code == 0


def test_automatic_compaction_is_handled(memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Payments need transactions", "-i", "9")
    memctl("issue", "Checkout times out", "--severity", "critical", "--next", "Queue connections")
    memctl("install", "codex", "--yes")
    api.answers += [
        (1_000, [patch(1, "*** Add File: card.py", "+def refund(): ...")]),
        (50_000, [shell(2, "true")]),
    ]
    codex.run("Refunds by card: orders can be refunded", "-c", "model_auto_compact_token_limit=20000")
    (asked,) = api.summarised
    assert INSTRUCTIONS.splitlines()[0] not in all_text(asked)  # it takes none of ours
    # The work goes on in the same run, with the program's summary and our state of the work; the pack is gone.
    text = told(api, 2)
    for line in ("Refunds are under way.", "RESUME: main, version 1", "TASK: Refunds by card", "- card.py"):
        assert line in text, line
    assert "Checkout times out" in text
    assert "# Memory of shop" not in text
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"] == "Refunds by card: orders can be refunded"
    assert saved["session"] == codex.session
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["session"], one["host"], one["trigger"], one["calls"]) == (codex.session, "codex", "auto", 2)
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 0


def test_untrusted_hooks_are_skipped_silently(memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex) -> None:
    """What `install codex` and README say of it; the program's own `/hooks` is where they are trusted."""
    said = memctl("install", "codex", "--yes").err
    assert "`/hooks`" in said
    events = codex.run("Hello", trusts_hooks=False)
    assert "Memory of shop" not in told(api, 0)
    assert not [event for event in events if "hook" in json.dumps(event)]
    assert not (repo / ".git" / "memctl" / "hooks" / ".memory" / "sessions").exists()


def test_project_and_user_hooks_together_give_the_pack_once(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    install_twice(memctl, codex, "codex")
    api.answers += [(1_000, [shell(1, "true"), shell(2, "true")])]
    codex.run("Hello")
    assert told(api, 0).count("# Memory of shop") == 1
    assert (repo / ".git/memctl/hooks/.memory/sessions" / codex.session / "calls").read_bytes() == b".."


def test_decision_on_a_file_reaches_the_model_once_at_its_first_read(
    memctl: Memctl, api: ResponsesAPI, codex: Codex
) -> None:
    memctl("decide", "Print nothing but the name", "--rationale", "Scripts read the output.", "--code", "app.py")
    install_twice(memctl, codex, "codex")
    api.answers += [(1_000, [shell(1, "cat app.py")]), (1_000, [shell(2, "head -1 app.py")])]
    codex.run("Hello")
    said = "is about app.py: Print nothing but the name. Scripts read the output."
    assert [told(api, number).count(said) for number in (0, 1, 2)] == [0, 1, 1]


def test_sub_agent_gets_the_records_for_its_prompt(memctl: Memctl, api: ResponsesAPI, codex: Codex) -> None:
    decided = memctl("decide", "Payment worker retries a gateway that times out", "--rationale", "Twice, then mail.").id
    memctl("install", "codex", "--yes")
    asked = "Find out how the payment worker retries a gateway that times out"
    call = {"type": "function_call", "call_id": "call_1", "name": "spawn_agent", "namespace": "multi_agent_v1"}
    api.answers += [(1_000, [{**call, "arguments": json.dumps({"message": asked})}])]
    api.answers += [(1_000, [shell(number, "sleep 3")]) for number in (2, 3)]  # so that neither ends before the other
    codex.run("Mend the payments")
    texts = [all_text(one) for one in api.asked]
    text = next(text for text in texts if asked in text and "Mend the payments" not in text)
    assert text.count(f"{decided} | ") == 1
    assert text.count("memctl why FILE") == 1


def test_agent_in_default_mode_may_only_record_and_search(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    install_twice(memctl, codex, "codex")
    codex.ask()
    commands = ("touch here && ! touch .git/there && echo closed", DECISION, *FINDING, *REFUSED)
    api.answers += [(1_000, [shell(number, one)]) for number, one in enumerate(commands)]
    codex.run("Choose a database")
    if "\nclosed\n" not in told(api, 1):
        pytest.skip("there is no sandbox on this machine")
    results = {one["call_id"]: text_of(one["output"]) for one in api.asked[-1]["input"] if "output" in one}
    expect_recorded_and_found(memctl, [results[f"call_{number}"] for number in (1, 2, 3)])
    for number, command in enumerate(commands[4:], 4):  # in its sandbox it may write the project's files
        assert "evil" in command or "error: " in results[f"call_{number}"], command
    assert "an agent may not use --out" in results["call_8"]
    assert "an agent may not use --file" in results["call_10"]
    assert told(api, 0).count("# Memory of shop") == 1


def test_all_of_the_largest_pack_reaches_the_model(memctl: Memctl, api: ResponsesAPI, codex: Codex) -> None:
    titles = [f"Решение {number}" for number in range(40)]
    record_all(memctl, "decision", titles, rationale="{}. " + "Потому что так удобнее. " * 30, importance=9)
    memctl("install", "codex", "--yes")
    codex.run("Hello")
    text = told(api, 0).partition("# Memory of shop")[2]
    pack, end, _ = text.partition(" Решение 0\n")  # the last of the titles
    assert end
    assert len(pack.encode()) > 8_500
    assert "truncated" not in pack


def test_broken_memory_does_not_stop_the_program(memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex) -> None:
    memctl("install", "codex", "--yes")
    (repo / ".memory" / "config.yaml").write_text("format: [broken\n")
    api.answers += [(1_000, [shell(1, "true")])]
    events = codex.run("Hello")
    assert [event["item"]["text"] for event in events if event.get("item", {}).get("type") == "agent_message"] == [
        "Done."
    ]
    assert "Traceback" not in told(api, 1)


def test_program_called_by_memctl_gets_nothing_from_the_hooks(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    memctl("install", "codex", "--yes")
    codex.environ[GUARD] = "1"
    codex.run("Sum up these notes")
    assert "Memory of shop" not in told(api, 0)
    assert not (repo / ".git" / "memctl" / "hooks").exists()


def test_record_made_by_the_agent_names_its_agent_and_session(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    memctl("install", "codex", "--yes")
    command = 'memctl learn "Retries hide an exhausted pool" --lesson "Look at the pool first"'
    api.answers += [(1_000, [shell(1, command)])]
    codex.run("Note what we learned")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "codex"
    trailers = git(repo, "log", "--format=%(trailers:key=Memctl-Session,valueonly)", "--", learned["path"])
    assert trailers.strip() == codex.session


def test_agent_in_the_sandbox_records_only_with_the_added_folder(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    """As the hint says, and README. Its hooks run outside of the sandbox."""
    assert "not in a pipe or chain" in memctl("install", "codex", "--allow", "none", "--yes").err
    learn = shell(1, 'memctl learn "Retries hide an exhausted pool" --lesson "Look at the pool first"')
    sandbox = ("-c", 'sandbox_mode="workspace-write"')
    api.answers += [(1_000, [shell(0, "touch here && ! touch .git/there && echo closed")]), (1_000, [learn])]
    codex.run("Note what we learned", *sandbox)
    if "\nclosed\n" not in told(api, 1):
        pytest.skip("there is no sandbox on this machine")
    assert "`codex --add-dir .git`" in told(api, 2)
    assert memctl("list", "--type", "learning", "--json").data["records"] == []

    codex.session = ""
    api.answers += [(1_000, [learn])]
    codex.run("Note what we learned", *sandbox, "--add-dir", ".git")
    (learned,) = memctl("list", "--type", "learning", "--json").data["records"]
    assert learned["agent_id"] == "codex"


def test_program_has_at_least_the_tested_version() -> None:
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    version = tuple(int(part) for part in done.stdout.split()[-1].split("."))
    assert version >= (0, 169), "an older Codex has other events"


def test_unresolved_error_is_on_the_page_and_in_the_next_session(
    memctl: Memctl, repo: Path, api: ResponsesAPI, codex: Codex
) -> None:
    memctl("install", "codex", "--yes")
    api.answers += [
        (1_000, [shell(1, "echo 'E   assert 0.01 == 0.02'; echo '1 failed'; exit 1")]),
        (1_000, [patch(2, "*** Add File: card.py", "+def refund(): ...")]),
    ]
    codex.run("Refunds by card")
    assert "1 failed" in page_of(repo, codex.session)
    codex.session = ""
    number = len(api.asked)
    codex.run("What is next?")
    assert "1 failed" in told(api, number)
