"""The growth of a context in a transcript."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from memctl.tokens.transcripts import Growth, Transcript
from memctl.transcript.line import context_of, without_added

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
    transcript = Transcript()
    return [growth for line in given for growth in transcript.read(line)]


def test_between_two_requests_the_answer_and_what_followed_it_were_added() -> None:
    (growth,) = growths(user("before"), answer("a", 1000, text("Looking."), CALL), user("total 4"), answer("b", 1200))
    assert [part.text for part in growth.parts] == ["Looking.", 'Bash {"command":"ls"}', "total 4"]
    assert (growth.model, growth.tokens, growth.tool_calls, growth.overhead, growth.fault) == (MODEL, 200, 1, 75, "")


def test_the_lines_of_one_answer_are_one_request() -> None:
    lines = (answer("a", 1000, text("One.")), answer("a", 1000, CALL), user("out"), answer("b", 1300), user("x"))
    (growth,) = growths(*lines)
    assert [part.text for part in growth.parts] == ["One.", 'Bash {"command":"ls"}', "out"]
    assert growth.tokens == 300


def test_what_a_sub_agent_said_is_not_in_the_context() -> None:
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
def test_a_compaction_is_no_growth(line: dict[str, Any]) -> None:
    assert growths(answer("a", 1000), line, answer("b", 200)) == []


def test_lines_of_other_kinds_are_passed_over() -> None:
    odd: tuple[dict[str, Any], ...] = ({}, {"type": "summary"}, {"type": "user"}, {"type": "assistant", "message": "x"})
    assert len(growths(answer("a", 1000), *odd, answer("b", 1100))) == 1


def test_what_no_text_stands_for_is_told() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "x"}
    (growth,) = growths(answer("a", 1000, thinking), answer("b", 1100))
    assert "thinking" in growth.fault
    (growth,) = growths(answer("a", 1000, text("x")), answer("b", 1100, model="claude-opus-4-5"))
    assert "changed" in growth.fault


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500}, 543),
        ({"input_tokens": 3, "cache_read_input_tokens": None}, 3),
        ({"prompt_tokens": 70, "prompt_tokens_details": {"cached_tokens": 60}}, 70),
        ({"input_tokens": 70, "input_tokens_details": {"cached_tokens": 60}}, 70),
        ({}, 0),
        (None, 0),
        ("x", 0),
    ],
)
def test_the_context_holds_cached_tokens_too(usage: Any, tokens: int) -> None:
    assert context_of(usage) == tokens


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a <system-reminder>b</system-reminder> c", "a  c"),
        ("<command-name>a</command-name><command-args>b\n</command-args>c", "c"),
        ("<system-reminder>a <system-reminder>b</system-reminder>", "<system-reminder>a "),
        ("<command-name>a<command-args>b</command-name>c</command-args>", "c</command-args>"),
        ("<task-notification>a", "<task-notification>a"),
        ("a</system-reminder>b", "a</system-reminder>b"),
    ],
)
def test_what_a_host_adds_to_a_prompt_is_left_out(text: str, rest: str) -> None:
    assert without_added(text) == rest


def test_tags_that_nobody_closes_take_no_time() -> None:
    names = map("".join, itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3))
    text = "".join(f"<command-{name}>" for name in names)
    begun = time.perf_counter()
    assert without_added(text) == text
    assert time.perf_counter() - begun < 2
