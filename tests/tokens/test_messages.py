"""The text of requests."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST, PER_TOOL_CALL, Conversation, parse
from memctl.transcript.messages import json_lines

ANTHROPIC = {
    "model": "claude-sonnet-4-5",
    "system": [{"type": "text", "text": "You are terse."}],
    "tools": [{"name": "Bash"}],
    "messages": [
        {"role": "user", "content": "Fix the timeout."},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "# Plan\n\nLook first."},
                {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "one file"}]}]},
    ],
}
OPENAI = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": [{"type": "text", "text": "Fix the timeout."}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
        },
        {"role": "tool", "content": "one file"},
    ],
}
RESPONSES = {
    "model": "gpt-5",
    "instructions": "You are terse.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Fix the timeout."}]},
        {"type": "function_call", "name": "bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call_output", "output": "one file"},
    ],
}


def parsed(given: Any) -> Conversation:
    result = parse(given)
    assert result is not None
    return result


def told(given: Any) -> list[tuple[int, str, str, str, str]]:
    return [(part.message, part.role, part.what, part.kind, part.text) for part in parsed(given).parts]


def test_every_text_of_a_request_to_claude_is_found_with_its_place_and_kind() -> None:
    assert told(ANTHROPIC) == [
        (0, "system", "text", "chat", "You are terse."),
        (0, "system", "tools", "json", '[{"name":"Bash"}]'),
        (1, "user", "text", "chat", "Fix the timeout."),
        (2, "assistant", "text", "markdown", "# Plan\n\nLook first."),
        (2, "assistant", "tool call", "json", 'Bash {"command":"ls"}'),
        (3, "user", "tool result", "log", "one file"),
    ]


def test_every_text_of_a_chat_with_openai_is_found() -> None:
    assert told(OPENAI) == [
        (1, "system", "text", "chat", "You are terse."),
        (2, "user", "text", "chat", "Fix the timeout."),
        (3, "assistant", "tool call", "json", 'bash {"command": "ls"}'),
        (4, "tool", "tool result", "log", "one file"),
    ]


def test_every_text_of_openais_responses_is_found() -> None:
    assert [(what, text) for _, _, what, _, text in told(RESPONSES)] == [
        ("text", "You are terse."),
        ("text", "Fix the timeout."),
        ("tool call", 'bash {"command": "ls"}'),
        ("tool result", "one file"),
    ]
    assert parsed({"input": "Fix the timeout."}).parts[0].text == "Fix the timeout."


@pytest.mark.parametrize(("request_", "messages"), [(ANTHROPIC, 3), (OPENAI, 4), (RESPONSES, 3)])
def test_messages_and_tool_calls_cost_tokens_beside_their_text(request_: dict[str, Any], messages: int) -> None:
    conversation = parsed(request_)
    assert conversation.overhead == PER_REQUEST + messages * PER_MESSAGE + PER_TOOL_CALL
    assert PER_TOOL_CALL == 75


def test_what_is_no_text_is_told_and_not_counted() -> None:
    content = [{"type": "image", "source": {"data": "aaaa"}}, {"type": "thinking", "thinking": "x"}, "odd", {"type": 1}]
    conversation = parsed([{"role": "user", "content": content}])
    assert conversation.parts == []
    assert conversation.uncounted == {"image": 1, "thinking": 1, "unknown content": 2}


@pytest.mark.parametrize("given", [None, 1, "text", {}, {"messages": "x"}, [1], {"messages": [[]]}])
def test_what_is_no_request_is_told_from_one(given: Any) -> None:
    assert parse(given) is None


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user"},
        {"role": None, "content": {"a": 1}},
        {"role": "assistant", "tool_calls": [None, {"function": "x"}]},
        {"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_use"}, {"type": "text", "text": None}]},
        {},
    ],
)
def test_odd_messages_do_no_harm(message: dict[str, Any]) -> None:
    assert parsed([message]).messages == 1


def test_lines_that_are_not_json_are_none() -> None:
    assert list(json_lines('{"a": 1}\n\nnope\n' + "[" * 100_000)) == [(1, {"a": 1}), (3, None), (4, None)]
