"""A window's health: six metrics measured each turn, alarms, and trends (rules.md#window-health).

Some metrics raise an alarm only if they exceed their limit for three turns, or three compressions, in a row. A metric
that was not measured in a turn is None, and does not count as healthy.
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
    """How serious an alert is.

    INFO means that a metric is outside its healthy range, but not beyond the limit from which it raises an alarm.
    """

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertThresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits from which the metrics of a window's health raise alarms.

    `eviction_rate_warning` is in blocks a turn. `compression_ratio_min` is the number of original tokens divided by
    that of compressed tokens. The other limits are fractions (0 to 1). Fidelity and compression ratio raise an alarm
    below their limits, the other metrics above.
    """

    utilization_critical: Fraction = 0.90
    eviction_rate_warning: Annotated[float, msgspec.Meta(ge=0)] = 5
    fidelity_warning: Fraction = 0.75
    compression_ratio_min: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    tool_bloat_warning: Fraction = 0.30


class HealthSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A window's health after one turn; None marks a metric that was not measured.

    `window_id` is the number of the window among those of the task, from 1. `utilization` (how full the window is),
    `fidelity_score` (how much a compression kept) and `tool_result_bloat` (the share of tools' results) are fractions
    from 0 to 1. `eviction_rate` is the number of blocks evicted in the turn, and `burn_rate` the mean number of tokens
    that a turn adds. `compression_ratio` is original tokens divided by compressed tokens: below 1 if a compression made
    the text longer.
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
        """Return the value of the metric with the name `metric`, such as "utilization"; None if it was not measured."""
        measured: float | None = getattr(self, metric)
        return measured


class Alert(msgspec.Struct, frozen=True):
    """An alarm: its level, the metric with its value and limit, a message, and the action to take.

    `kind` says what the alarm indicates: `capacity`, `degradation`, or `anomaly`, which may be a fault in the agent.
    """

    level: AlertLevel
    metric: str
    message: str
    value: float
    limit: float
    kind: str
    action: str


class HealthMetric(msgspec.Struct, frozen=True):
    """The definition of a metric of a window's health: what it measures, what is healthy, and when it raises an alarm.

    The healthy range is from `least` to `most`; None means that it has no end on this side. `kind` says what an alarm
    indicates: `capacity`, `degradation`, or `anomaly`, which may be a fault in the agent. `action` says what to do
    about an alarm. `ahead` says what to do as soon as a value is outside the healthy range; if it is "", `action`
    applies then, too.

    `limit` is the name of the field of AlertThresholds with the metric's limit. An alarm is raised if the values of the
    last `turns` turns are all above the limit, or with `is_above` False all below it. It is not raised if one of these
    turns has no value. With `of_measured`, turns without a value are skipped instead, but the last turn must have one.
    If `limit` is "", a spike raises the alarm: a value above 3 times the average of earlier values. `says` is the
    message of the alarm, with places for `{value}` and `{limit}`.
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
        """Return an alarm about this metric, whose `value` is beyond the `limit`.

        `says` is the alarm's message, in which `{value}` and `{limit}` are replaced by the numbers.
        """
        return Alert(level, self.name, says.format(value=value, limit=limit), value, limit, self.kind, self.action)

    def judge(self, history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
        """Return the alarm that this metric raises at the end of `history`; None if it raises none.

        `history` has the window's health after each turn, for one turn at least, oldest first. `limits` has the limits
        of all metrics.
        """
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
        """Return an alarm if the mean of the last turns is above 3 times the mean before them.

        Means are compared so that a loop which regularly reads a large file raises no alarm.
        """
        value = history[-1].value(self.name)
        before = [past for snapshot in history[:-1] if (past := snapshot.value(self.name)) is not None][BURN_TURNS:]
        usual = sum(before) / len(before) if len(before) >= FEWEST else 0.0
        if value is None or usual <= 0 or value <= SPIKE * usual:
            return None
        says = f"{{value:,.0f}} tokens a turn, {value / usual:.1f} times the average of {usual:,.0f}"
        return self.alert(self.level, says, value, SPIKE * usual)

    def watch(self, value: float | None) -> Alert | None:
        """Return an alert of level INFO if a value of this metric is outside of its healthy range, else None."""
        is_low = self.least is not None and value is not None and value < self.least
        if value is None or not (is_low or (self.most is not None and value > self.most)):
            return None
        if self.least is None or self.most is None:
            healthy = f"at most {self.most:g}" if self.least is None else f"at least {self.least:g}"
        else:
            healthy = f"{self.least:g} to {self.most:g}"
        limit, message = self.least if is_low else self.most, f"{self.name} is {value:.2f}; {healthy} is healthy"
        return Alert(AlertLevel.INFO, self.name, message, value, limit or 0, self.kind, self.ahead or self.action)


# A ratio of 1 or less alarms, too: of compressions, not of turns, of which most have none.
METRICS = {
    metric.name: metric
    for metric in (
        HealthMetric(
            "utilization", "share of the tokens that fit", None, 0.60, "capacity",
            "compact at once, and save a checkpoint",
            "plan what to remove, and when to save a checkpoint", "utilization_critical",
            "utilization {value:.1%}, above {limit:.0%} for 3 turns: the window is about to overflow",
            AlertLevel.CRITICAL, turns=LASTING,
        ),
        HealthMetric(
            "eviction_rate", "blocks evicted a turn", None, 2, "degradation",
            "review the eviction policy, or use a larger window",
            limit="eviction_rate_warning", says="{value:g} blocks evicted a turn, above {limit:g} for 3 turns",
            turns=LASTING,
        ),
        HealthMetric(
            "compression_ratio", "original / compressed tokens", 3, 15, "degradation", "redesign the prompt",
            limit="compression_ratio_min", is_above=False, turns=LASTING, of_measured=True,
            says="the last 3 compressions each had a ratio below {limit:g}, the last one {value:.1f}",
        ),
        HealthMetric(
            "burn_rate", "tokens a turn, the mean of the last 20 turns", None, None, "anomaly",
            "look for a runaway loop",
        ),
        HealthMetric(
            "fidelity_score", "share of what had to survive a compression", 0.85, None, "degradation",
            "add preservation rules",
            limit="fidelity_warning", is_above=False,
            says="a compression kept {value:.0%} of what had to survive, below {limit:.0%}",
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
    """Return the alarms that the metrics raise at the end of `history`, the most serious first.

    `history` has a window's health after each turn, oldest first. `limits` are the limits of the metrics, None for the
    defaults. `metrics` are the names of the metrics that may raise an alarm; by default all may.
    """
    if not history:
        return []
    limits = limits or AlertThresholds()
    raised = [alert for name in METRICS if name in metrics and (alert := METRICS[name].judge(history, limits))]
    return sorted(raised, key=lambda alert: alert.level is not AlertLevel.CRITICAL)


def watch(snapshot: HealthSnapshot) -> list[Alert]:
    """Return an alert of level INFO for each metric in a health snapshot that is outside of its healthy range."""
    return [alert for name in METRICS if (alert := METRICS[name].watch(snapshot.value(name)))]


class Trend(msgspec.Struct, frozen=True):
    """How a metric developed over some turns: its direction, its slope (the change per turn), and its mean.

    `direction` is "rising", "falling", "stable", or "insufficient_data" if there are too few values to tell. `samples`
    is the number of values; without values the mean is None.
    """

    direction: str
    slope: float
    mean: float | None
    samples: int


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Return how a metric developed, from points that are pairs of a turn and the metric's value.

    A straight line is fitted to the points by least squares. It follows from all points, so one odd value at an end
    makes no trend. The direction is rising or falling if the line's slope differs from 0 by more than two standard
    errors, and stable otherwise. With fewer than five points it is "insufficient_data".
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
    """Collects a snapshot of a window's health after each turn, and raises alarms.

    Such a health snapshot has the values of all metrics; the last `max_history` of them are kept. `now` returns the
    time for a health snapshot. `on_alert` is called when an alarm begins, and not again as long as it lasts.
    `thresholds` are the limits of alarms, and `metrics` the names of the metrics that may raise one. `questions`
    are the questions that `evaluate_fidelity` asks about a compressed context.
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
            raise MemctlError(
                f"there is no health metric {unknown[0]!r}", f"the metrics are {', '.join(METRICS)}", USAGE
            )
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
        """The health snapshots that are kept, oldest first."""
        return tuple(self._history)

    def record_eviction(self, count: int = 1) -> None:
        """Add to the number of blocks evicted in this turn.

        Without a call in a turn the turn's eviction rate is unknown; a call with 0 records that no block could be
        evicted.
        """
        argument_checks.numbers(count=count)
        self._evicted = (self._evicted or 0) + count

    def record_compression(self, original_tokens: int, compressed_tokens: int) -> None:
        """Record the tokens before and after a compression in this turn.

        If there are several in a turn, its compression ratio is the sum of the original tokens divided by the sum of
        the compressed tokens.
        """
        argument_checks.numbers(original_tokens=original_tokens, compressed_tokens=compressed_tokens)
        before, after = self._compressed or (0, 0)
        self._compressed = (before + original_tokens, after + compressed_tokens)

    def record_fidelity(self, score: float | None) -> None:
        """Record how much a compression in this turn kept, from 0 to 1; None records nothing.

        If there are several compressions in a turn, the lowest score counts.
        """
        if score is not None:
            argument_checks.numbers(score=score)
            self._fidelity = score if self._fidelity is None else min(score, self._fidelity)

    def evaluate_fidelity(self, original: str, compressed: str, judge: Ask | None = None) -> Fidelity:
        """Return how much a compressed context keeps of the original, and record the score for this turn.

        The monitor's `questions` are asked. `judge` is a function that asks a model; with None the facts of the
        questions are searched in both texts (see `fidelity.evaluate`).
        """
        from memctl.window import fidelity

        result = fidelity.evaluate(original, compressed, self.questions, judge)
        self.record_fidelity(result.score)
        return result

    def collect(
        self,
        pressure: ContextPressureMonitor | None = None,
        budget: TokenBudgetManager | None = None,
        *,
        window_id: int = 1,
    ) -> HealthSnapshot:
        """Make the health snapshot of the turn that ends, add it to the history, and return it.

        `on_alert` is called for alarms that begin. What is recorded afterwards counts for the next turn. `pressure`
        gives the utilisation; `budget` gives the burn rate and the share of tool results. Metrics whose source is None
        are not measured. `window_id` is the number of the window among those of the task, from 1.
        """
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
        """Add a health snapshot to the history, and return the alarms that it raises, the most serious first.

        `on_alert` is called for each alarm that the health snapshot before did not raise.
        """
        self._history.append(snapshot)
        alarms = self.check_alerts()
        begun = [alert for alert in alarms if alert.metric not in self._alarming]
        self._alarming = {alert.metric for alert in alarms}
        if self.on_alert:
            for alert in begun:
                self.on_alert(alert)
        return alarms

    def check_alerts(self) -> list[Alert]:
        """Return the alarms that the last health snapshot raises, the most serious first."""
        return alerts(self.history, self.thresholds, self.metrics)

    def trend_report(self) -> dict[str, Trend]:
        """Return how each metric developed in the last ten health snapshots, by the metric's name.

        The direction is "insufficient_data" for a metric that has a value in fewer than five of them.
        """
        recent = self.history[-RECENT:]
        rows = {name: [(turn, snapshot.value(name)) for turn, snapshot in enumerate(recent)] for name in METRICS}
        return {name: trend([(turn, value) for turn, value in row if value is not None]) for name, row in rows.items()}
