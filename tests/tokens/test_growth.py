"""The growth of a context in a transcript."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memctl.tokens.reports import Growth, GrowthReader
from memctl.transcript.claude_code import LineReader
from memctl.transcript.line import Line

MODEL = "claude-sonnet-4-5"


def answer(identifier: str, context: int, *blocks: dict[str, Any], model: str = MODEL, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 3, "cache_read_input_tokens": context - 10, "cache_creation_input_tokens": 7}
    message = {"id": identifier, "model": model, "usage": usage, "content": list(blocks)}
    return {"type": "assistant", "message": message, **more}


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


CALL = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}


def growths(*given: dict[str, Any]) -> list[Growth]:
    reader = GrowthReader()
    found = (reader.take(Line(line)) for line in given)
    return [growth for growth in found if growth is not None]


def test_between_two_requests_the_answer_and_what_followed_it_were_added() -> None:
    (growth,) = growths(user("before"), answer("a", 1000, text("Looking."), CALL), user("total 4"), answer("b", 1200))
    assert [part.text for part in growth.parts] == ["Looking.", "Bash command\nls", "total 4"]
    assert (growth.model, growth.tokens, growth.fault) == (MODEL, 200, "")
    assert (growth.tool_calls, growth.overhead) == (1, 36 + 14 + 2 * 4)


def test_the_lines_of_one_answer_are_one_request() -> None:
    lines = (answer("a", 1000, text("One.")), answer("a", 1000, CALL), user("out"), answer("b", 1300), user("x"))
    (growth,) = growths(*lines)
    assert [part.text for part in growth.parts] == ["One.", "Bash command\nls", "out"]
    assert growth.tokens == 300


def test_a_sub_agents_lines_are_not_in_the_context() -> None:
    (growth,) = growths(
        answer("a", 1000),
        answer("s", 50_000, text("elsewhere"), isSidechain=True),
        user("elsewhere too", isSidechain=True),
        user("here"),
        answer("x", 1, text("API error"), model="<synthetic>"),
        answer("b", 1100),
    )
    assert ([part.text for part in growth.parts], growth.tokens) == (["here"], 100)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "system", "subtype": "compact_boundary", "compactMetadata": {}},
        user("a summary", isCompactSummary=True),
    ],
)
def test_compaction_does_not_count_as_growth(line: dict[str, Any]) -> None:
    assert growths(answer("a", 1000), line, answer("b", 200)) == []


def test_lines_of_other_kinds_are_passed_over() -> None:
    odd: tuple[dict[str, Any], ...] = ({}, {"type": "summary"}, {"type": "user"}, {"type": "assistant", "message": "x"})
    assert len(growths(answer("a", 1000), *odd, answer("b", 1100))) == 1


def test_lines_repeated_by_a_resumption_add_no_growth() -> None:
    lines = [user("before", uuid="1"), answer("a", 1000, uuid="2"), answer("b", 1200, uuid="3")]
    reader = GrowthReader()
    rows = [json.dumps(line) for line in [*lines, *lines, answer("c", 1300, uuid="4")]]
    found = [growth for line in LineReader().lines(rows) if (growth := reader.take(line)) is not None]
    assert [growth.tokens for growth in found] == [200, 100]


def test_a_growth_with_contents_that_are_not_text_has_a_fault() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "x"}
    (growth,) = growths(answer("a", 1000, thinking), answer("b", 1100))
    assert "thinking" in growth.fault
    (growth,) = growths(answer("a", 1000, text("x")), answer("b", 1100, model="claude-opus-4-5"))
    assert "changed" in growth.fault
