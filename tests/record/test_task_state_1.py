"""The state of a task in the forms that older versions wrote."""

from __future__ import annotations

import msgspec

from memctl.record import task_state_1
from memctl.record.task_state import TaskState


def test_the_list_of_tasks_of_a_session_is_what_its_calls_had_come_to() -> None:
    todos = [{"content": "Route", "status": "completed"}, {"content": "Rounding", "status": "in_progress"}]
    calls = [
        {"tool": "TaskCreate", "arguments": {"subject": "Mails"}},
        {"tool": "TaskUpdate", "arguments": {"taskId": "1", "status": "completed"}},
    ]
    whole = {"intent": "Refunds", "prompt": "Go on", "errors": {"make": "make: Error"}}
    made = msgspec.convert(task_state_1.of_session({**whole, "task_calls": calls}), TaskState)
    assert (made.goal, made.said, made.done, made.errors) == (
        "Refunds", ("Refunds", "Go on"), ("Mails",), ("make: Error",),
    )  # fmt: skip
    listed = [*calls, {"tool": "TodoWrite", "arguments": {"todos": todos}}]
    made = msgspec.convert(task_state_1.of_session({**whole, "task_calls": listed}), TaskState)
    assert (made.done, made.in_progress) == (("Route",), ("Rounding",))
    assert task_state_1.created({"task_calls": listed}) == ["Mails"]


def test_of_a_session_that_did_nothing_nothing_is_known() -> None:
    assert msgspec.convert(task_state_1.of_session({}), TaskState) == TaskState()
