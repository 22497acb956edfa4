"""Management of a context window, as a library: each part is usable alone (rules.md#window-manager).

Each folder here is one part; `tests/test_architecture.py` has their order. The orchestrator puts them behind five
hooks, with its settings in `config`, the parts made from these in `subsystems`, and every decision in `audit`. The
names here are the public ones; docs/window.md says what each is for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.window.audit import AuditLog as AuditLog
    from memctl.window.audit import AuditSink as AuditSink
    from memctl.window.audit import Decision as Decision
    from memctl.window.budget.profiles import PROFILES as PROFILES
    from memctl.window.budget.profiles import BudgetComponent as BudgetComponent
    from memctl.window.budget.profiles import profile as profile
    from memctl.window.budget.tracking import BudgetReport as BudgetReport
    from memctl.window.budget.tracking import ComponentBudget as ComponentBudget
    from memctl.window.budget.tracking import TokenBudgetManager as TokenBudgetManager
    from memctl.window.budget.tracking import Verdict as Verdict
    from memctl.window.compression.cascade import Cascade as Cascade
    from memctl.window.compression.cascade import Reduction as Reduction
    from memctl.window.compression.cascade import Step as Step
    from memctl.window.compression.delegation import SubAgentAnswer as SubAgentAnswer
    from memctl.window.compression.engine import CompressionEngine as CompressionEngine
    from memctl.window.compression.notes import Notes as Notes
    from memctl.window.compression.prompts import Instructions as Instructions
    from memctl.window.compression.result import CompressionResult as CompressionResult
    from memctl.window.compression.result import CompressionStrategy as CompressionStrategy
    from memctl.window.config import WindowConfig as WindowConfig
    from memctl.window.eviction.engine import EvictionEngine as EvictionEngine
    from memctl.window.eviction.engine import EvictionResult as EvictionResult
    from memctl.window.eviction.policies import EvictionPolicy as EvictionPolicy
    from memctl.window.eviction.scoring import EvictionScorer as EvictionScorer
    from memctl.window.eviction.scoring import Scoring as Scoring
    from memctl.window.eviction.scoring import ScoringInput as ScoringInput
    from memctl.window.eviction.simulation import Replay as Replay
    from memctl.window.eviction.simulation import Simulation as Simulation
    from memctl.window.health.alerts import Alert as Alert
    from memctl.window.health.alerts import AlertLevel as AlertLevel
    from memctl.window.health.alerts import AlertThresholds as AlertThresholds
    from memctl.window.health.alerts import HealthSnapshot as HealthSnapshot
    from memctl.window.health.fidelity import Fidelity as Fidelity
    from memctl.window.health.monitor import ContextHealthMonitor as ContextHealthMonitor
    from memctl.window.health.questions import Question as Question
    from memctl.window.hook_results import Action as Action
    from memctl.window.hook_results import TaskEnd as TaskEnd
    from memctl.window.hook_results import ToolResult as ToolResult
    from memctl.window.hook_results import TurnStart as TurnStart
    from memctl.window.hook_results import WindowStatus as WindowStatus
    from memctl.window.messages.content import ContentBlock as ContentBlock
    from memctl.window.messages.content import ContentType as ContentType
    from memctl.window.messages.content import TokenCounter as TokenCounter
    from memctl.window.messages.conversation import Conversation as Conversation
    from memctl.window.messages.validity import validate as validate
    from memctl.window.orchestrator import ContextWindowManager as ContextWindowManager
    from memctl.window.pressure.limits import Limit as Limit
    from memctl.window.pressure.limits import compaction_point as compaction_point
    from memctl.window.pressure.limits import limit_of as limit_of
    from memctl.window.pressure.monitor import ContextPressureMonitor as ContextPressureMonitor
    from memctl.window.pressure.monitor import PressureReading as PressureReading
    from memctl.window.pressure.monitor import PressureZone as PressureZone
    from memctl.window.pressure.monitor import Thresholds as Thresholds
    from memctl.window.state.checkpoints import CrossWindowStateManager as CrossWindowStateManager
    from memctl.window.state.files import StateFiles as StateFiles
    from memctl.window.state.task import StateKeeper as StateKeeper
    from memctl.window.state.task import TaskCheckpoint as TaskCheckpoint
    from memctl.window.state.task import Validation as Validation

# The public names of each module: a command that wants one of them does not pay for the rest.
_NAMES = {
    "audit": "AuditLog AuditSink Decision",
    "budget.profiles": "PROFILES BudgetComponent profile",
    "budget.tracking": "BudgetReport ComponentBudget TokenBudgetManager Verdict",
    "compression.cascade": "Cascade Reduction Step",
    "compression.delegation": "SubAgentAnswer",
    "compression.engine": "CompressionEngine",
    "compression.notes": "Notes",
    "compression.prompts": "Instructions",
    "compression.result": "CompressionResult CompressionStrategy",
    "config": "WindowConfig",
    "eviction.engine": "EvictionEngine EvictionResult",
    "eviction.policies": "EvictionPolicy",
    "eviction.scoring": "EvictionScorer Scoring ScoringInput",
    "eviction.simulation": "Replay Simulation",
    "health.alerts": "Alert AlertLevel AlertThresholds HealthSnapshot",
    "health.fidelity": "Fidelity",
    "health.monitor": "ContextHealthMonitor",
    "health.questions": "Question",
    "hook_results": "Action TaskEnd ToolResult TurnStart WindowStatus",
    "messages.content": "ContentBlock ContentType TokenCounter",
    "messages.conversation": "Conversation",
    "messages.validity": "validate",
    "orchestrator": "ContextWindowManager",
    "pressure.limits": "Limit compaction_point limit_of",
    "pressure.monitor": "ContextPressureMonitor PressureReading PressureZone Thresholds",
    "state.checkpoints": "CrossWindowStateManager",
    "state.files": "StateFiles",
    "state.task": "StateKeeper TaskCheckpoint Validation",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
