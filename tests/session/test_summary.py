"""What a session came to: errors, tasks, decisions, in the words of its transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.record import session_page
from memctl.session import page_builder, trail
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places
from memctl.transcript import reader
from tests.transcript.claude import Transcript


def summed_up(made: Transcript) -> SessionSummary:
    session = reader.read(made.text.encode())
    found = trail.of_session(session, Places(Path(made.cwd), session.cwd), frozenset(), [])
    return summarize(session, found, "s", "claude")


def test_an_error_is_resolved_by_a_later_success_of_the_same_step() -> None:
    made = Transcript()
    made.prompt("Mend the tests.")
    made.call(
        "Bash", "Exit code 1\nE   ValueError: empty cart", error=True, command="cd /home/ada/shop && pytest tests/cart"
    )
    made.call("Bash", "Exit code 127\nbash: line 1: nope: command not found", error=True, command="nope --now")
    made.call("Edit", "<tool_use_error>String to replace not found</tool_use_error>", error=True, file_path="a.py")
    made.call("Bash", "3 passed", command="pytest tests/cart -q")
    found = {one.step: (one.message, bool(one.resolved)) for one in summed_up(made).failures}
    assert found == {
        "pytest tests/cart": ("E   ValueError: empty cart", True),
        "nope --now": ("bash: line 1: nope: command not found", False),
        "Edit a.py": ("String to replace not found", False),
    }


def test_an_output_with_windows_line_ends_is_read_like_any_other() -> None:
    made = Transcript()
    made.prompt("Run the tests.\r\nNow.")
    made.call("Bash", "collected 2 items\r\n2 failed\r\n", command="pytest | more")
    found = summed_up(made)
    assert [(one.step, one.message) for one in found.failures] == [("pytest", "2 failed")]


def test_refused_or_failed_call_touches_no_file() -> None:
    made = Transcript()
    made.prompt("Try.")
    made.call("Edit", "String to replace not found", error=True, file_path="/home/ada/shop/a.py")
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    made.call("Bash", refused, error=True, command="rm b.py")
    made.call("Bash", "Exit code 1\nrm: cannot remove 'd.py'", error=True, command="rm c.py d.py")
    assert [entry.path for entry in summed_up(made).trail.entries] == ["c.py", "d.py"]


def test_call_without_a_result_touches_no_file_until_the_agent_goes_on() -> None:
    made = Transcript()
    made.prompt("Try.")
    made.call("Write", file_path="/home/ada/shop/a.py", content="x")
    made.call("Write", file_path="/home/ada/shop/b.py", content="x")
    made.lines.pop()
    assert [entry.path for entry in summed_up(made).trail.entries] == ["a.py"]
    made.says("Written.")  # the agent went on, and the result is lost
    assert [entry.path for entry in summed_up(made).trail.entries] == ["a.py", "b.py"]


def test_calls_of_a_transcript_without_results_count_as_done() -> None:
    call = {"id": "c1", "function": {"name": "write_file", "arguments": '{"path": "a.py", "content": "x"}'}}
    given = [{"role": "user", "content": "Try."}, {"role": "assistant", "tool_calls": [call]}]
    session = reader.read(json.dumps(given).encode())
    found = trail.of_session(session, Places(Path("/home/ada/shop"), session.cwd), frozenset(), [])
    assert [entry.path for entry in found.entries] == ["a.py"]


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("rm src/gone.py", []),
        ("make && rm -f src/chain.py", []),
        ("git mv src/b.py src/c.py", []),
        ("pytest -q; mv a.py b.py", []),
        ("cp a.py b.py", []),
        ("rm a.py && pytest -q", ["a.py"]),
        ("rm -f a.py && git mv b.py c.py", ["a.py"]),
        ("make lint && rm -rf docs/_static", []),
        ("make lint &&\n  rm -rf docs/_static && echo done > log.txt", []),
        ("make lint && (rm -rf docs/_static)", []),
        ("make lint && cat a.py | tee b.py", []),
        ("bash -c 'make lint && rm -rf docs/_static'", []),
        ("make lint || rm -rf docs/_static", []),
        ("make lint; rm -rf docs/_static", ["docs/_static"]),
        ("cd shop && rm -rf docs && pytest", ["shop/docs"]),
        ("rm -r a.py", ["a.py"]),
        ("pytest > out.txt", ["out.txt"]),
        ("sed -i s/a/b/ a.py", ["a.py"]),
    ],
)
def test_last_step_of_a_failed_shell_call_counts_as_not_done(command: str, files: list[str]) -> None:
    made = Transcript()
    made.prompt("Try.")
    made.call("Bash", "Exit code 1\nerror: no", error=True, command=command)
    assert [entry.path for entry in summed_up(made).trail.entries] == files


def test_tasks_have_their_last_status() -> None:
    made = Transcript()
    made.prompt("Work.")
    made.call(
        "TodoWrite", todos=[{"content": "Write", "status": "in_progress"}, {"content": "Test", "status": "pending"}]
    )
    made.call(
        "TodoWrite", todos=[{"content": "Write", "status": "completed"}, {"content": "Test", "status": "pending"}]
    )
    made.says("Blocked by: the test server\n\nWe are 60 % complete.")
    summary = summed_up(made)
    assert [(task.text, task.status) for task in summary.tasks] == [("Write", "done"), ("Test", "planned")]
    assert (summary.next_steps, summary.completion) == (["Test"], 60)


def test_finished_task_list_beside_a_next_step_states_no_completion() -> None:
    made = Transcript()
    made.prompt("Work.")
    made.call("TodoWrite", todos=[{"content": "Write", "status": "completed"}])
    assert summed_up(made).completion == 100
    made.says("Next steps:\n- Deploy it")
    assert summed_up(made).completion is None
    made.says("We are 100 % complete.")
    assert summed_up(made).completion is None


@pytest.mark.parametrize(
    ("status", "lines"),
    [
        ("the API is 40% complete", ["40 % complete", "the API is 40% complete"]),
        ("Now 40 % Complete", ["40 % complete", "Now 40 % Complete"]),
        ("40.5% complete", ["40 % complete"]),
        ("40.5% complete. GET works.", ["40 % complete", "GET works."]),
    ],
)
def test_completion_is_read_from_a_status_of_any_words(status: str, lines: list[str]) -> None:
    made = Transcript()
    made.prompt("Serve the price list.")
    made.says(f"Status: {status}")
    summary = summed_up(made)
    assert (summary.completion, [one.text for one in summary.having("state")]) == (40, lines)


def test_page_tells_the_users_words_from_the_agents_to_which_the_user_only_agreed() -> None:
    made = Transcript()
    made.prompt("Use tabs in the price lists from now on.")
    made.says("Done. Should I cache the prices of each shop?")
    made.prompt("yes")
    made.call("Edit", file_path="prices.py", old_string="a", new_string="b")
    page = page_builder.compose(summed_up(made), "shop", "2025-11-04T14:32:00Z")
    assert page.lines[session_page.DECISIONS] == (
        "Use tabs in the price lists from now on. (by the user) (as said)",
        "Cache the prices of each shop (agreed by the user) (as said)",
    )


def test_decision_without_a_label_is_found_but_not_explicit() -> None:
    made = Transcript()
    made.prompt("We decided to drop Python 3.9.")
    made.says("We will use Redis because carts expire. We will now run the tests. Should we use Kafka?")
    made.says("```\nDECISION: in code\n```\nLatency went from 300 ms to 40 ms.")
    found = [(one.label, one.text, one.explicit, one.reason) for one in summed_up(made).found]
    assert found == [
        ("decision", "We decided to drop Python 3.9", False, ""),
        ("decision", "We will use Redis", False, "carts expire."),
        ("learning", "Latency went from 300 ms to 40 ms.", False, ""),
    ]


def test_option_chosen_by_the_user_is_a_decision() -> None:
    made = Transcript()
    made.prompt("Ask me.")
    made.call("AskUserQuestion", questions=[], details={"answers": {"Which database?": "SQLite"}})
    assert [one.text for one in summed_up(made).found] == ["SQLite (Which database?)"]


def test_lines_that_occur_twice_count_once() -> None:
    made = Transcript()
    made.prompt("Once.")
    made.call("Read", file_path="a.py")
    made.lines *= 2
    summary = summed_up(made)
    assert (summary.metrics.turns, summary.metrics.tool_calls, summary.metrics.tokens.written) == (1, 1, 50)


def test_tokens_written_are_unknown_if_an_answer_has_no_final_count() -> None:
    made = Transcript()
    made.prompt("Read both.")
    made.call("Read", file_path="a.py")
    made.is_ended = False
    made.call("Read", file_path="b.py")
    assert summed_up(made).metrics.tokens.written is None


def test_the_beginning_of_each_prompt_behind_the_first_is_kept() -> None:
    made = Transcript()
    made.prompt("Mend the tests.")
    made.prompt("keep `order_key`,  please")
    made.prompt("x " * 200)
    short, long = summed_up(made).said
    assert short == "keep `order_key`, please"
    assert long == "x " * 148 + "x …"


@pytest.mark.parametrize(
    ("prompts", "intent", "said"),
    [
        (["yes", "do both please", "Move the parser to lib/."], "Move the parser to lib/.", ("yes", "do both please")),
        (["/triage", "do both please"], "/triage; do both please", ()),
        (["/triage", "ok", "Also close the old ones."], "/triage; Also close the old ones.", ("ok",)),
        (["hello", "thanks"], "hello", ("thanks",)),
    ],
)
def test_intent_is_the_first_prompt_that_names_a_task_behind_a_bare_command(
    prompts: list[str], intent: str, said: tuple[str, ...]
) -> None:
    made = Transcript()
    for text in prompts:
        made.prompt(text)
        made.says("Fine.")
    assert (summed_up(made).intent, summed_up(made).said) == (intent, said)


def test_failure_of_an_agents_own_tool_is_no_resolved_error_and_last_words_have_no_marks() -> None:
    made = Transcript()
    made.prompt("Rename the flag.")
    made.call(
        "Edit", "String to replace not found in file.", error=True, file_path="a.py", old_string="a", new_string="b"
    )
    made.call("Edit", "ok", file_path="a.py", old_string="c", new_string="d")
    made.says("## Done\n\nThe flag is **renamed**.")
    summary = summed_up(made)
    assert (summary.errors, summary.last_word) == ([], "Done The flag is renamed.")
