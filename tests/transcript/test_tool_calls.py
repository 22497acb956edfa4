"""Tool calls and results in transcripts of Codex and Gemini CLI, in the shapes that both write (tests/agents)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl.session import failures
from memctl.transcript import reader
from memctl.transcript.events import CALL

TIME = "2026-11-22T22:40:39.120Z"
HEAD = {"sessionId": "s", "projectHash": "p"}
FAILS = "echo '1 failed'; exit 1"


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": "response_item", "payload": payload}


def codex(call: str, command: str, output: str) -> list[dict[str, Any]]:
    return [
        item(type="function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id=call),
        item(type="function_call_output", call_id=call, output=output),
    ]


def gemini(*calls: tuple[str, str, str]) -> dict[str, Any]:
    """A message with calls: their ids, commands and outputs, "" for one that has none yet."""
    made = [
        {
            "id": name,
            "name": "run_shell_command",
            "args": {"command": command},
            "result": [{"functionResponse": {"id": name, "response": {"output": output}}}] if output else [],
            "status": "success",
            "timestamp": TIME,
        }
        for name, command, output in calls
    ]
    return {"id": "m1", "type": "gemini", "content": "", "toolCalls": made}


def write(file: Path, *lines: Any) -> str:
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(file)


CODEX = [
    {"type": "session_meta", "payload": {}},
    *codex("c1", "cat app.py", "Process exited with code 0\nOutput:\nprint('shop')\n"),
    *codex("c2", FAILS, "Process exited with code 1\nOutput:\n1 failed\n"),
]
GEMINI = [
    HEAD,
    gemini(("c1", "cat app.py", "Output: print('shop')")),
    gemini(("c1", "cat app.py", "Output: print('shop')"), ("c2", FAILS, "Output: run\n1 failed\nExit Code: 1")),
]


@pytest.mark.parametrize("lines", [CODEX, GEMINI], ids=["codex", "gemini"])
def test_calls_come_once_with_their_results_and_tell_what_failed(tmp_path: Path, lines: list[Any]) -> None:
    beside = {"type": "event_msg", "payload": {"type": "function_call", "name": "no item"}}
    path = write(tmp_path / "t.jsonl", *lines, beside, [1], {"toolCalls": "odd"})
    events = reader.tool_calls(path)
    assert [event.call for event in events] == ["c1", "c1", "c2", "c2"]
    assert [[*event.arguments.values()] for event in events if event.kind == CALL] == [["cat app.py"], [FAILS]]
    assert [(one.step, one.message) for one in failures.of_events(events)] == [("exit 1", "1 failed")]


@pytest.mark.parametrize("lines", [CODEX[:4], [HEAD, gemini(("c1", "cat app.py", "out"), ("c2", FAILS, ""))]])
def test_a_call_without_a_result_is_left_out(tmp_path: Path, lines: list[Any]) -> None:
    assert [event.call for event in reader.tool_calls(write(tmp_path / "t.jsonl", *lines))] == ["c1", "c1"]


@pytest.mark.parametrize("nested", ['{"a":' * 900 + "1" + "}" * 900, "[" * 100_000, "\x00", '"\\ud800"'])
def test_invalid_transcript_has_no_tool_calls(tmp_path: Path, nested: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(
        f"{json.dumps(CODEX[0])}\n"
        f'{{"type": "response_item", "payload": {{"type": "function_call", "arguments": {nested}}}}}\n'
    )
    assert reader.tool_calls(str(file)) == []
    assert reader.tool_calls(str(tmp_path / "none.jsonl")) == []
