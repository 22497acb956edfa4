"""The public names of `memctl.window`, each with the module that has it: the only list of them.

`__init__.py` reads it to import a name when it is asked for; type checkers read it as they do any stub. Of a module
that is named, functions are public as `limits.limit_of`: commands are made of these.
"""

# isort: off
from memctl.record.task_state import TaskState as TaskState
from memctl.window import audit as audit, config as config, fidelity as fidelity, health as health, status as status
from memctl.window.budget import profiles as profiles
from memctl.window.compression import cascade as cascade
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
from memctl.window.pressure import curve as curve, limits as limits
from memctl.window.audit import AuditLog as AuditLog, AuditSink as AuditSink, Decision as Decision, Summary as Summary
from memctl.window.budget.profiles import (
    BudgetComponent as BudgetComponent,
    Loadable as Loadable,
    Occupancy as Occupancy,
    PROFILES as PROFILES,
    Profile as Profile,
    Team as Team,
    TypeBudget as TypeBudget,
    WindowBudget as WindowBudget,
    profile as profile,
)
from memctl.window.budget.token_budget import (
    BudgetReport as BudgetReport,
    ComponentBudget as ComponentBudget,
    TokenBudgetManager as TokenBudgetManager,
    Verdict as Verdict,
)
from memctl.window.compression.cascade import Reduction as Reduction
from memctl.window.compression.sub_agent import SubAgentAnswer as SubAgentAnswer
from memctl.window.compression.engine import CompressionEngine as CompressionEngine
from memctl.window.compression.model import Instructions as Instructions
from memctl.window.compression.notes import Notes as Notes
from memctl.window.compression.result import (
    Cascade as Cascade,
    CompressionResult as CompressionResult,
    CompressionStrategy as CompressionStrategy,
    Step as Step,
)
from memctl.window.config import WindowConfig as WindowConfig
from memctl.window.eviction.engine import EvictionEngine as EvictionEngine, EvictionResult as EvictionResult
from memctl.window.eviction.scores import (
    EvictionScorer as EvictionScorer,
    Scoring as Scoring,
    ScoringInput as ScoringInput,
)
from memctl.window.eviction.simulation import (
    Comparison as Comparison,
    Replay as Replay,
    Simulation as Simulation,
    Unmanaged as Unmanaged,
)
from memctl.window.fidelity import (
    Contents as Contents,
    Fidelity as Fidelity,
    GradedQuestion as GradedQuestion,
    Question as Question,
)
from memctl.window.health import (
    Alert as Alert,
    AlertLevel as AlertLevel,
    AlertThresholds as AlertThresholds,
    ContextHealthMonitor as ContextHealthMonitor,
    HealthSnapshot as HealthSnapshot,
    METRICS as METRICS,
    Trend as Trend,
)
from memctl.window.messages.content import (
    ContentBlock as ContentBlock,
    ContentType as ContentType,
    TokenCounter as TokenCounter,
)
from memctl.window.messages.conversation import Conversation as Conversation
from memctl.window.messages.validity import validate as validate
from memctl.window.orchestrator import ContextWindowManager as ContextWindowManager
from memctl.window.plan import (
    Action as Action,
    TaskEnd as TaskEnd,
    ToolResult as ToolResult,
    TurnStart as TurnStart,
    WindowStatus as WindowStatus,
)
from memctl.window.policy.contexts import Context as Context, ContextState as ContextState, Debt as Debt, Slice as Slice
from memctl.window.policy.formats import take_apart as take_apart
from memctl.window.policy.measures import Measures as Measures
from memctl.window.policy.performance import Performance as Performance
from memctl.window.policy.quality import (
    Advice as Advice,
    QualityMetric as QualityMetric,
    QualityReport as QualityReport,
    Signal as Signal,
)
from memctl.window.policy.rules import Facts as Facts, Judgement as Judgement
from memctl.window.policy.staleness import Over as Over
from memctl.window.preservation.checklist import Entry as Entry
from memctl.window.pressure.curve import Curve as Curve
from memctl.window.pressure.limits import Limit as Limit, compaction_point as compaction_point, limit_of as limit_of
from memctl.window.pressure.monitor import (
    ContextPressureMonitor as ContextPressureMonitor,
    MODEL_REPORTED as MODEL_REPORTED,
    PressureReading as PressureReading,
    PressureZone as PressureZone,
    Thresholds as Thresholds,
)
from memctl.window.state.checkpoints import CrossWindowStateManager as CrossWindowStateManager
from memctl.window.state.store import StateFiles as StateFiles
from memctl.window.state.store import StateKeeper as StateKeeper, Validation as Validation
from memctl.window.status import SeenConversation as SeenConversation, Status as Status
from memctl.window.steps import (
    CASCADE as CASCADE,
    EvictionPolicy as EvictionPolicy,
    KEPT_TURNS as KEPT_TURNS,
    POLICIES as POLICIES,
    STRATEGIES as STRATEGIES,
)
from memctl.window.subsystems import LOG as LOG
