"""The state that passes from window to window and from run to run, in the loop that README shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.orchestrator import ContextWindowManager
from memctl.window.state.store import StateFiles

COUNTER = Counter(FAMILIES["gpt"])
TASK = "Port src/pay.py to fetch."
WISH = "IMPORTANT: never touch src/legacy.py"
DECISION = "Decision: use one wrapper because retries stand there."
FIRST: list[dict[str, Any]] = [
    {"role": "assistant", "content": DECISION},
    {"role": "user", "content": WISH},
    {"role": "assistant", "content": "Understood."},
    {"role": "user", "content": "Go on with refunds."},
]
FILES = {"state_file": "state.json", "progress_file": "progress.md"}


def run(folder: Path, cross_window: dict[str, str], **more: Any) -> ContextWindowManager:
    given = {"max_context_tokens": 32_000, "cross_window": cross_window}
    return ContextWindowManager.from_config(given, COUNTER, folder=folder, **more)


def left(manager: ContextWindowManager, bootstrap: str, *more: dict[str, Any], task: str = TASK) -> str:
    """Leave a window that began with the task and a bootstrap; what the next one begins with."""
    first = f"{task}\n\n{bootstrap}" if bootstrap else task
    return manager.on_overflow([{"role": "user", "content": first}, *more]).bootstrap


@pytest.mark.parametrize("cross_window", [{}, FILES])
def test_user_messages_and_decisions_pass_through_all_windows(tmp_path: Path, cross_window: dict[str, str]) -> None:
    manager = run(tmp_path, cross_window)
    bootstrap = left(manager, "", *FIRST)
    for number in range(4):
        talk = ({"role": "assistant", "content": f"Part {number} works."}, {"role": "user", "content": f"Do {number}."})
        bootstrap = left(manager, bootstrap, *talk)
    for said in (WISH, "use one wrapper", "Go on with refunds.", *(f"Do {number}." for number in range(4))):
        assert f"- {said}" in bootstrap
    assert manager.windows_created == 6


def test_state_has_no_repeats_and_no_labels_as_decisions(tmp_path: Path) -> None:
    manager, bootstrap = run(tmp_path, FILES), ""
    for number in range(3):
        bootstrap = left(manager, bootstrap, *([] if number else FIRST), {"role": "assistant", "content": "It works."})
    state = StateFiles(tmp_path, "state.json").load()
    assert state is not None
    assert [decision.partition(" \N{EM DASH} ")[0] for decision in state.decisions] == ["use one wrapper"]
    assert state.constraints == (WISH,)
    assert state.said == (TASK, WISH, "Go on with refunds.")


def todo(*steps: tuple[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    todos = [{"content": content, "status": status} for content, status in steps]
    call = {"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": todos}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    return {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}


def test_steps_not_mentioned_in_a_window_are_kept(tmp_path: Path) -> None:
    manager = run(tmp_path, FILES)
    steps = (("Cards", "completed"), ("Refunds", "in_progress"), ("Docs", "pending"))
    bootstrap = left(manager, "", *todo(*steps))
    left(manager, bootstrap, {"role": "assistant", "content": "It works."})
    state = StateFiles(tmp_path, "state.json").load()
    assert state is not None
    assert (state.done, state.in_progress, state.planned) == (("Cards",), ("Refunds",), ("Docs",))


def test_run_continues_the_stored_state_of_its_task(tmp_path: Path) -> None:
    left(run(tmp_path, FILES), "", *FIRST, *todo(("Cards", "completed"), ("Refunds", "in_progress")))
    bootstrap = left(run(tmp_path, FILES), "", {"role": "assistant", "content": "It works."})
    assert f"- {WISH}" in bootstrap
    assert "DONE, the latest last:\n- Cards" in bootstrap
    assert "- use one wrapper" in bootstrap


@pytest.mark.parametrize("is_given", [True, False])
def test_run_ignores_the_stored_state_of_another_task(tmp_path: Path, *, is_given: bool) -> None:
    more = {"task_success_criteria": ("Cards work",)}
    left(run(tmp_path, FILES, **more), "", *FIRST, *todo(("Cards", "completed"), ("Refunds", "in_progress")))
    other = "Write the CSS of the shop."
    bootstrap = left(run(tmp_path, FILES, **({"task_goal": other} if is_given else {})), "", task=other)
    assert f"TASK: {other}" in bootstrap
    for said in (WISH, "Cards", "wrapper"):
        assert said not in bootstrap


def test_run_begun_with_the_text_of_an_earlier_state_continues_its_task(tmp_path: Path) -> None:
    left(run(tmp_path, FILES, task_success_criteria=("Cards work",)), "", *FIRST)
    told = StateFiles(tmp_path, "state.json").bootstrap_prompt()
    bootstrap = left(run(tmp_path, FILES), "", task=told)
    assert f"TASK: {TASK}" in bootstrap
    assert "DONE WHEN:\n- Cards work" in bootstrap
    assert f"- {WISH}" in bootstrap
