"""Management of a context window, as a library: each part is usable alone (rules.md#window-manager).

Each folder here is one part; `tests/test_architecture.py` has their order. The orchestrator puts them behind four
hooks, with its settings in `config`, the parts made from these in `subsystems`, and every decision in `audit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.record.task_state import Step, TaskState
    from memctl.window.audit import AuditLog, Decision
    from memctl.window.budget.profiles import BudgetComponent
    from memctl.window.budget.tracking import BudgetReport, ComponentBudget, TokenBudgetManager, Verdict
    from memctl.window.compression.delegation import SubAgentAnswer
    from memctl.window.compression.engine import Cascade, CompressionEngine
    from memctl.window.compression.notes import Notes
    from memctl.window.compression.reduction import Reduction
    from memctl.window.compression.result import CompressionResult, CompressionStrategy
    from memctl.window.config import WindowConfig
    from memctl.window.eviction.engine import EvictionEngine, EvictionResult
    from memctl.window.eviction.policies import EvictionPolicy
    from memctl.window.eviction.scoring import EvictionScorer, Scoring
    from memctl.window.eviction.simulation import Replay, Simulation
    from memctl.window.health.alerts import Alert, AlertLevel, AlertThresholds, HealthSnapshot
    from memctl.window.health.fidelity import Fidelity
    from memctl.window.health.monitor import ContextHealthMonitor
    from memctl.window.health.questions import Question
    from memctl.window.hook_results import Action, ToolResult, TurnStart, WindowStatus
    from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter
    from memctl.window.messages.conversation import Conversation
    from memctl.window.messages.validity import validate
    from memctl.window.orchestrator import ContextWindowManager
    from memctl.window.pressure.limits import Limit, compaction_point, limit_of
    from memctl.window.pressure.monitor import ContextPressureMonitor, PressureReading, PressureZone, Thresholds
    from memctl.window.state.checkpoints import CrossWindowStateManager
    from memctl.window.state.task import StateKeeper, Validation

# Public name -> the module that has it: a command that wants one of them does not pay for the rest.
_MODULES = {
    "Action": "hook_results",
    "Alert": "health.alerts",
    "AlertLevel": "health.alerts",
    "AlertThresholds": "health.alerts",
    "AuditLog": "audit",
    "BudgetComponent": "budget.profiles",
    "BudgetReport": "budget.tracking",
    "Cascade": "compression.engine",
    "ComponentBudget": "budget.tracking",
    "CompressionEngine": "compression.engine",
    "CompressionResult": "compression.result",
    "CompressionStrategy": "compression.result",
    "ContentBlock": "messages.content",
    "ContentType": "messages.content",
    "ContextHealthMonitor": "health.monitor",
    "ContextPressureMonitor": "pressure.monitor",
    "ContextWindowManager": "orchestrator",
    "Conversation": "messages.conversation",
    "CrossWindowStateManager": "state.checkpoints",
    "Decision": "audit",
    "EvictionEngine": "eviction.engine",
    "EvictionPolicy": "eviction.policies",
    "EvictionResult": "eviction.engine",
    "EvictionScorer": "eviction.scoring",
    "Fidelity": "health.fidelity",
    "HealthSnapshot": "health.alerts",
    "Limit": "pressure.limits",
    "Notes": "compression.notes",
    "PressureReading": "pressure.monitor",
    "PressureZone": "pressure.monitor",
    "Question": "health.questions",
    "Reduction": "compression.reduction",
    "Replay": "eviction.simulation",
    "Scoring": "eviction.scoring",
    "Simulation": "eviction.simulation",
    "StateKeeper": "state.task",
    "SubAgentAnswer": "compression.delegation",
    "Step": "memctl.record.task_state",
    "TaskState": "memctl.record.task_state",
    "Thresholds": "pressure.monitor",
    "TokenBudgetManager": "budget.tracking",
    "TokenCounter": "messages.content",
    "ToolResult": "hook_results",
    "TurnStart": "hook_results",
    "Validation": "state.task",
    "Verdict": "budget.tracking",
    "WindowConfig": "config",
    "WindowStatus": "hook_results",
    "compaction_point": "pressure.limits",
    "limit_of": "pressure.limits",
    "validate": "messages.validity",
}

__all__ = [
    "Action",
    "Alert",
    "AlertLevel",
    "AlertThresholds",
    "AuditLog",
    "BudgetComponent",
    "BudgetReport",
    "Cascade",
    "ComponentBudget",
    "CompressionEngine",
    "CompressionResult",
    "CompressionStrategy",
    "ContentBlock",
    "ContentType",
    "ContextHealthMonitor",
    "ContextPressureMonitor",
    "ContextWindowManager",
    "Conversation",
    "CrossWindowStateManager",
    "Decision",
    "EvictionEngine",
    "EvictionPolicy",
    "EvictionResult",
    "EvictionScorer",
    "Fidelity",
    "HealthSnapshot",
    "Limit",
    "Notes",
    "PressureReading",
    "PressureZone",
    "Question",
    "Reduction",
    "Replay",
    "Scoring",
    "Simulation",
    "StateKeeper",
    "Step",
    "SubAgentAnswer",
    "TaskState",
    "Thresholds",
    "TokenBudgetManager",
    "TokenCounter",
    "ToolResult",
    "TurnStart",
    "Validation",
    "Verdict",
    "WindowConfig",
    "WindowStatus",
    "compaction_point",
    "limit_of",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    return getattr(import_module(module if module.startswith("memctl.") else f"{__name__}.{module}"), name)
