"""Management of a context window, as a library: each part is usable alone (S4)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.window.alerts import Alert, AlertLevel, AlertThresholds, HealthSnapshot
    from memctl.window.audit import AuditLog, Decision
    from memctl.window.budget import BudgetReport, ComponentBudget, TokenBudgetManager, Verdict
    from memctl.window.config import WindowConfig
    from memctl.window.content import ContentBlock, ContentType, TokenCounter
    from memctl.window.conversation import Conversation
    from memctl.window.eviction import EvictionEngine, EvictionResult
    from memctl.window.fidelity import Fidelity
    from memctl.window.health import ContextHealthMonitor
    from memctl.window.limits import Limit, compaction_point, limit_of
    from memctl.window.pressure import ContextPressureMonitor, PressureReading, PressureZone, Thresholds
    from memctl.window.profiles import BudgetComponent
    from memctl.window.questions import Question
    from memctl.window.scoring import EvictionPolicy, EvictionScorer, Scoring
    from memctl.window.validity import validate

# Public name -> the module that has it: a command that wants one of them does not pay for the rest.
_MODULES = {
    "Alert": "alerts",
    "AlertLevel": "alerts",
    "AlertThresholds": "alerts",
    "AuditLog": "audit",
    "BudgetComponent": "profiles",
    "BudgetReport": "budget",
    "ComponentBudget": "budget",
    "ContentBlock": "content",
    "ContentType": "content",
    "ContextHealthMonitor": "health",
    "ContextPressureMonitor": "pressure",
    "Conversation": "conversation",
    "Decision": "audit",
    "EvictionEngine": "eviction",
    "EvictionPolicy": "scoring",
    "EvictionResult": "eviction",
    "EvictionScorer": "scoring",
    "Fidelity": "fidelity",
    "HealthSnapshot": "alerts",
    "Limit": "limits",
    "PressureReading": "pressure",
    "PressureZone": "pressure",
    "Question": "questions",
    "Scoring": "scoring",
    "Thresholds": "pressure",
    "TokenBudgetManager": "budget",
    "TokenCounter": "content",
    "Verdict": "budget",
    "WindowConfig": "config",
    "compaction_point": "limits",
    "limit_of": "limits",
    "validate": "validity",
}

__all__ = [
    "Alert",
    "AlertLevel",
    "AlertThresholds",
    "AuditLog",
    "BudgetComponent",
    "BudgetReport",
    "ComponentBudget",
    "ContentBlock",
    "ContentType",
    "ContextHealthMonitor",
    "ContextPressureMonitor",
    "Conversation",
    "Decision",
    "EvictionEngine",
    "EvictionPolicy",
    "EvictionResult",
    "EvictionScorer",
    "Fidelity",
    "HealthSnapshot",
    "Limit",
    "PressureReading",
    "PressureZone",
    "Question",
    "Scoring",
    "Thresholds",
    "TokenBudgetManager",
    "TokenCounter",
    "Verdict",
    "WindowConfig",
    "compaction_point",
    "limit_of",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
