"""The public names of `memctl.window`, each with the module that has it: the only list of them.

`__init__.py` reads it to import a name when it is asked for; type checkers read it as they do any stub. Of a module
that is named, functions are public as `limits.limit_of`: commands are made of these.
"""

from memctl.record.task_state import TaskState as TaskState
from memctl.window import audit as audit
from memctl.window import config as config
from memctl.window import status as status
from memctl.window.audit import AuditLog as AuditLog
from memctl.window.audit import AuditSink as AuditSink
from memctl.window.audit import Decision as Decision
from memctl.window.audit import Summary as Summary
from memctl.window.budget import profiles as profiles
from memctl.window.budget.profiles import (
    PROFILES as PROFILES,
)
from memctl.window.budget.profiles import (
    BudgetComponent as BudgetComponent,
)
from memctl.window.budget.profiles import Occupancy as Occupancy
from memctl.window.budget.profiles import (
    Portion as Portion,
)
from memctl.window.budget.profiles import (
    Profile as Profile,
)
from memctl.window.budget.profiles import Team as Team
from memctl.window.budget.profiles import TypeUsage as TypeUsage
from memctl.window.budget.profiles import (
    profile as profile,
)
from memctl.window.budget.tracking import (
    BudgetReport as BudgetReport,
)
from memctl.window.budget.tracking import (
    ComponentBudget as ComponentBudget,
)
from memctl.window.budget.tracking import (
    TokenBudgetManager as TokenBudgetManager,
)
from memctl.window.budget.tracking import (
    Verdict as Verdict,
)
from memctl.window.compression import cascade as cascade
from memctl.window.compression.cascade import Reduction as Reduction
from memctl.window.compression.delegation import SubAgentAnswer as SubAgentAnswer
from memctl.window.compression.engine import CompressionEngine as CompressionEngine
from memctl.window.compression.model import Instructions as Instructions
from memctl.window.compression.notes import Notes as Notes
from memctl.window.compression.result import (
    Cascade as Cascade,
)
from memctl.window.compression.result import (
    CompressionResult as CompressionResult,
)
from memctl.window.compression.result import (
    CompressionStrategy as CompressionStrategy,
)
from memctl.window.compression.result import (
    Step as Step,
)
from memctl.window.config import WindowConfig as WindowConfig
from memctl.window.eviction.engine import EvictionEngine as EvictionEngine
from memctl.window.eviction.engine import EvictionResult as EvictionResult
from memctl.window.eviction.scoring import (
    EvictionScorer as EvictionScorer,
)
from memctl.window.eviction.scoring import (
    Scoring as Scoring,
)
from memctl.window.eviction.scoring import (
    ScoringInput as ScoringInput,
)
from memctl.window.eviction.simulation import Replay as Replay
from memctl.window.eviction.simulation import Simulation as Simulation
from memctl.window.following import Follower as Follower
from memctl.window.health import alerts as alerts
from memctl.window.health import fidelity as fidelity
from memctl.window.health import questions as questions
from memctl.window.health.alerts import (
    METRICS as METRICS,
)
from memctl.window.health.alerts import (
    Alert as Alert,
)
from memctl.window.health.alerts import (
    AlertLevel as AlertLevel,
)
from memctl.window.health.alerts import (
    AlertThresholds as AlertThresholds,
)
from memctl.window.health.alerts import (
    HealthSnapshot as HealthSnapshot,
)
from memctl.window.health.fidelity import Fidelity as Fidelity
from memctl.window.health.fidelity import GradedQuestion as GradedQuestion
from memctl.window.health.monitor import ContextHealthMonitor as ContextHealthMonitor
from memctl.window.health.questions import Question as Question
from memctl.window.health.trends import Trend as Trend
from memctl.window.hook_results import (
    Action as Action,
)
from memctl.window.hook_results import (
    TaskEnd as TaskEnd,
)
from memctl.window.hook_results import (
    ToolResult as ToolResult,
)
from memctl.window.hook_results import (
    TurnStart as TurnStart,
)
from memctl.window.hook_results import (
    WindowStatus as WindowStatus,
)
from memctl.window.messages import reading as reading
from memctl.window.messages.content import (
    ContentBlock as ContentBlock,
)
from memctl.window.messages.content import (
    ContentType as ContentType,
)
from memctl.window.messages.content import (
    TokenCounter as TokenCounter,
)
from memctl.window.messages.conversation import Conversation as Conversation
from memctl.window.messages.reading import Opened as Opened
from memctl.window.messages.validity import validate as validate
from memctl.window.orchestrator import ContextWindowManager as ContextWindowManager
from memctl.window.policy import (
    contexts as contexts,
)
from memctl.window.policy import (
    measures as measures,
)
from memctl.window.policy import (
    observations as observations,
)
from memctl.window.policy import (
    performance as performance,
)
from memctl.window.policy import (
    quality as quality,
)
from memctl.window.policy import (
    rules as rules,
)
from memctl.window.policy import (
    staleness as staleness,
)
from memctl.window.policy.contexts import Context as Context
from memctl.window.policy.contexts import ContextState as ContextState
from memctl.window.policy.contexts import Debt as Debt
from memctl.window.policy.contexts import Slice as Slice
from memctl.window.policy.formats import take_apart as take_apart
from memctl.window.policy.measures import Measures as Measures
from memctl.window.policy.performance import Performance as Performance
from memctl.window.policy.quality import Advice as Advice
from memctl.window.policy.quality import QualityMetric as QualityMetric
from memctl.window.policy.quality import Signal as Signal
from memctl.window.policy.rules import Facts as Facts
from memctl.window.policy.rules import Judgement as Judgement
from memctl.window.policy.staleness import Over as Over
from memctl.window.preservation import checklist as checklist
from memctl.window.preservation.checklist import Entry as Entry
from memctl.window.pressure import drawing as drawing
from memctl.window.pressure import limits as limits
from memctl.window.pressure.curve import Curve as Curve
from memctl.window.pressure.limits import Limit as Limit
from memctl.window.pressure.limits import compaction_point as compaction_point
from memctl.window.pressure.limits import limit_of as limit_of
from memctl.window.pressure.monitor import (
    MODEL_REPORTED as MODEL_REPORTED,
)
from memctl.window.pressure.monitor import (
    ContextPressureMonitor as ContextPressureMonitor,
)
from memctl.window.pressure.monitor import (
    PressureReading as PressureReading,
)
from memctl.window.pressure.monitor import (
    PressureZone as PressureZone,
)
from memctl.window.pressure.monitor import (
    Thresholds as Thresholds,
)
from memctl.window.state.checkpoints import CrossWindowStateManager as CrossWindowStateManager
from memctl.window.state.files import StateFiles as StateFiles
from memctl.window.state.task import StateKeeper as StateKeeper
from memctl.window.state.task import Validation as Validation
from memctl.window.status import SeenConversation as SeenConversation
from memctl.window.status import Status as Status
from memctl.window.steps import (
    CASCADE as CASCADE,
)
from memctl.window.steps import (
    KEPT_TURNS as KEPT_TURNS,
)
from memctl.window.steps import (
    POLICIES as POLICIES,
)
from memctl.window.steps import (
    STRATEGIES as STRATEGIES,
)
from memctl.window.steps import (
    EvictionPolicy as EvictionPolicy,
)
from memctl.window.subsystems import LOG as LOG
