"""Observations in files."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST, PER_TOOL_CALL
from memctl.tokens.reports import Observations, observe

MODEL = "claude-sonnet-4-5"
TEXT = "The orders of a shop must not be lost when a worker dies. " * 10
ESTIMATE = Counter(FAMILIES["claude-4.5"]).tokens(TEXT, "prose")
CHAT = Counter(FAMILIES["claude-4.5"]).tokens(TEXT, "chat")
FRAME = PER_REQUEST + PER_MESSAGE
USER = [{"role": "user", "content": TEXT}]
CALL = {"type": "tool_use", "name": "Bash", "input": {}}


def no_file(name: str) -> str:
    raise MemctlError(f"{name} can't be read")


def observed(*given: Any) -> Observations:
    return observe("\n".join(msgspec.json.encode(line).decode() for line in given), no_file)


def pairs(*given: Any) -> list[tuple[int, int]]:
    found = observed(*given)
    assert found.asides == []
    return [(one.estimate, one.reported) for one in found.by_model[MODEL]]


def test_text_with_the_count_of_its_request_is_an_observation() -> None:
    assert pairs({"model": MODEL, "text": TEXT, "input_tokens": 150}) == [(ESTIMATE, 150 - FRAME)]


def test_the_kind_of_a_text_can_be_given() -> None:
    (one,) = observed({"model": MODEL, "text": TEXT, "kind": "chat", "input_tokens": 150}).by_model[MODEL]
    assert (one.estimate, one.kinds) == (CHAT, "chat")


def test_a_text_can_be_in_a_file() -> None:
    found = observe(
        '{"model": "claude-sonnet-4-5", "file": "a.log", "input_tokens": 99}', lambda name: f"{name} {TEXT}"
    )
    assert [one.kinds for one in found.by_model[MODEL]] == ["log"]


@pytest.mark.parametrize(
    "line",
    [
        {"model": MODEL, "messages": USER, "input_tokens": 150},
        {"request": {"model": MODEL, "messages": USER}, "response": {"usage": {"input_tokens": 150}}},
        {"request": {"model": "x", "messages": USER}, "response": {"model": MODEL, "usage": {"input_tokens": 150}}},
        {"model": MODEL, "messages": USER, "usage": {"prompt_tokens": 150, "completion_tokens": 9}},
        {
            "model": MODEL,
            "messages": USER,
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 49},
        },
    ],
)
def test_request_with_its_usage_is_an_observation(line: dict[str, Any]) -> None:
    assert pairs(line) == [(CHAT, 150 - FRAME)]


def test_a_tool_call_costs_more_than_its_text() -> None:
    messages = [*USER, {"role": "assistant", "content": [CALL]}]
    ((_, reported),) = pairs({"model": MODEL, "messages": messages, "input_tokens": 400})
    assert reported == 400 - FRAME - PER_MESSAGE - PER_TOOL_CALL


def test_a_transcript_is_an_observation_for_each_growth() -> None:
    def answer(identifier: str, context: int) -> dict[str, Any]:
        content = [{"type": "text", "text": TEXT}, CALL]
        message = {"id": identifier, "model": MODEL, "usage": {"input_tokens": context}, "content": content}
        return {"type": "assistant", "message": message}

    call = Counter(FAMILIES["claude-4.5"]).tokens("Bash", "chat")
    assert pairs(answer("a", 1000), {"type": "summary", "subtype": "x"}, answer("b", 1300)) == [
        (CHAT + call, 300 - 36 - 2 * 4)
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ([1], "the line is not a JSON object"),
        ({"text": TEXT, "input_tokens": 5}, "the line names no model"),
        ({"model": MODEL, "text": TEXT}, "no count"),
        ({"model": MODEL, "text": TEXT, "input_tokens": "9"}, "no count"),
        ({"model": MODEL, "text": TEXT, "input_tokens": -9}, "no count"),
        ({"model": MODEL, "input_tokens": 9}, "no text, file or messages"),
        ({"model": MODEL, "text": "short", "input_tokens": 9}, "fewer than 50"),
        ({"model": MODEL, "text": TEXT, "input_tokens": FRAME}, f"tokens, {FRAME}, must be larger than {FRAME}, which"),
        ({"model": MODEL, "text": TEXT, "input_tokens": 99, "kind": "poem"}, "kind is not one of"),
        ({"model": "llama-3", "text": TEXT, "input_tokens": 99}, "llama-3"),
        ({"model": "gpt-5", "text": TEXT, "input_tokens": 99}, "counted exactly"),
        ({"model": MODEL, "file": "absent", "input_tokens": 99}, "absent can't be read"),
        ({"model": MODEL, "messages": [{"role": "user", "content": [{"type": "image"}]}], "input_tokens": 9}, "image"),
    ],
)
def test_lines_without_an_observation_are_reported_with_line_and_reason(line: Any, reason: str) -> None:
    found = observed({"model": MODEL, "text": TEXT, "input_tokens": 150}, line)
    assert [aside.line for aside in found.asides] == [2]
    assert reason in found.asides[0].reason
    assert len(found.by_model[MODEL]) == 1


def test_a_broken_line_does_not_spoil_the_others() -> None:
    good = msgspec.json.encode({"model": MODEL, "text": TEXT, "input_tokens": 150}).decode()
    found = observe(f"{good}\n{{broken\n\n{good}\n", no_file)
    assert [(aside.line, aside.reason) for aside in found.asides] == [(2, "the line is not a JSON object")]
    first, second = found.by_model[MODEL]
    assert first.digest == second.digest, "the same text with the same count is the same observation"
