"""Checkpoints for tests."""

from __future__ import annotations

from typing import Any

from memctl.record import checkpoint
from memctl.record.checkpoint import FORMAT, Checkpoint, Version


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
        "mission": "Refunds by card",
    }
    return Checkpoint(**{**values, **more})


def saved(window: int = 1, version: int = 1, mark: str = "0a0a0a", workflow: str = "main", **more: Any) -> str:
    """The JSON text of one."""
    return checkpoint.written(made(window, version, mark, workflow, **more))
