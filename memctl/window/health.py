"""A window's health: six metrics a turn, alarms when they begin, and trends (rules.md#window-health).

Several alarms are raised only when something lasts: LASTING turns, or compressions, in a row. Rates are of a turn and
not of the whole run, in which no change shows; what was not measured is None and not perfect; the clock is passed in.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.token_budget import TokenBudgetManager
from memctl.window.pressure.monitor import BURN_TURNS, ContextPressureMonitor

if TYPE_CHECKING:
    from memctl.window.fidelity import Ask, Fidelity, Question

LASTING = 3  # turns
SPIKE = 3.0  # times the average before
FEWEST = 5  # measurements from which on there is an average, or a trend
RECENT = 10  # snapshots of a trend
MOST_KEPT = 100  # snapshots
RISING, FALLING, STABLE, INSUFFICIENT = "rising", "falling", "stable", "insufficient_data"
_SURE = 2.0  # standard errors by which a slope must differ from none
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AlertLevel(Enum):
    """How much an alert matters; INFO is for what has left its healthy range and does not alarm yet."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertThresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on metrics alarm."""

    utilization_critical: Fraction = 0.90
    eviction_rate_warning: Annotated[float, msgspec.Meta(ge=0)] = 5
    fidelity_warning: Fraction = 0.75
    compression_ratio_min: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    tool_bloat_warning: Fraction = 0.30


class HealthSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A window's health after a turn; None is what was not measured in it, which is neither good nor bad.

    `utilization`, `fidelity_score` and `tool_result_bloat` are fractions; `eviction_rate` is blocks of this turn,
    `burn_rate` the mean of tokens a turn; `compression_ratio` is original by compressed tokens, below 1 if it grew.
    """

    timestamp: str = ""
    window_id: int = 1
    turn: int = 0
    utilization: float | None = None
    eviction_rate: float | None = None
    compression_ratio: float | None = None
    burn_rate: float | None = None
    fidelity_score: float | None = None
    tool_result_bloat: float | None = None

    def value(self, metric: str) -> float | None:
        """Return a metric by its name in METRICS."""
        found: float | None = getattr(self, metric)
        return found


class Alert(msgspec.Struct, frozen=True):
    """An alarm: how much it matters, of which metric, its value and the limit, and what to do."""

    level: AlertLevel
    metric: str
    message: str
    value: float
    limit: float
    kind: str
    action: str


class HealthMetric(msgspec.Struct, frozen=True):
    """A metric: what it measures, its healthy range (None: open), what to do about an alarm, and what before that
    (`ahead`) if it is something else.

    `kind` is what an alarm tells of: `capacity`, `degradation`, or an `anomaly`, which may be a fault in the agent. It
    alarms beyond a `limit` of AlertThresholds, above it or below, as measured `turns` times in a row; `of_measured`
    counts only the turns in which it was measured. `says` may name the value and the limit.
    """

    name: str
    measures: str
    least: float | None
    most: float | None
    kind: str
    action: str
    ahead: str = ""
    limit: str = ""
    says: str = ""
    level: AlertLevel = AlertLevel.WARNING
    is_above: bool = True
    turns: int = 1
    of_measured: bool = False

    def alert(self, level: AlertLevel, says: str, value: float, limit: float) -> Alert:
        """Return an alarm; `says` may name the value and the limit."""
        return Alert(level, self.name, says.format(value=value, limit=limit), value, limit, self.kind, self.action)

    def judge(self, history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
        """Return the alarm at the last of some snapshots, None if there is none."""
        if not self.limit:
            return self._spike(history)
        values = [snapshot.value(self.name) for snapshot in history]
        last = [value for value in values if value is not None or not self.of_measured][-self.turns :]
        measured = [value for value in last if value is not None]
        limit: float = getattr(limits, self.limit)
        if values[-1] is None or len(measured) < self.turns:
            return None
        holds = min(measured) > limit if self.is_above else max(measured) < limit
        return self.alert(self.level, self.says, measured[-1], limit) if holds else None

    def _spike(self, history: Sequence[HealthSnapshot]) -> Alert | None:
        """Return the mean of the last turns against what it was before: a loop that steadily takes a large file every
        so often alarms nobody. Before there is a mean of as many turns as it takes, nothing is usual."""
        value = history[-1].value(self.name)
        before = [found for one in history[:-1] if (found := one.value(self.name)) is not None][BURN_TURNS:]
        usual = sum(before) / len(before) if len(before) >= FEWEST else 0.0
        if value is None or usual <= 0 or value <= SPIKE * usual:
            return None
        says = f"{{value:,.0f}} tokens a turn, {value / usual:.1f} times the average of {usual:,.0f}"
        return self.alert(self.level, says, value, SPIKE * usual)

    def watch(self, value: float | None) -> Alert | None:
        """Return what has left its healthy range, whether it alarms or not, as INFO."""
        is_low = self.least is not None and value is not None and value < self.least
        if value is None or not (is_low or (self.most is not None and value > self.most)):
            return None
        if self.least is None or self.most is None:
            healthy = f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"
        else:
            healthy = f"{self.least:g} to {self.most:g}"
        limit, message = self.least if is_low else self.most, f"{self.name} {value:.2f}, healthy is {healthy}"
        return Alert(AlertLevel.INFO, self.name, message, value, limit or 0, self.kind, self.ahead or self.action)


# A ratio of 1 or less alarms, too: of compressions, not of turns, of which most have none.
METRICS = {
    metric.name: metric
    for metric in (
        HealthMetric(
            "utilization", "tokens of those that fit", None, 0.60, "capacity", "compact at once, save a checkpoint",
            "plan what may go, and where a checkpoint is due", "utilization_critical",
            "utilization {value:.1%}, above {limit:.0%} for 3 turns: the window overflows next",
            AlertLevel.CRITICAL, turns=LASTING,
        ),
        HealthMetric(
            "eviction_rate", "blocks evicted a turn", None, 2, "degradation", "review the policy: a larger window?",
            limit="eviction_rate_warning", says="{value:g} blocks evicted a turn, above {limit:g} for 3 turns",
            turns=LASTING,
        ),
        HealthMetric(
            "compression_ratio", "original by compressed tokens", 3, 15, "degradation", "redesign the prompt",
            limit="compression_ratio_min", is_above=False, turns=LASTING, of_measured=True,
            says="the last 3 compressions came to less than {limit:g}x, this one to {value:.1f}x",
        ),
        HealthMetric(
            "burn_rate", "tokens a turn, the mean of 20", None, None, "anomaly", "look for a loop that runs away",
        ),
        HealthMetric(
            "fidelity_score", "what a compression kept", 0.85, None, "degradation", "add preservation rules",
            limit="fidelity_warning", is_above=False,
            says="a compression kept {value:.0%} of what was asked, below {limit:.0%}",
        ),
        HealthMetric(
            "tool_result_bloat", "tokens of tool results", None, 0.15, "degradation", "limit what tools return",
            limit="tool_bloat_warning", says="tool results are {value:.0%} of what is in the window, above {limit:.0%}",
        ),
    )
}  # fmt: skip


def alerts(
    history: Sequence[HealthSnapshot], limits: AlertThresholds | None = None, metrics: Sequence[str] = tuple(METRICS)
) -> list[Alert]:
    """Return the alarms that hold at the last of some snapshots, the gravest first."""
    if not history:
        return []
    limits = limits or AlertThresholds()
    found = (METRICS[name].judge(history, limits) for name in METRICS if name in metrics)
    return sorted((one for one in found if one is not None), key=lambda alert: alert.level is not AlertLevel.CRITICAL)


def watch(snapshot: HealthSnapshot, metrics: Sequence[str] = tuple(METRICS)) -> list[Alert]:
    """Return what has left its healthy range, whether it alarms or not, as INFO."""
    return [alert for name in metrics if (alert := METRICS[name].watch(snapshot.value(name)))]


class Trend(msgspec.Struct, frozen=True):
    """A metric's course: its direction, the slope per turn, the mean, and of how many values."""

    direction: str
    slope: float
    mean: float | None
    samples: int


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Return the course of some points (turn, value): a straight line by least squares, since by the first and the last
    value alone one odd value would be a trend. It rises or falls if the slope is two standard errors from none.
    """
    count = len(points)
    mean_y = sum(y for _, y in points) / count if count else None
    if mean_y is None or count < FEWEST:
        return Trend(INSUFFICIENT, 0.0, mean_y, count)
    mean_x = sum(x for x, _ in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    error = math.sqrt(rest / (count - 2) / spread)
    is_sure = abs(slope) > max(_SURE * error, 1e-9 * max(abs(mean_y), 1))
    direction = STABLE if not is_sure else RISING if slope > 0 else FALLING
    return Trend(direction, round(slope, 6), mean_y, count)


class ContextHealthMonitor:
    """Collects a snapshot after each turn.

    `now` gives the time for it; `on_alert` is called when an alarm begins, not while it lasts. `metrics` are those that
    may alarm, by their names in METRICS; `questions` are what a compressed context is asked.
    """

    def __init__(
        self,
        *,
        now: Callable[[], str] = lambda: "",
        thresholds: AlertThresholds | None = None,
        metrics: Sequence[str] = tuple(METRICS),
        max_history: int = MOST_KEPT,
        questions: Sequence[Question] = (),
        on_alert: Callable[[Alert], None] | None = None,
    ) -> None:
        self.thresholds = thresholds or AlertThresholds()
        if unknown := [name for name in metrics if name not in METRICS]:
            raise MemctlError(f"there is no metric {unknown[0]!r}", f"metrics are {', '.join(METRICS)}", USAGE)
        self.metrics = tuple(metrics)
        self.questions = tuple(questions)
        self.on_alert = on_alert
        self._now = now
        self._history: deque[HealthSnapshot] = deque(maxlen=max_history)
        self._alarming: set[str] = set()
        self._turn = 0
        self._evicted: int | None = None
        self._compressed: tuple[int, int] | None = None
        self._fidelity: float | None = None

    @property
    def history(self) -> tuple[HealthSnapshot, ...]:
        """The last snapshots, oldest first."""
        return tuple(self._history)

    def record_eviction(self, count: int = 1) -> None:
        """Note that blocks were evicted in this turn; 0 says that eviction ran and took nothing."""
        argument_checks.numbers(count=count)
        self._evicted = (self._evicted or 0) + count

    def record_compression(self, original_tokens: int, compressed_tokens: int) -> None:
        """Note a compression in this turn, in tokens; of several the ratio is that of their sums."""
        argument_checks.numbers(original_tokens=original_tokens, compressed_tokens=compressed_tokens)
        before, after = self._compressed or (0, 0)
        self._compressed = (before + original_tokens, after + compressed_tokens)

    def record_fidelity(self, score: float | None) -> None:
        """Note how much a compression in this turn kept, as `fidelity` measured it; of several the worst counts."""
        if score is not None:
            argument_checks.numbers(score=score)
            self._fidelity = score if self._fidelity is None else min(score, self._fidelity)

    def evaluate_fidelity(self, original: str, compressed: str, judge: Ask | None = None) -> Fidelity:
        """Ask both contexts the questions, as `fidelity.evaluate` does, and note the score for this turn."""
        from memctl.window import fidelity

        found = fidelity.evaluate(original, compressed, self.questions, judge)
        self.record_fidelity(found.score)
        return found

    def collect(
        self,
        pressure: ContextPressureMonitor | None = None,
        budget: TokenBudgetManager | None = None,
        *,
        window_id: int = 1,
    ) -> HealthSnapshot:
        """Return the snapshot of the turn that ends; what a missing subsystem would have measured is None."""
        self._turn += 1
        results = budget.budgets[BudgetComponent.TOOL_RESULTS].used if budget else 0
        snapshot = HealthSnapshot(
            timestamp=self._now(),
            window_id=window_id,
            turn=self._turn,
            utilization=pressure.utilization() if pressure and pressure.turn_count else None,
            eviction_rate=self._evicted,
            compression_ratio=self._compressed[0] / max(self._compressed[1], 1) if self._compressed else None,
            burn_rate=budget.burn_rate if budget and budget.last_turn is not None else None,
            fidelity_score=self._fidelity,
            tool_result_bloat=results / budget.total_used if budget and budget.total_used else None,
        )
        self._evicted = self._compressed = self._fidelity = None
        self.observe(snapshot)
        return snapshot

    def observe(self, snapshot: HealthSnapshot) -> list[Alert]:
        """Take a snapshot that was made elsewhere into the history; returns the alarms that hold with it."""
        self._history.append(snapshot)
        found = self.check_alerts()
        begun = [alert for alert in found if alert.metric not in self._alarming]
        self._alarming = {alert.metric for alert in found}
        if self.on_alert:
            for alert in begun:
                self.on_alert(alert)
        return found

    def check_alerts(self) -> list[Alert]:
        """Return the alarms that hold now, the gravest first."""
        return alerts(self.history, self.thresholds, self.metrics)

    def trend_report(self) -> dict[str, Trend]:
        """Return where each metric went in the last ten snapshots; `insufficient_data` under five measured values."""
        recent = self.history[-RECENT:]
        return {
            name: trend([(turn, value) for turn, one in enumerate(recent) if (value := one.value(name)) is not None])
            for name in METRICS
        }
