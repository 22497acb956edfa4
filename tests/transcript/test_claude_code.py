"""The lines of a Claude Code transcript, each read once, and the session that they tell of."""

from __future__ import annotations

import json

import pytest

from memctl.transcript import claude_code, reader
from memctl.transcript.claude_code import LineReader
from memctl.transcript.events import DIGEST, PROMPT, RESULT
from tests.transcript.claude import Transcript


def test_blank_broken_and_repeated_lines_are_passed_over() -> None:
    rows = [b'{"uuid": "a"}', b"  ", b"{", b"[1]", b'{"uuid": "a"}', b'{"uuid": "b"}', b'{"type": "x"}']
    reader = LineReader()
    assert [line.number for line in reader.lines(rows)] == [1, 6, 7]
    assert (reader.number, reader.broken) == (7, 2)


def test_a_line_too_long_to_hold_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "LONGEST_LINE", 20)
    reader = LineReader()
    assert reader.read('{"type": "' + "x" * 20 + '"}') is None
    assert reader.broken == 1


def test_bytes_that_are_no_utf8_leave_the_rest_of_a_line_readable() -> None:
    line = LineReader().read(b'{"type": "user", "message": {"content": "caf\xe9"}}')
    assert line is not None
    assert line.message["content"] == "caf\ufffd"


def test_a_session_has_the_events_of_all_agents_and_the_model_of_the_main_one() -> None:
    told = Transcript()
    told.prompt("the task\n<system-reminder>be brief</system-reminder>")
    told.prompt("hidden", isMeta=True)
    told.prompt("[Request interrupted by user]")
    told.call("Read", "x", error=True, details={"code": 1}, file_path="a.py")
    told.compaction("Summary")
    told.agent = "sub"
    told.prompt("a sub-agent's task")
    session = reader.read(told.text.encode())
    prompts = [(event.text, event.agent) for event in session.events if event.kind == PROMPT]
    assert prompts == [("the task", ""), ("a sub-agent's task", "sub")]
    (result,) = (event for event in session.events if event.kind == RESULT)
    assert (result.is_error, result.details) == (True, {"code": 1})
    assert session.count(DIGEST) == 1
    assert (session.model, session.answers, session.usage.read) == ("claude-opus-4-5", 1, 20_304)


def test_the_first_line_tells_messages_from_a_transcript() -> None:
    said = {"role": "user", "content": "hi"}
    items = [said, {"type": "reasoning", "summary": []}, {"role": "assistant", "content": "Hello"}]
    found = reader.read("\n".join(map(json.dumps, items)).encode() + b"\nbroken")
    assert (found.form, len(found.events), found.broken) == ("messages", 2, 1)


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


@pytest.mark.parametrize(
    ("result", "prompts"),
    [
        (f"{REFUSED} To tell you how to proceed, the user said:\nkeep the old name", ["keep the old name"]),
        (f"{REFUSED} STOP what you are doing and wait.", []),
        (f"{REFUSED} The user said:\nThe user wants to clarify these questions.", []),
        ("Exit code 1: the user said:\nno", []),
    ],
)
def test_the_words_behind_a_refused_call_are_a_prompt(result: str, prompts: list[str]) -> None:
    made = Transcript()
    made.call("Edit", result, error=True, file_path="a.py")
    assert [event.text for event in reader.read(made.text.encode()).events if event.kind == PROMPT] == prompts


def test_text_after_an_interruption_mark_is_a_prompt() -> None:
    made = Transcript()
    made.prompt("[Request interrupted by user for tool use]")
    made.prompt("[Request interrupted by user] use the other table")
    session = reader.read(made.text.encode())
    assert [event.text for event in session.events if event.kind == PROMPT] == ["use the other table"]


def test_a_queued_prompt_counts_once_when_the_agent_has_it() -> None:
    made = Transcript()
    for operation, content in (
        ("enqueue", "and the logs"), ("popAll", ""), ("enqueue", "and the logs, too"), ("remove", ""),
        ("enqueue", "/config"), ("remove", ""), ("enqueue", "then rest"), ("dequeue", ""),
    ):  # fmt: skip
        made.add("queue-operation", operation=operation, **({"content": content} if content else {}))
    made.prompt("then rest")
    session = reader.read(made.text.encode())
    assert [(event.text, event.line) for event in session.events] == [("and the logs, too", 3), ("then rest", 9)]


def test_half_a_surrogate_pair_leaves_the_rest_of_a_line_readable() -> None:
    told = Transcript()
    told.prompt("Never use floats \ud83d for money, \U0001f600")
    told.call("Edit", "ok", file_path="pay.py", old_string="1", new_string="x\udc00 \\ud83d")
    session = reader.read(told.text.encode())
    assert session.broken == 0
    assert session.events[0].text == "Never use floats \ufffd for money, \U0001f600"
    assert session.events[1].arguments["new_string"] == "x\ufffd \\ud83d"


def test_broken_json_with_a_surrogate_is_no_line() -> None:
    assert LineReader().read(b'{"a": "\\ud83d"') is None
