"""Gemini CLI's chats, as version 0.61.0 writes them, and the documents of before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memctl.session import failures
from memctl.transcript import reader
from memctl.transcript.events import ANSWER, COMPACTION, DIGEST, PROMPT, RESULT, Session

HEAD = {"sessionId": "0f7b", "projectHash": "1d7d", "startTime": "2026-11-22T22:43:28.000Z", "kind": "main"}
ANSWERED = "Got it. Thanks for the additional context!"


def said(number: int, type_: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": "2026-11-22T22:43:28.666Z", "type": type_, "content": content, **more}


def called(number: int, command: str, status: str = "success", **response: str) -> dict[str, Any]:
    call = {
        "id": f"shell_{number}",
        "name": "run_shell_command",
        "args": {"command": command},
        "result": [{"functionResponse": {"id": f"shell_{number}", "response": response}}],
        "status": status,
    }
    tokens = {"input": 1000, "output": 20}
    return said(number, "gemini", "", toolCalls=[call], model="gemini-2.5-flash", tokens=tokens)


def read(*lines: dict[str, Any]) -> Session:
    return reader.read("".join(json.dumps(line) + "\n" for line in lines).encode())


def test_last_version_of_a_repeated_message_counts() -> None:
    output = "<untrusted_context>\nOutput: print('shop')\nProcess Group PGID: 12\n</untrusted_context>"
    session = read(
        HEAD,
        {"$set": {"messages": [said(1, "user", [{"text": "<session_context>Linux</session_context>"}])]}},
        said(2, "user", [{"text": "<hook_context># Memory</hook_context>\n\nRefunds by card"}]),
        said(3, "gemini", "", tokens={"input": 1000, "output": 20}, model="gemini-2.5-flash"),
        called(3, "cat app.py", output=output),
        said(4, "user", [{"functionResponse": {"response": {"output": output}}}]),
        said(5, "gemini", "Done."),
    )
    assert (session.form, session.id, session.model, session.answers) == ("Gemini CLI", "0f7b", "gemini-2.5-flash", 1)
    assert [(event.kind, event.text) for event in session.events if event.kind != "call"] == [
        (PROMPT, "Refunds by card"),
        (RESULT, "print('shop')"),
        (ANSWER, "Done."),
    ]


def test_a_compression_repeats_messages_and_only_its_summary_is_new() -> None:
    restated = [
        said(1, "user", [{"text": "<session_context>Linux</session_context>"}]),
        said(8, "user", [{"text": "Refunds are under way."}]),
        said(9, "gemini", [{"text": ANSWERED}]),
        said(10, "user", [{"text": "Refunds by card"}]),
    ]
    session = read(HEAD, said(2, "user", "Refunds by card"), *[{"$set": {"messages": restated}}] * 2)
    assert [event.kind for event in session.events] == [PROMPT, COMPACTION, DIGEST]
    assert session.events[-1].text == "Refunds are under way."


def test_a_call_that_ended_with_a_code_is_a_failure_and_one_that_was_denied_did_not_run() -> None:
    session = read(
        HEAD,
        called(1, "pytest", output="Output: ImportError: no module named card\nExit Code: 1"),
        called(2, "rm -r src", status="error", error="Tool execution denied by policy."),
        called(3, "ls", output="Output: error.log\nExit Code: 0"),
    )
    assert [(one.step, one.message) for one in failures.of_events(session.events)] == [
        ("pytest", "ImportError: no module named card"),
    ]


@pytest.mark.parametrize("indent", [None, 2])
def test_chat_in_the_older_single_document_form_is_read(indent: int | None) -> None:
    document = {**HEAD, "messages": [said(1, "user", "Hello"), said(2, "info", "Updated"), said(3, "gemini", "Hi")]}
    session = reader.read(json.dumps(document, indent=indent).encode())
    assert [event.text for event in session.events] == ["Hello", "Hi"]


def test_odd_values_in_a_chat_are_passed_over() -> None:
    odd = said(1, "gemini", 5, toolCalls=[3, {"id": 1, "args": [], "result": [{"functionResponse": 2}]}], tokens=[])
    session = read(HEAD, {"$set": [1]}, {"$set": {"messages": 3}}, odd, {"messages": "x"}, said(2, "user", "Hello"))
    assert [event.text for event in session.events if event.kind == PROMPT] == ["Hello"]
