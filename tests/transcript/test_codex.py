"""Codex's rollouts, as version 0.169.0 writes them."""

from __future__ import annotations

import json
from typing import Any

from memctl.session import failures
from memctl.transcript import reader
from memctl.transcript.events import CALL, DIGEST, PROMPT, RESULT, Session

FRAME = "Chunk ID: 68bbe9\nWall time: 0.3 seconds\nProcess exited with code {}\nOriginal token count: 5\nOutput:\n"


def line(type_: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-11-22T22:41:53.830Z", "ordinal": 1, "type": type_, "payload": payload}) + "\n"


def message(role: str, text: str) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def start(cwd: str = "/home/ada/shop") -> str:
    meta = line("session_meta", id="01a2-c4", cwd=cwd, git={"branch": "main"})
    return meta + line("turn_context", cwd=cwd, model="gpt-5.5")


def run(number: int, command: str, output: str, code: int = 0) -> str:
    call = line(
        "response_item", type="function_call", name="exec_command", arguments=json.dumps({"cmd": command}),
        call_id=f"call_{number}",
    )  # fmt: skip
    text = FRAME.format(code) + output
    return call + line("response_item", type="function_call_output", call_id=f"call_{number}", output=text)


def patch(number: int, text: str, output: str) -> str:
    call = line("response_item", type="custom_tool_call", name="apply_patch", input=text, call_id=f"call_{number}")
    return call + line("response_item", type="custom_tool_call_output", call_id=f"call_{number}", output=output)


def read(*rows: str) -> Session:
    return reader.read("".join(rows).encode())


def test_a_rollout_has_what_was_asked_done_and_answered() -> None:
    total = {"input_tokens": 60_000, "output_tokens": 20}
    count = line("event_msg", type="token_count", info={"total_token_usage": total})
    session = read(
        start(),
        message("developer", "# Memory of shop"),
        message("user", "<environment_context>\n  <cwd>/home/ada/shop</cwd>"),
        message("user", "Refunds by card"),
        run(1, "cat app.py", "print('shop')\n"),
        count,
        count,
        patch(2, "*** Begin Patch\n*** Add File: card.py\n+x\n*** End Patch\n", "Exit code: 0\nOutput:\nSuccess."),
        message("assistant", "Done."),
        line("compacted", message="Refunds are under way."),
        "broken\n",
    )
    assert (session.form, session.id, session.model, session.branch) == ("Codex", "01a2-c4", "gpt-5.5", "main")
    assert (session.usage.read, session.answers, session.broken) == (60_000, 1, 1)
    assert session.started == "2026-11-22T22:41:53Z"
    assert session.cwd == "/home/ada/shop"
    said = [(event.kind, event.text) for event in session.events if event.kind not in (CALL,)]
    assert said == [
        (PROMPT, "Refunds by card"),
        (RESULT, "print('shop')\n"),
        (RESULT, "Success."),
        ("answer", "Done."),
        ("compaction", ""),
        (DIGEST, "Refunds are under way."),
    ]


def test_a_command_and_a_patch_that_failed_are_failures() -> None:
    session = read(
        start(),
        run(1, "pytest", "ImportError: no module named card\n", code=1),
        run(2, "ls", "error.log\n"),
        patch(3, "*** Begin Patch", "apply_patch verification failed: Failed to find expected lines in card.py"),
    )
    found = [(one.step, one.message) for one in failures.of_events(session.events)]
    assert [message for _, message in found] == [
        "ImportError: no module named card",
        "apply_patch verification failed: Failed to find expected lines in card.py",
    ]
    assert found[0][0] == "pytest"


def test_odd_values_in_a_rollout_are_passed_over() -> None:
    session = read(
        line("session_meta", id=3, git="main", cwd=[]),
        line("response_item", type="message", role="user", content=5),
        line("response_item", type=["x"]),
        line("event_msg", type="token_count", info={"total_token_usage": {"input_tokens": "many"}}),
        '{"type": "response_item", "payload": [1]}\n',
        message("user", "Hello"),
    )
    assert [event.text for event in session.events] == ["Hello"]
    assert (session.id, session.branch, session.cwd) == ("", "", "")
