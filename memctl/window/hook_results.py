"""What the hooks of a window's manager give back to the agent's loop: what was decided, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec

from memctl.window.compression.result import Step
from memctl.window.health.alerts import HealthSnapshot
from memctl.window.health.trends import Trend
from memctl.window.pressure.monitor import PressureReading, PressureZone


class WindowStatus(Enum):
    """How a window is doing (rules.md#window-manager)."""

    HEALTHY = "healthy"  # green: nothing to do
    PREPARING = "preparing"  # yellow: what could go is known
    ACTIVE_MANAGEMENT = "active"  # orange: evicting and compressing
    EMERGENCY = "emergency"  # red: compacting, or leaving the window


STATUS_OF = {
    PressureZone.GREEN: WindowStatus.HEALTHY,
    PressureZone.YELLOW: WindowStatus.PREPARING,
    PressureZone.ORANGE: WindowStatus.ACTIVE_MANAGEMENT,
    PressureZone.RED: WindowStatus.EMERGENCY,
}


class Action(Enum):
    """What was done at the start of a turn."""

    NONE = "none"
    EVALUATE = "evaluate"
    MANAGE = "manage"
    EMERGENCY_COMPACTION = "emergency_compaction"
    CROSS_WINDOW_SAVE = "cross_window_save"


class TurnStart(msgspec.Struct, frozen=True):
    """The start of a turn: `messages` are to be sent, in the shape in which they were given.

    Utilisations are fractions of what can be filled; `steps` is what was tried to free tokens, each with how many were
    wanted. With CROSS_WINDOW_SAVE the window can't be kept: a new one begins with `bootstrap`. `reason` says why this
    was done, or why nothing was where something could have been.
    """

    action: Action
    messages: Any
    reading: PressureReading
    utilization_before: float
    utilization_after: float
    evicted_blocks: int = 0
    steps: tuple[Step, ...] = ()
    checkpoint: str = ""
    bootstrap: str = ""
    reason: str = ""


class ToolResult(msgspec.Struct, frozen=True):
    """A result on its way into the window: the text to give to the model, its tokens and those of the whole.

    Not `allowed` says that it does not fit its budget, even if it was summed up: the text is still the shortest there
    is, and whether to add it is the loop's to decide. A result that is not whole says how to get the rest.
    """

    text: str
    tokens: int
    original_tokens: int
    allowed: bool = True
    note: str = ""


class TaskEnd(msgspec.Struct, frozen=True):
    """The end of a task: its summary, the checkpoint that keeps it ("" if none does, and `reason` says why), the last
    snapshot of the window's health, and where each metric was going."""

    summary: str
    checkpoint: str
    snapshot: HealthSnapshot
    trends: Mapping[str, Trend]
    reason: str = ""
