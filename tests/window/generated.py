"""Long conversations that look like real ones, the same for the same seed, in the shapes in which they are kept.

What is in them is made by `invented`; `test_generated.py` holds it to what was measured in real ones.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from memctl.text import timestamps
from tests.window.invented import FRAME, Request, Session, Step, tokens_of

START = "2025-11-04T09:00:00Z"
CWD = "/home/ada/shop"


@functools.cache
def requests(seed: int, calls: int = 120) -> tuple[Request, ...]:
    """A session as requests, whatever it is written down as; made once for all tests."""
    return tuple(Session(seed, calls).requests())


def anthropic(seed: int, calls: int = 120) -> list[dict[str, Any]]:
    """The messages of a session in Anthropic's shape, from its last compaction on."""
    found: list[dict[str, Any]] = []
    number = 0
    for request in requests(seed, calls):
        if request.is_compacted:
            found = []
        _say(found, request.said)
        content: list[dict[str, Any]] = []
        if request.thought:
            content.append({"type": "thinking", "thinking": request.thought, "signature": f"sig{number}"})
        if request.answer or not request.steps:
            content.append({"type": "text", "text": request.answer or "Done."})
        results: list[dict[str, Any]] = []
        for step in request.steps:
            number += 1
            identifier = f"toolu_{number:05d}"
            content.append({"type": "tool_use", "id": identifier, "name": step.tool, "input": step.arguments})
            results.append(_result(identifier, step))
        found.append({"role": "assistant", "content": content})
        if results:
            found.append({"role": "user", "content": results})
    return found


def _say(found: list[dict[str, Any]], said: str) -> None:
    """What the user says goes into the message of the results before it, if there is one."""
    if said and found and found[-1]["role"] == "user":
        found[-1]["content"].append({"type": "text", "text": said})
    elif said:
        found.append({"role": "user", "content": [{"type": "text", "text": said}]})


def _result(identifier: str, step: Step) -> dict[str, Any]:
    error = {"is_error": True} if step.is_error else {}
    return {"type": "tool_result", "tool_use_id": identifier, "content": step.result, **error}


def chat(seed: int, calls: int = 120) -> list[dict[str, Any]]:
    """The messages of a session as OpenAI's chat completions, from its last compaction on."""
    found: list[dict[str, Any]] = []
    number = 0
    for request in requests(seed, calls):
        if request.is_compacted:
            found = []
        if request.said:
            found.append({"role": "user", "content": request.said})
        answer: dict[str, Any] = {"role": "assistant", "content": request.answer or None}
        results = []
        for step in request.steps:
            number += 1
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            answer.setdefault("tool_calls", []).append(
                {"id": f"call_{number}", "type": "function", "function": function}
            )
            results.append({"role": "tool", "tool_call_id": f"call_{number}", "content": step.result})
        found += [answer, *results]
    return found


def transcript(seed: int, calls: int = 120, cwd: str = CWD) -> Iterator[str]:
    """The lines of a session as Claude Code writes them, all compactions in them; each line ends with a newline.

    Its tools are given whole paths, under `cwd`.
    """
    writer = _Writer(cwd, f"5f6c2a10-7d1e-4f7a-9a3b-{seed:012d}")
    context = FRAME
    for number, request in enumerate(requests(seed, calls)):
        if request.is_compacted:
            boundary = {"trigger": "auto", "preTokens": context}
            yield writer.line("system", subtype="compact_boundary", content="Compacted", compactMetadata=boundary)
            yield writer.message("user", request.said, isCompactSummary=True)
            context = FRAME + len(request.said) // 4
        elif request.said:
            yield writer.message("user", request.said)
        yield from _answered(writer, f"msg_{number:06d}", request, context)
        context += tokens_of(request)


class _Writer:
    """Writes lines one after the other, twenty seconds apart."""

    def __init__(self, cwd: str, session: str) -> None:
        self._common = {
            "isSidechain": False,
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.329",
            "gitBranch": "main",
        }
        self._number = 0

    def given(self, step: Step) -> dict[str, Any]:
        """The arguments of a call, with whole paths."""
        path = step.arguments.get("file_path")
        return {**step.arguments, "file_path": f"{self._common['cwd']}/{path}"} if path else step.arguments

    def line(self, type_: str, **fields: Any) -> str:
        self._number += 1
        moment = timestamps.from_epoch(timestamps.to_epoch(START) + 20 * self._number)
        own = {"type": type_, "uuid": f"u{self._number}", "timestamp": moment}
        parent = f"u{self._number - 1}" if self._number > 1 else None
        return json.dumps({"parentUuid": parent, **self._common, **own, **fields}) + "\n"

    def message(self, role: str, content: Any, **fields: Any) -> str:
        return self.line(role, message={"role": role, "content": content}, **fields)


def _answered(writer: _Writer, identifier: str, request: Request, context: int) -> Iterator[str]:
    """An answer with a line for each of its blocks, all with one id and one usage; then the results."""
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": context,
        "cache_creation_input_tokens": 300,
        "output_tokens": 90,
    }
    blocks: list[dict[str, Any]] = []
    if request.thought:
        blocks.append({"type": "thinking", "thinking": request.thought, "signature": f"s{identifier}"})
    if request.answer:
        blocks.append({"type": "text", "text": request.answer})
    named = [(f"toolu_{identifier}_{number}", step) for number, step in enumerate(request.steps)]
    blocks += [{"type": "tool_use", "id": name, "name": step.tool, "input": writer.given(step)} for name, step in named]
    for block in blocks:
        message = {
            "id": identifier,
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": [block],
            "usage": usage,
        }
        yield writer.line("assistant", message=message)
    for name, step in named:
        yield writer.message("user", [_result(name, step)])
