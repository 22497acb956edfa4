"""The programs of docs/examples for windows: a function as model, OpenAI's shape, an own rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import AuditLog, Conversation, validate
from tests.window.loops import text_of
from tests.window.programs import program
from tests.window.talk import Talk, long_talk

COUNTER = Counter(FAMILIES["claude-4.5"])


def test_a_plain_function_words_summaries() -> None:
    asked: list[str] = []

    def ask(system: str, user: str) -> str:
        asked.append(system + user)
        return "I can't."

    messages = long_talk().messages
    tokens = Conversation.parse(messages, COUNTER).tokens
    new, decisions = program("plain_model").compacted(messages, ask, int(tokens / 0.76))
    assert Conversation.parse(new, COUNTER).tokens < 0.8 * tokens
    assert "names of customers, as written" in asked[0]
    assert [one for one in decisions if one.event == "step" and one.details.get("model")]


def test_a_loop_in_openais_shape(tmp_path: Path) -> None:
    log = str(tmp_path / "window.jsonl")
    seen: list[list[dict[str, Any]]] = []
    outputs = [text_of(number, 18_000) for number in range(12)]

    def complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
        seen.append(messages)
        number = len(seen) - 1
        if number == len(outputs):
            return {"role": "assistant", "content": "Done.", "completion_tokens": 5}
        function = {"name": "read", "arguments": json.dumps({"path": f"part{number}.ts"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call], "completion_tokens": 60}

    tools = {"read": lambda path: outputs[int(path[4:-3])]}
    assert program("chat_shape").chat("Read all parts.", complete, tools, log) == "Done."
    for number, messages in enumerate(seen):
        assert validate(messages) == []
        assert number == 0 or messages[-1]["content"] == outputs[number - 1]
    assert any(one.event == "step" for one in AuditLog(tmp_path / "window.jsonl", str).read())


def test_own_rule_decides_what_is_evicted() -> None:
    talk = Talk("Answer the letter.")
    for number in range(20):
        talk.call("ask_customer", {"question": f"What of {number}?"}, f"customer says {number}\n" * 30)
        talk.call("ls", {"path": f"folder{number}"}, "\n".join(f"folder{number}/file{n}.txt" for n in range(45)))
    tokens = Conversation.parse(talk.messages, COUNTER).tokens
    new, gone = program("own_rule").managed(talk.messages, int(tokens / 0.76))
    tools = {block.block_id: block.tool_name for block in Conversation.parse(talk.messages, COUNTER).blocks}
    assert gone
    assert {tools[one] for one in gone} == {"ls"}
    assert validate(new) == []


@pytest.mark.parametrize("name", ["plain_model", "chat_shape", "own_rule"])
def test_document_names_each_example_program(name: str) -> None:
    root = Path(__file__).parents[2]
    assert f"(examples/window_{name}.py)" in (root / "docs" / "window.md").read_text()
