"""Checkpoints for tests."""

from __future__ import annotations

from typing import Any

from memctl.record import checkpoint
from memctl.record.checkpoint import FORMAT, Checkpoint, Version
from memctl.record.task_state import PROGRESS, steps


def made(window: int = 1, version: int = 1, mark: str = "0a0a0a", workflow: str = "main", **more: Any) -> Checkpoint:
    """A checkpoint of the task "Refunds by card"."""
    values = {
        "format": FORMAT,
        "checkpoint_id": Version(version, window, mark, workflow).id,
        "workflow_id": workflow,
        "window_id": window,
        "version": version,
        "saved_at": "2025-11-04T14:32:00Z",
        "saved_by": "claude",
        "goal": "Refunds by card",
    }
    lists = {name: more.pop(name) for name in PROGRESS if name in more}
    return Checkpoint(**{**values, "steps": steps(**lists), **more})


def saved(window: int = 1, version: int = 1, mark: str = "0a0a0a", workflow: str = "main", **more: Any) -> str:
    """The JSON text of one."""
    return checkpoint.to_json(made(window, version, mark, workflow, **more))


def having(data: dict[str, Any], *statuses: str) -> list[str]:
    """The steps of some statuses in a checkpoint's JSON."""
    return [step["text"] for step in data["steps"] if step.get("status", "planned") in statuses]
