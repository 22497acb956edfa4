"""Management of a context window, as a library: each part is usable alone (rules.md#window-manager).

Each folder here is one part; `tests/test_architecture.py` has their order. The orchestrator puts them behind five
hooks, with its settings in `config`, the parts made from these in `subsystems`, and every decision in `audit`.

This is the only door: commands and hooks import what is named here, and nothing else outside does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # isort: off
    from memctl.record.task_state import TaskState as TaskState
    from memctl.window import audit as audit, config as config, status as status
    from memctl.window.budget import profiles as profiles
    from memctl.window.compression import cascade as cascade
    from memctl.window.health import alerts as alerts, fidelity as fidelity, questions as questions
    from memctl.window.messages import reading as reading
    from memctl.window.policy import (
        contexts as contexts,
        measures as measures,
        observations as observations,
        performance as performance,
        quality as quality,
        rules as rules,
        staleness as staleness,
    )
    from memctl.window.preservation import checklist as checklist
    from memctl.window.pressure import drawing as drawing, limits as limits
    from memctl.window.audit import (
        AuditLog as AuditLog,
        AuditSink as AuditSink,
        Decision as Decision,
        Summary as Summary,
    )
    from memctl.window.budget.profiles import (
        PROFILES as PROFILES,
        BudgetComponent as BudgetComponent,
        Occupancy as Occupancy,
        Portion as Portion,
        Profile as Profile,
        Team as Team,
        TypeUsage as TypeUsage,
        profile as profile,
    )
    from memctl.window.budget.tracking import (
        BudgetReport as BudgetReport,
        ComponentBudget as ComponentBudget,
        TokenBudgetManager as TokenBudgetManager,
        Verdict as Verdict,
    )
    from memctl.window.compression.cascade import Cascade as Cascade, Reduction as Reduction, Step as Step
    from memctl.window.compression.delegation import SubAgentAnswer as SubAgentAnswer
    from memctl.window.compression.engine import CompressionEngine as CompressionEngine
    from memctl.window.compression.notes import Notes as Notes
    from memctl.window.compression.prompts import Instructions as Instructions
    from memctl.window.compression.result import (
        CompressionResult as CompressionResult,
        CompressionStrategy as CompressionStrategy,
    )
    from memctl.window.compression.strategies import (
        CASCADE as CASCADE,
        KEPT_TURNS as KEPT_TURNS,
        STRATEGIES as STRATEGIES,
    )
    from memctl.window.config import WindowConfig as WindowConfig
    from memctl.window.eviction.engine import EvictionEngine as EvictionEngine, EvictionResult as EvictionResult
    from memctl.window.eviction.policies import POLICIES as POLICIES, EvictionPolicy as EvictionPolicy
    from memctl.window.eviction.scoring import (
        EvictionScorer as EvictionScorer,
        Scoring as Scoring,
        ScoringInput as ScoringInput,
    )
    from memctl.window.eviction.simulation import Replay as Replay, Simulation as Simulation
    from memctl.window.following import Follower as Follower
    from memctl.window.health.alerts import (
        METRICS as METRICS,
        Alert as Alert,
        AlertLevel as AlertLevel,
        AlertThresholds as AlertThresholds,
        HealthSnapshot as HealthSnapshot,
    )
    from memctl.window.health.fidelity import Fidelity as Fidelity, GradedQuestion as GradedQuestion
    from memctl.window.health.monitor import ContextHealthMonitor as ContextHealthMonitor
    from memctl.window.health.questions import Question as Question
    from memctl.window.health.trends import Trend as Trend
    from memctl.window.hook_results import (
        Action as Action,
        TaskEnd as TaskEnd,
        ToolResult as ToolResult,
        TurnStart as TurnStart,
        WindowStatus as WindowStatus,
    )
    from memctl.window.messages.content import (
        ContentBlock as ContentBlock,
        ContentType as ContentType,
        TokenCounter as TokenCounter,
    )
    from memctl.window.messages.conversation import Conversation as Conversation
    from memctl.window.messages.reading import Opened as Opened
    from memctl.window.messages.validity import validate as validate
    from memctl.window.orchestrator import ContextWindowManager as ContextWindowManager
    from memctl.window.policy.formats import take_apart as take_apart
    from memctl.window.policy.contexts import (
        Context as Context,
        ContextState as ContextState,
        Debt as Debt,
        Slice as Slice,
    )
    from memctl.window.policy.measures import Measures as Measures
    from memctl.window.policy.performance import Performance as Performance
    from memctl.window.policy.quality import Advice as Advice, QualityMetric as QualityMetric, Signal as Signal
    from memctl.window.policy.rules import Facts as Facts, Judgement as Judgement
    from memctl.window.policy.staleness import Over as Over
    from memctl.window.preservation.checklist import Entry as Entry
    from memctl.window.pressure.curve import Curve as Curve
    from memctl.window.pressure.limits import Limit as Limit, compaction_point as compaction_point, limit_of as limit_of
    from memctl.window.pressure.monitor import (
        MODEL_REPORTED as MODEL_REPORTED,
        ContextPressureMonitor as ContextPressureMonitor,
        PressureReading as PressureReading,
        PressureZone as PressureZone,
        Thresholds as Thresholds,
    )
    from memctl.window.state.checkpoints import CrossWindowStateManager as CrossWindowStateManager
    from memctl.window.state.files import StateFiles as StateFiles
    from memctl.window.state.task import (
        StateKeeper as StateKeeper,
        Validation as Validation,
    )
    from memctl.window.status import SeenConversation as SeenConversation, Status as Status
    from memctl.window.subsystems import LOG as LOG
    # isort: on

# The public names by the module that has them: whoever wants one of them does not pay for the rest.
_NAMES = {
    "audit": "AuditLog AuditSink Decision Summary",
    "budget.profiles": "PROFILES BudgetComponent Occupancy Portion Profile Team TypeUsage profile",
    "budget.tracking": "BudgetReport ComponentBudget TokenBudgetManager Verdict",
    "compression.cascade": "Cascade Reduction Step",
    "compression.delegation": "SubAgentAnswer",
    "compression.engine": "CompressionEngine",
    "compression.notes": "Notes",
    "compression.prompts": "Instructions",
    "compression.result": "CompressionResult CompressionStrategy",
    "compression.strategies": "CASCADE KEPT_TURNS STRATEGIES",
    "config": "WindowConfig",
    "eviction.engine": "EvictionEngine EvictionResult",
    "eviction.policies": "POLICIES EvictionPolicy",
    "eviction.scoring": "EvictionScorer Scoring ScoringInput",
    "eviction.simulation": "Replay Simulation",
    "following": "Follower",
    "health.alerts": "METRICS Alert AlertLevel AlertThresholds HealthSnapshot",
    "health.fidelity": "Fidelity GradedQuestion",
    "health.monitor": "ContextHealthMonitor",
    "health.questions": "Question",
    "health.trends": "Trend",
    "hook_results": "Action TaskEnd ToolResult TurnStart WindowStatus",
    "messages.content": "ContentBlock ContentType TokenCounter",
    "messages.conversation": "Conversation",
    "messages.reading": "Opened",
    "messages.validity": "validate",
    "orchestrator": "ContextWindowManager",
    "policy.formats": "take_apart",
    "policy.contexts": "Context ContextState Debt Slice",
    "policy.measures": "Measures",
    "policy.performance": "Performance",
    "policy.quality": "Advice QualityMetric Signal",
    "policy.rules": "Facts Judgement",
    "policy.staleness": "Over",
    "preservation.checklist": "Entry",
    "pressure.curve": "Curve",
    "pressure.limits": "Limit compaction_point limit_of",
    "pressure.monitor": "MODEL_REPORTED ContextPressureMonitor PressureReading PressureZone Thresholds",
    "state.checkpoints": "CrossWindowStateManager",
    "state.files": "StateFiles",
    "memctl.record.task_state": "TaskState",
    "state.task": "StateKeeper Validation",
    "status": "SeenConversation Status",
    "subsystems": "LOG",
}
# Modules whose functions are public as `drawing.svg`: those that commands are made of.
_PUBLIC_MODULES = (
    "audit",
    "budget.profiles",
    "compression.cascade",
    "config",
    "health.alerts",
    "health.fidelity",
    "health.questions",
    "messages.reading",
    "policy.contexts",
    "policy.measures",
    "policy.rules",
    "policy.quality",
    "policy.staleness",
    "policy.observations",
    "policy.performance",
    "preservation.checklist",
    "pressure.drawing",
    "pressure.limits",
    "status",
)
_PLACES = {name: (module, name) for module, names in _NAMES.items() for name in names.split()}
_PLACES |= {module.rpartition(".")[2]: (module, "") for module in _PUBLIC_MODULES}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inside = _PLACES[name]
    found = import_module(module if module.startswith("memctl.") else f"{__name__}.{module}")
    return getattr(found, inside) if inside else found
