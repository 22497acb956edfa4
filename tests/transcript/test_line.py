"""What a line of a transcript says of usage."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.transcript.line import Line, context_tokens


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
