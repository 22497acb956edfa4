"""Management of a context window, as a library: each part is usable alone (S4)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.window.actions import Action, StateKeeper, TaskCheckpoint, ToolResult, TurnStart, WindowStatus
    from memctl.window.alerts import Alert, AlertLevel, AlertThresholds, HealthSnapshot
    from memctl.window.audit import AuditLog, Decision
    from memctl.window.budget import BudgetReport, ComponentBudget, TokenBudgetManager, Verdict
    from memctl.window.compression import Cascade, CompressionEngine
    from memctl.window.config import WindowConfig
    from memctl.window.content import ContentBlock, ContentType, TokenCounter
    from memctl.window.conversation import Conversation
    from memctl.window.delegation import SubAgentAnswer
    from memctl.window.eviction import EvictionEngine, EvictionResult
    from memctl.window.fidelity import Fidelity
    from memctl.window.health import ContextHealthMonitor
    from memctl.window.limits import Limit, compaction_point, limit_of
    from memctl.window.notes import Notes
    from memctl.window.orchestrator import ContextWindowManager
    from memctl.window.outcome import CompressionResult, CompressionStrategy
    from memctl.window.pressure import ContextPressureMonitor, PressureReading, PressureZone, Thresholds
    from memctl.window.profiles import BudgetComponent
    from memctl.window.questions import Question
    from memctl.window.reduction import Reduction
    from memctl.window.scoring import EvictionPolicy, EvictionScorer, Scoring
    from memctl.window.simulation import Replay, Simulation
    from memctl.window.state import CrossWindowStateManager, Validation
    from memctl.window.validity import validate

# Public name -> the module that has it: a command that wants one of them does not pay for the rest.
_MODULES = {
    "Action": "actions",
    "Alert": "alerts",
    "AlertLevel": "alerts",
    "AlertThresholds": "alerts",
    "AuditLog": "audit",
    "BudgetComponent": "profiles",
    "BudgetReport": "budget",
    "Cascade": "compression",
    "ComponentBudget": "budget",
    "CompressionEngine": "compression",
    "CompressionResult": "outcome",
    "CompressionStrategy": "outcome",
    "ContentBlock": "content",
    "ContentType": "content",
    "ContextHealthMonitor": "health",
    "ContextPressureMonitor": "pressure",
    "ContextWindowManager": "orchestrator",
    "Conversation": "conversation",
    "CrossWindowStateManager": "state",
    "Decision": "audit",
    "EvictionEngine": "eviction",
    "EvictionPolicy": "scoring",
    "EvictionResult": "eviction",
    "EvictionScorer": "scoring",
    "Fidelity": "fidelity",
    "HealthSnapshot": "alerts",
    "Limit": "limits",
    "Notes": "notes",
    "PressureReading": "pressure",
    "PressureZone": "pressure",
    "Question": "questions",
    "Reduction": "reduction",
    "Replay": "simulation",
    "Scoring": "scoring",
    "Simulation": "simulation",
    "StateKeeper": "actions",
    "SubAgentAnswer": "delegation",
    "TaskCheckpoint": "actions",
    "Thresholds": "pressure",
    "TokenBudgetManager": "budget",
    "TokenCounter": "content",
    "ToolResult": "actions",
    "TurnStart": "actions",
    "Validation": "state",
    "Verdict": "budget",
    "WindowConfig": "config",
    "WindowStatus": "actions",
    "compaction_point": "limits",
    "limit_of": "limits",
    "validate": "validity",
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
    "SubAgentAnswer",
    "TaskCheckpoint",
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
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
