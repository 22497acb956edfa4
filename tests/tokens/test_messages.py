"""The text of requests."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from memctl.errors import MemctlError
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.tokens.messages import (
    PER_EMPTY_RESULT,
    PER_MESSAGE,
    PER_PARAMETER,
    PER_REQUEST,
    PER_SEVERAL_CALLS,
    PER_TOOL_CALL,
    Conversation,
    call_texts,
    count_call,
    image_size,
    image_tokens,
    kind_in_messages,
    parse,
)
from memctl.transcript.messages import RESULT, TEXT, encode_json, json_lines

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
        (2, "assistant", "tool call", "chat", "Bash command\nls"),
        (3, "user", "tool result", "log", "one file"),
    ]


def test_every_text_of_a_chat_with_openai_is_found() -> None:
    assert told(OPENAI) == [
        (1, "system", "text", "chat", "You are terse."),
        (2, "user", "text", "chat", "Fix the timeout."),
        (3, "assistant", "tool call", "chat", "bash command\nls"),
        (4, "tool", "tool result", "log", "one file"),
    ]


def test_every_text_of_openais_responses_is_found() -> None:
    assert [(what, text) for _, _, what, _, text in told(RESPONSES)] == [
        ("text", "You are terse."),
        ("text", "Fix the timeout."),
        ("tool call", "bash command\nls"),
        ("tool result", "one file"),
    ]
    assert parsed({"input": "Fix the timeout."}).parts[0].text == "Fix the timeout."


@pytest.mark.parametrize(("request_", "messages"), [(ANTHROPIC, 3), (OPENAI, 4), (RESPONSES, 3)])
def test_messages_and_tool_calls_cost_tokens_beside_their_text(request_: dict[str, Any], messages: int) -> None:
    conversation = parsed(request_)
    assert conversation.overhead == PER_REQUEST + messages * PER_MESSAGE + PER_TOOL_CALL + PER_PARAMETER


def test_several_calls_of_an_answer_and_an_empty_result_cost_more() -> None:
    def overhead(*calls: str, result: str = "x") -> int:
        used = [{"type": "tool_use", "name": name, "input": {}} for name in calls]
        given = {"role": "user", "content": [{"type": "tool_result", "content": result}]}
        return parsed([{"role": "assistant", "content": used}, given]).overhead

    one = PER_REQUEST + 2 * PER_MESSAGE + PER_TOOL_CALL
    assert overhead("Read") == one
    assert overhead("Read", "Read") == one + PER_TOOL_CALL + PER_SEVERAL_CALLS
    assert overhead("Read", "Read", "Read") == one + 2 * PER_TOOL_CALL + PER_SEVERAL_CALLS
    assert overhead("Read", result="") == one + PER_EMPTY_RESULT


def test_a_calls_input_is_counted_by_its_raw_values() -> None:
    """As JSON, each end of a line and each quotation mark in a value has a backslash more."""
    code = 'func main() {\n\tfmt.Println("hello")\n}\n' * 40
    texts, parameters = call_texts("Edit", {"file_path": "main.go", "new_string": code, "replace_all": True})
    assert texts == [
        ("chat", "Edit file_path new_string replace_all\nmain.go"),
        ("go", code),
        ("json", "true"),
    ]
    assert parameters == 3
    assert call_texts("Edit", encode_json({"file_path": "main.go"}, "")) == call_texts("Edit", {"file_path": "main.go"})
    counter = Counter(FAMILIES["gpt"])
    raw = counter.tokens(code)
    counted = count_call("Edit", {"file_path": "main.go", "new_string": code}, counter.tokens)
    assert raw < counted < raw + 100
    assert counter.tokens(encode_json(code, "")) > 1.2 * raw
    assert call_texts("Bash", "no JSON") == ([("chat", "Bash"), ("json", "no JSON")], 0)
    assert call_texts("Bash", {}) == ([("chat", "Bash")], 0)


def test_an_endless_value_in_a_call_is_named() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(MemctlError, match=r"^edits in a call of Edit is nested too deep$"):
        call_texts("Edit", {"edits": endless})
    with pytest.raises(MemctlError, match=r"^the call of Edit is nested too deep$"):
        call_texts("Edit", endless)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("     1→package main\n     2→\n     3→func main() {}\n", "numbered"),
        ("1\tpackage main\n2\t\n3\tfunc main() {}\n", "numbered"),
        ("cmd/main.go:12:func main() {\ncmd/main.go:14-\n/a/b.go:3:x\n", "matches"),
        ("12 passed\n3 failed\nin 4 seconds\n", "log"),
        ("one file", "log"),
    ],
)
def test_listings_of_tools_have_kinds_of_their_own(text: str, kind: str) -> None:
    assert kind_in_messages(text, RESULT) == kind
    assert kind_in_messages(text, TEXT) == "chat"


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1_092, 1_092) + b"\0" * 9).decode()
JPEG = base64.b64encode(
    b"\xff\xd8\xff\xe0\0\4JF\xff\xc0\0\x11\x08" + struct.pack(">HH", 200, 300) + b"\3" * 12
).decode()
GIF = base64.b64encode(b"GIF89a" + struct.pack("<HH", 20, 30) + b"\0\0").decode()
WEBP = base64.b64encode(b"RIFF\0\0\0\0WEBPVP8X\n\0\0\0\0\0\0\0" + bytes([99, 0, 0, 49, 0, 0])).decode()


def test_an_image_has_the_tokens_of_its_size() -> None:
    sizes = [image_size(data) for data in (PNG, JPEG, GIF, WEBP)]
    assert sizes == [(1_092, 1_092), (300, 200), (20, 30), (100, 50)]
    for odd in (None, 7, "", "AAAA", "%%%", PNG[:20], base64.b64encode(b"\xff\xd8\xff").decode()):
        assert image_size(odd) is None
    own = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    assert image_tokens(own) == 1_590
    assert image_tokens({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}) is None
    url = f"data:image/png;base64,{PNG}"
    assert image_tokens({"type": "image_url", "image_url": {"url": url}}) == 85 + 4 * 170
    assert image_tokens({"type": "image_url", "image_url": {"url": url, "detail": "low"}}) == 85
    assert image_tokens({"type": "input_image", "image_url": url}) == 85 + 4 * 170
    assert image_tokens({"type": "document"}) is None
    conversation = parsed([{"role": "user", "content": [own, {"type": "text", "text": "What is it?"}]}])
    assert conversation.uncounted == {}
    assert conversation.overhead == PER_REQUEST + PER_MESSAGE + 1_590


def test_contents_that_are_not_text_are_reported_and_not_counted() -> None:
    content = [{"type": "image", "source": {"data": "aaaa"}}, {"type": "thinking", "thinking": "x"}, "odd", {"type": 1}]
    conversation = parsed([{"role": "user", "content": content}])
    assert conversation.parts == []
    assert conversation.uncounted == {"image": 1, "thinking": 1, "unknown content": 2}


@pytest.mark.parametrize("given", [None, 1, "text", {}, {"messages": "x"}, [1], {"messages": [[]]}])
def test_a_value_that_is_not_a_request_is_recognised(given: Any) -> None:
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
def test_odd_messages_are_parsed(message: dict[str, Any]) -> None:
    assert parsed([message]).messages == 1


def test_lines_that_are_not_json_are_read_as_none() -> None:
    assert list(json_lines('{"a": 1}\n\nnope\n' + "[" * 100_000)) == [(1, {"a": 1}), (3, None), (4, None)]
