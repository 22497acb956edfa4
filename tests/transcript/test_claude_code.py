"""The lines of a Claude Code transcript, each read once, and the session that they tell of."""

from __future__ import annotations

import json

import pytest

from memctl.transcript import claude_code, reading
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
    told.prompt("the task <system-reminder>be brief</system-reminder>")
    told.prompt("hidden", isMeta=True)
    told.prompt("[Request interrupted by user]")
    told.call("Read", "x", error=True, details={"code": 1}, file_path="a.py")
    told.compaction("Summary")
    told.agent = "sub"
    told.prompt("a sub-agent's task")
    session = reading.read(told.text.encode())
    prompts = [(event.text, event.agent) for event in session.events if event.kind == PROMPT]
    assert prompts == [("the task", ""), ("a sub-agent's task", "sub")]
    (result,) = (event for event in session.events if event.kind == RESULT)
    assert (result.is_error, result.details) == (True, {"code": 1})
    assert session.count(DIGEST) == 1
    assert (session.model, session.answers, session.usage.read) == ("claude-opus-4-5", 1, 20_304)


def test_the_first_line_tells_messages_from_a_transcript() -> None:
    said = {"role": "user", "content": "hi"}
    items = [said, {"type": "reasoning", "summary": []}, {"role": "assistant", "content": "Hello"}]
    found = reading.read("\n".join(map(json.dumps, items)).encode() + b"\nbroken")
    assert (found.form, len(found.events), found.broken) == ("messages", 2, 1)
