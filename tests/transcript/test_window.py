"""Windows out of transcripts of Claude Code."""

from __future__ import annotations

import json
from typing import Any

from memctl.transcript import window
from memctl.window import validate
from tests.transcript.claude import Transcript
from tests.window.texts import result, thinking, use


def line(role: str, *content: Any, id: str = "", **fields: Any) -> str:
    return json.dumps({"type": role, "message": {"role": role, "id": id, "content": [*content]}, **fields})


def test_an_answer_is_put_together_from_its_lines() -> None:
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": "do"}}),
        line("assistant", thinking("hm"), id="m1"),
        line("assistant", use("t1", "Read", file_path="a"), id="m1"),
        line("user", result("t1", "one")),
        line("assistant", use("t2", "Read", file_path="b"), id="m1"),
        line("user", result("t2", "two")),
        line("assistant", {"type": "text", "text": "done"}, id="m2"),
    ]
    found = window.read(lines)
    assert [message["role"] for message in found.messages] == ["user", "assistant", "user", "assistant"]
    assert [block["type"] for block in found.messages[1]["content"]] == ["thinking", "tool_use", "tool_use"]
    assert [block["content"] for block in found.messages[2]["content"]] == ["one", "two"]
    assert found.lines == [[1], [2, 3, 5], [4, 6], [7]]
    assert validate(found.messages) == []


def test_queued_prompt_follows_the_results_during_which_it_came() -> None:
    def queue(operation: str, **fields: str) -> str:
        return json.dumps({"type": "queue-operation", "operation": operation, **fields})

    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": "do"}}),
        line("assistant", use("t1", "Read", file_path="a"), id="m1"),
        queue("enqueue", content="keep the old name, too"),
        queue("enqueue", content="taken back"),
        queue("remove"),
        queue("popAll"),
        line("assistant", use("t2", "Read", file_path="b"), id="m1"),
        line("user", result("t1", "one")),
        line("user", result("t2", "two")),
        line("assistant", {"type": "text", "text": "done"}, id="m2"),
    ]
    found = window.read(lines)
    assert [[block["type"] for block in message["content"]] for message in found.messages] == [
        ["text"], ["tool_use", "tool_use"], ["tool_result", "tool_result", "text"], ["text"],
    ]  # fmt: skip
    assert found.messages[2]["content"][-1]["text"] == "keep the old name, too"
    assert found.lines[2] == [8, 9, 3]
    assert validate(found.messages) == []


def test_only_the_window_since_the_last_compaction_is_read() -> None:
    told = Transcript()
    told.prompt("the task")
    told.call("Read", "x" * 100, file_path="a.py")
    told.compaction("Summary: a.py was read.")
    told.call("Read", "again", file_path="a.py")
    told.agent = "sub"
    told.prompt("a sub-agent's task")
    found = window.read(told.lines)
    assert found.messages[0]["content"][0]["text"] == "Summary: a.py was read."
    assert len(found.messages) == 3
    assert (len(found.compactions), found.reported, found.model) == (1, 20_304, "claude-opus-4-5")


def test_calls_without_results_and_results_without_calls_are_left_out() -> None:
    lines = [
        line("user", {"type": "text", "text": "do"}),
        line("user", result("lost", "x")),
        "not json",
        "[1]",
        line("assistant", thinking("hm"), id="m1"),
        line("assistant", use("t1", "Bash", command="sleep 9"), id="m1"),
        line("user", {"type": "text", "text": "[Request interrupted by user]"}),
        line("assistant", use("t2", "Bash", command="ls"), id="m2"),
    ]
    found = window.read(lines)
    assert validate(found.messages) == []
    assert (found.left_out, found.broken) == (3, 2)
    assert len(found.messages) == 1


def test_a_repeated_call_is_sent_once() -> None:
    lines = [
        line("user", {"type": "text", "text": "do"}),
        line("assistant", use("t1", "Read"), id="m1"),
        line("user", result("t1", "x")),
        line("assistant", use("t1", "Read"), id="m2"),
        line("user", result("t1", "x")),
    ]
    assert validate(window.read(lines).messages) == []


def test_repeated_lines_count_once() -> None:
    one = line("user", {"type": "text", "text": "do"}, uuid="u1")
    assert len(window.read([one, one]).messages[0]["content"]) == 1
