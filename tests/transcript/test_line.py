"""What a line of a transcript says of usage, and a prompt without what the host has added."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from memctl.transcript.line import Line, context_tokens, without_host_tags


def test_fields_of_other_types_are_read_as_absent() -> None:
    odd = Line({"type": ["user"], "message": "none", "uuid": 3, "agentId": {}, "compactMetadata": []})
    assert (odd.role, odd.uuid, odd.agent, odd.answer, odd.model, odd.context) == ("", "", "", "", "", 0)
    assert odd.compaction == {}
    assert Line({"type": "assistant", "message": {"id": 5, "usage": [5], "model": 1}}).role == "assistant"


def test_a_synthetic_answer_has_no_role() -> None:
    message = {"id": "x", "model": "<synthetic>", "usage": {"input_tokens": 5}}
    line = Line({"type": "assistant", "message": message})
    assert (line.role, line.context, line.answer) == ("", 0, "")


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
    assert context_tokens(usage) == tokens


PROMPT_COMMAND = "<command-message>review</command-message>\n<command-name>/review</command-name>"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a <system-reminder>b</system-reminder> c", "a  c"),
        ("<command-name>a</command-name><command-args>b\n</command-args>c", "c"),
        (f"{PROMPT_COMMAND}<command-args>- <b> is\n slow </command-args>", "/review - <b> is\n slow"),
        (PROMPT_COMMAND, "/review"),
        (f"{PROMPT_COMMAND}<command-args> </command-args>", "/review"),
        (f"{PROMPT_COMMAND}<command-args></command-args> a <command-args>b</command-args>", "/review a "),
        ("<command-name>/model</command-name><command-message>m</command-message><command-args>o</command-args>", ""),
        ("<system-reminder>a <system-reminder>b</system-reminder>", "<system-reminder>a "),
        ("<command-name>a<command-args>b</command-name>c</command-args>", "c</command-args>"),
        ("<task-notification>a", "<task-notification>a"),
        ("a</system-reminder>b", "a</system-reminder>b"),
    ],
)
def test_host_tags_in_a_prompt_are_left_out(text: str, rest: str) -> None:
    assert without_host_tags(text) == rest


def test_unclosed_tags_are_read_quickly() -> None:
    names = map("".join, itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3))
    text = "".join(f"<command-{name}>" for name in names)
    begun = time.process_time()
    assert without_host_tags(text) == text
    assert time.process_time() - begun < 2


def test_unclosed_arguments_of_a_command_are_read_quickly() -> None:
    text = f"{PROMPT_COMMAND}<command-args>a" + " " * 400_000
    begun = time.process_time()
    assert without_host_tags(text).endswith("a" + " " * 400_000)
    assert time.process_time() - begun < 2
