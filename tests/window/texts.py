"""Conversations for tests of the window, in each shape."""

from __future__ import annotations

from typing import Any

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES

COUNTER = Counter(FAMILIES["gpt"])
TASK = "Migrate all REST API calls in user-service from axios to fetch, preserving error-handling logic."


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def use(identifier: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": arguments}


def result(identifier: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **more}


def thinking(said: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": "c2ln"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if len(content) == 1 and isinstance(content[0], str) else [*content]}


def assistant(*content: Any) -> dict[str, Any]:
    return {**user(*content), "role": "assistant"}


def alike(number: int, rows: int = 20, words: int = 300) -> tuple[str, str]:
    """A file of so many definitions, and one of so many words in one line, with no text in common."""
    names = [f"{number}_{row}" for row in range(rows)]
    code = (f"export function step{name}(in{name}) {{ return {name[2:]} + in{name}; }}" for name in names)
    return "\n".join(code), " ".join(f"word{number}x{word}" for word in range(words))


def body() -> dict[str, Any]:
    """A request of Anthropic's shape with all that can be in one."""
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 8000,
        "system": [{"type": "text", "text": "You migrate code.", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"name": "Grep", "description": "Search files.", "input_schema": {"type": "object"}},
            {"name": "Weather", "description": "Say how the weather is.", "input_schema": {"type": "object"}},
        ],
        "messages": [
            user(text(TASK), {"type": "image", "source": {"type": "base64", "data": "aGk="}}),
            assistant(thinking("Search first."), text("I look for axios."), use("t1", "Grep", pattern="axios")),
            user(result("t1", [text("23 files reference axios\n" * 40), {"type": "image", "source": {}}])),
            assistant(use("t2", "Read", file_path="src/api.ts"), use("t3", "Read", file_path="src/http.ts")),
            user(
                result("t2", "export const api = axios.create()\n" * 50, cache_control={"type": "ephemeral"}),
                result("t3", "ENOENT: no such file", is_error=True),
                text("<system-reminder>The list of todos is empty.</system-reminder>"),
            ),
            assistant("Two files are read."),
            user("Go on with src/api.ts."),
        ],
    }


def chat() -> list[dict[str, Any]]:
    """OpenAI's chat completions."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "axios"}'}}
    other = {"id": "c2", "type": "function", "function": {"name": "read", "arguments": '{"path": "src/api.ts"}'}}
    return [
        {"role": "developer", "content": "You migrate code."},
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": None, "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "c1", "content": "23 files reference axios\n" * 40},
        {"role": "tool", "tool_call_id": "c2", "content": [text("const api = axios.create()\n" * 40)]},
        {"role": "assistant", "content": "Found 23 files."},
        {"role": "user", "content": [text("Go on.")]},
    ]


def items() -> dict[str, Any]:
    """OpenAI's responses."""
    return {
        "model": "gpt-5",
        "instructions": "You migrate code.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": TASK}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Search first."}]},
            {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"query": "axios"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "23 files reference axios\n" * 40},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found 23 files."}]},
            {"role": "user", "content": "Go on."},
        ],
    }
