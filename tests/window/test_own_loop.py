"""The example of README: an agent's own loop, run as it stands there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memctl.store.memory import open_memory
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Conversation, CrossWindowStateManager, validate
from tests.window.own_loop import run

COUNTER = Counter(FAMILIES["claude"])
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


def test_a_loop_goes_on_far_beyond_its_window() -> None:
    model = Model(60)
    assert run(TASK, model, {"read": read}, config={"max_context_tokens": WINDOW}) == "Counted."
    assert len(model.requests) == 61
    for messages in model.requests:
        assert validate(messages) == []
        assert Conversation.parse(messages, COUNTER).tokens < WINDOW
        assert "keep the retries at 7" in str(messages)


def test_with_a_memory_the_state_is_kept_there(repo: Path) -> None:
    memory = open_memory(repo, os.environ)
    long = TASK + " Mind this." * 9_000  # a task never goes: the window can't be kept
    run(long, Model(2), {"read": read}, config={"max_context_tokens": WINDOW}, memory=memory)
    found = CrossWindowStateManager(memory).load()
    assert found is not None
    assert (found.window_id, found.state_version) == (3, 3)
    assert found.task_goal.startswith("Decision: keep the retries at 7.")
    assert (memory.private / "window.jsonl").read_text().count('"cross_window_save"') >= 1


def test_the_readme_has_it_as_it_is_run() -> None:
    root = Path(__file__).parents[2]
    assert (root / "tests/window/own_loop.py").read_text() in (root / "README.md").read_text()
