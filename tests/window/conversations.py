"""Conversations of all shapes, for properties that hold of every one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

_WORDS = (
    *("src/api.ts", "retryPolicy", "error:", "23", "files", "timeout_ms", "[x]", "DO_NOT_EVICT", "IMPORTANT"),
    *("</tag>", "日本語", "passed"),
)
_lines = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=9).map(" ".join)
short = st.one_of(st.sampled_from(("Go on.", "[Evicted: x]", "ok", "[Evicted]")), _lines)
long = st.builds(lambda line, times: "\n".join(f"{line} {n}" for n in range(times)), _lines, st.integers(1, 120))
texts = st.one_of(short, long)
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
_UNKNOWN = {"type": "container_upload", "file_id": "f1", "more": {"a": [1]}}
_arguments = st.one_of(
    st.fixed_dictionaries({"file_path": st.sampled_from(("src/api.ts", "src/http.ts"))}),
    st.fixed_dictionaries({"pattern": short, "path": st.just("src")}),
    st.fixed_dictionaries({"file_path": st.just("src/api.ts"), "content": long}),
    st.fixed_dictionaries({"edits": st.lists(st.fixed_dictionaries({"new_string": long}), max_size=2)}),
    st.just({}),
)
_names = st.sampled_from(("Read", "Grep", "Bash", "Write", "mcp__x__look"))
_marks = st.sampled_from(({}, {}, {}, {"cache_control": {"type": "ephemeral"}}, {"do_not_evict": True}))


@st.composite
def anthropic(draw: st.DrawFn) -> Any:
    """Messages of Anthropic's shape: calls in parallel, thinking, images, unknown blocks, errors; a body or a list."""
    messages: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    number = 0
    for _ in range(draw(st.integers(0, 8))):
        messages.append({"role": "user", "content": _asked(draw, results)})
        content, results = [], []
        for _ in range(draw(st.integers(0, 2))):
            content.append({"type": "thinking", "thinking": draw(texts), "signature": "s"})
        if draw(st.booleans()):
            content.append({"type": "text", "text": draw(texts)})
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            call = {"type": "tool_use", "id": f"t{number}", "name": draw(_names), "input": draw(_arguments)}
            content.append(call)
            results.append(_result(draw, f"t{number}"))
        if not any(block["type"] != "thinking" for block in content):
            content.append({"type": "text", "text": draw(texts)})
        messages.append({"role": "assistant", "content": content})
    if results or draw(st.booleans()):
        messages.append({"role": "user", "content": _asked(draw, results)})
    if draw(st.booleans()):
        return messages
    tools = [{"name": name, "description": draw(texts), "input_schema": {}} for name in ("Read", "Weather")]
    system = draw(st.sampled_from(("You migrate code.", [{"type": "text", "text": "You migrate code."}])))
    return {"model": "claude", "system": system, "tools": tools, "messages": messages}


def _asked(draw: st.DrawFn, results: list[dict[str, Any]]) -> Any:
    if not results and draw(st.booleans()):
        return draw(texts)
    content: list[dict[str, Any]] = [*results]
    if not results or draw(st.integers(0, 4)) == 0:
        content.append({"type": "text", "text": draw(texts), **draw(_marks)})
    if draw(st.integers(0, 5)) == 0:
        content.append(draw(st.sampled_from((_IMAGE, _UNKNOWN))))
    return content


def _result(draw: st.DrawFn, identifier: str) -> dict[str, Any]:
    content = draw(
        st.one_of(
            texts,
            st.lists(texts.map(lambda text: {"type": "text", "text": text}), max_size=2),
            texts.map(lambda text: [{"type": "text", "text": text}, _IMAGE]),
            st.just([_IMAGE]),
        )
    )
    error = {"is_error": True} if draw(st.integers(0, 5)) == 0 else {}
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **error, **draw(_marks)}


@st.composite
def chat(draw: st.DrawFn) -> Any:
    """OpenAI's chat completions."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": draw(texts)}]
    number = 0
    for _ in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            messages.append({"role": "user", "content": draw(texts), **draw(_marks)})
        calls = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            function = {"name": draw(_names), "arguments": json.dumps(draw(_arguments))}
            calls.append({"id": f"c{number}", "type": "function", "function": function})
        if calls:
            messages.append({"role": "assistant", "content": draw(st.none() | texts), "tool_calls": calls})
        else:
            messages.append({"role": "assistant", "content": draw(texts)})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": draw(texts)} for call in calls]
    return draw(st.sampled_from((messages, {"model": "gpt-5", "messages": messages})))


@st.composite
def items(draw: st.DrawFn) -> Any:
    """Items of OpenAI's responses."""
    found: list[dict[str, Any]] = [{"role": "user", "content": draw(texts)}]
    for number in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            found.append({"type": "reasoning", "id": f"r{number}", "summary": [], "encrypted_content": "x" * 40})
        if draw(st.booleans()):
            arguments = json.dumps(draw(_arguments))
            found.append(
                {"type": "function_call", "call_id": f"c{number}", "name": draw(_names), "arguments": arguments}
            )
            found.append({"type": "function_call_output", "call_id": f"c{number}", "output": draw(texts)})
        else:
            content = [{"type": "output_text", "text": draw(texts), "annotations": []}]
            found.append({"type": "message", "role": "assistant", "content": content})
        if draw(st.integers(0, 3)) == 0:
            found.append({"role": "user", "content": [{"type": "input_text", "text": draw(texts)}]})
    return {"model": "gpt-5", "instructions": draw(texts), "input": found}


conversations = st.one_of(anthropic(), chat(), items())
