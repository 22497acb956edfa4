"""The example of docs/window.md: an agent's own loop, run as it stands there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from memctl.errors import MemctlError
from memctl.store.memory import open_memory
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Conversation, CrossWindowStateManager, validate
from tests.window.programs import program

run = program("own_loop").run
COUNTER = Counter(FAMILIES["claude-4.5"])
TASK = "Decision: keep the retries at 7. Count the words in the parts of the book in chapters/."
WINDOW = 12_000


class Model:
    """A model that calls a tool as often as it is to, and then says what it was asked for at last."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.requests: list[list[dict[str, Any]]] = []

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.requests.append(messages)
        number = len(self.requests)
        if number > self.calls:
            return {"content": [{"type": "text", "text": "Counted."}], "usage": {"output_tokens": 5}}
        use = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {"path": f"chapters/{number}.md"}}
        return {"content": [use], "usage": {"output_tokens": 60}}


def read(path: str) -> str:
    return "\n".join(f"{path}:{number}: the quick brown fox jumps over the lazy dog" for number in range(120))


def test_loop_continues_far_beyond_its_window() -> None:
    model = Model(60)
    assert run(TASK, model, {"read": read}, config={"max_context_tokens": WINDOW}) == "Counted."
    assert len(model.requests) == 61
    for messages in model.requests:
        assert validate(messages) == []
        assert Conversation.parse(messages, COUNTER).tokens < WINDOW
        assert "keep the retries at 7" in str(messages)


class Wordy(Model):
    """A model that says so much at each call that no window is kept for long, and each time something else."""

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        answer = super().__call__(messages)
        number = len(self.requests)
        if number > self.calls:
            return answer
        said = f"Learned: part {number} has {' '.join(f'word{number * n}' for n in range(1, 1_500))}"
        return {"content": [{"type": "text", "text": said}, *answer["content"]], "usage": {"output_tokens": 4_500}}


@pytest.mark.slow
def test_start_of_a_new_window_does_not_grow_with_the_number_of_windows() -> None:
    model = Wordy(24)
    run("Port src.", model, {"read": lambda path: "ok"}, config={"max_context_tokens": 8_000})
    left = [messages[0]["content"] for messages in model.requests if "RESUME: " in messages[0]["content"]]
    assert len(left) > 10
    for messages in model.requests:
        begins = len(messages) == 1  # with a margin, and room for an answer
        assert Conversation.parse(messages, COUNTER).tokens <= (8_000 * 0.95 - 4_000 if begins else 8_000)
        assert messages[0]["content"].startswith("Port src.")
    assert "part 1 has" not in left[-1]
    assert "part 24 has" in left[-1]


def test_task_is_unchanged_across_windows(repo: Path) -> None:
    memory = open_memory(repo, os.environ)
    run(TASK, Wordy(6), {"read": lambda path: "ok"}, config={"max_context_tokens": 8_000}, memory=memory)
    found = CrossWindowStateManager(memory).load()
    assert found is not None
    assert found.window_id > 2
    assert found.goal == TASK
    assert (memory.private / "window.jsonl").read_text().count('"cross_window_save"') > 2


def test_a_task_that_leaves_no_room_in_its_window_is_an_error(repo: Path) -> None:
    memory = open_memory(repo, os.environ)
    model = Model(2)
    with pytest.raises(MemctlError, match="the task has no room in its window") as caught:
        run(TASK + " Mind this." * 5_000, model, {"read": read}, config={"max_context_tokens": WINDOW}, memory=memory)
    assert "max_context_tokens" in str(caught.value.hint)
    assert model.requests == []
    found = CrossWindowStateManager(memory).load()
    assert found is not None
    assert found.goal.startswith("Decision: keep the retries at 7.")


def test_document_contains_the_loop_example() -> None:
    root = Path(__file__).parents[2]
    assert (root / "docs/examples/window_own_loop.py").read_text() in (root / "docs" / "window.md").read_text()
