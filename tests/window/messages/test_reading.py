"""Conversations out of files of each form."""

from __future__ import annotations

import json

import pytest

from memctl.errors import MemctlError
from memctl.window.messages import reading
from tests.transcript.claude import Transcript
from tests.window import texts
from tests.window.texts import COUNTER

FORMS = {
    "a body": json.dumps(texts.body()),
    "a body over lines": json.dumps(texts.body(), indent=1),
    "a list": json.dumps(texts.chat()),
    "a list over lines": "\n\n" + json.dumps(texts.chat(), indent=2),
    "messages line by line": "\n".join(map(json.dumps, texts.chat())),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=list(FORMS))
def test_each_form_of_file_is_read(text: str) -> None:
    found = reading.load(text.splitlines(keepends=True), "x.json")
    assert len(found.parse(COUNTER).messages) == 7
    assert found.transcript is None


def test_a_block_out_of_a_transcript_knows_its_line() -> None:
    told = Transcript()
    told.prompt("the task")
    told.call("Read", "x" * 100, file_path="a.py")
    found = reading.load(told.lines, "x.jsonl").parse(COUNTER)
    assert [block.metadata["line"] for block in found.blocks] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "text", ["", "x", "3", '{"a": 1}', "[1]", '{"role": "user"}\nx', '{"messages": 3}', "[" * 9000]
)
def test_file_without_a_conversation_is_named_in_the_error(text: str) -> None:
    with pytest.raises(MemctlError, match=r"x\.json"):
        reading.load(text.splitlines(keepends=True), "x.json").parse(COUNTER)
