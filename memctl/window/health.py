"""A window's health: six metrics measured each turn, alarms, and trends (rules.md#window-health).

Some metrics alarm only if they exceed their limit for three turns, or three compressions, in a row. A rate is measured
over one turn or a few, since the mean of a whole run would hide a change. A metric that was not measured is None, and
does not count as healthy.
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
    """How serious an alert is; INFO marks a metric outside its healthy range that does not alarm yet."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AlertThresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits beyond which the metrics of a window's health alarm.

    `eviction_rate_warning` is in blocks a turn, and `compression_ratio_min` is original tokens divided by compressed
    tokens; the other limits are fractions (0 to 1). Fidelity and compression ratio alarm below their limits, other
    metrics above.
    """

    utilization_critical: Fraction = 0.90
    eviction_rate_warning: Annotated[float, msgspec.Meta(ge=0)] = 5
    fidelity_warning: Fraction = 0.75
    compression_ratio_min: Annotated[float, msgspec.Meta(ge=0)] = 2.0
    tool_bloat_warning: Fraction = 0.30


class HealthSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A window's health after one turn; None marks a metric that was not measured.

    `utilization`, `fidelity_score` and `tool_result_bloat` are fractions from 0 to 1. `eviction_rate` is the number of
    blocks evicted in the turn, and `burn_rate` is the mean number of tokens that a turn added. `compression_ratio` is
    original tokens divided by compressed tokens: below 1 if a compression made the text longer.
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
        """Return a metric's value by its name in METRICS, None if it was not measured."""
        found: float | None = getattr(self, metric)
        return found


class Alert(msgspec.Struct, frozen=True):
    """An alarm: its level, its metric with value and limit, a message, and the action to take.

    `kind` is `capacity`, `degradation` or `anomaly`.
    """

    level: AlertLevel
    metric: str
    message: str
    value: float
    limit: float
    kind: str
    action: str


class HealthMetric(msgspec.Struct, frozen=True):
    """The definition of a metric of a window's health: what it measures, its healthy range, and when it alarms.

    The healthy range is from `least` to `most`, None for an open end. `action` says what to do about an alarm. `ahead`
    says what to do about a value that left the healthy range and does not alarm yet; "" stands for `action`. `kind` is
    what an alarm indicates: `capacity`, `degradation`, or `anomaly`, which may be a fault in the agent.

    `limit` is the name of the field of AlertThresholds that has the metric's limit. The metric alarms if its values of
    the last `turns` turns are all above the limit, or all below it if `is_above` is False. A turn without a value
    prevents the alarm; if `of_measured` is True, only the last turn does, and earlier ones without a value are skipped.
    With "" for `limit` the metric alarms at a spike, which is a value above 3 times the average before it. `says` is
    the message of the alarm, with places for `{value}` and `{limit}`.
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
        """Return an alarm of this metric, whose `value` is beyond the `limit`.

        `says` is the message, with places for `{value}` and `{limit}`.
        """
        return Alert(level, self.name, says.format(value=value, limit=limit), value, limit, self.kind, self.action)

    def judge(self, history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
        """Return the alarm that this metric raises at the last snapshot of `history`; None if it raises none.

        `history` has the snapshots of one window, oldest first and at least one.
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
        before = [found for one in history[:-1] if (found := one.value(self.name)) is not None][BURN_TURNS:]
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
        limit, message = self.least if is_low else self.most, f"{self.name} {value:.2f}, healthy is {healthy}"
        return Alert(AlertLevel.INFO, self.name, message, value, limit or 0, self.kind, self.ahead or self.action)


# A ratio of 1 or less alarms, too: of compressions, not of turns, of which most have none.
METRICS = {
    metric.name: metric
    for metric in (
        HealthMetric(
            "utilization", "share of the tokens that fit", None, 0.60, "capacity", "compact at once, save a checkpoint",
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
            "compression_ratio", "original / compressed tokens", 3, 15, "degradation", "redesign the prompt",
            limit="compression_ratio_min", is_above=False, turns=LASTING, of_measured=True,
            says="the last 3 compressions came to less than {limit:g}x, this one to {value:.1f}x",
        ),
        HealthMetric(
            "burn_rate", "tokens a turn, the mean of 20", None, None, "anomaly", "look for a runaway loop",
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
    """Return the alarms at the last snapshot of `history`, the most serious first.

    `history` has snapshots, oldest first. `limits` are the limits of the metrics, None for the defaults. `metrics` are
    the names of the metrics that may alarm, by default all.
    """
    if not history:
        return []
    limits = limits or AlertThresholds()
    found = (METRICS[name].judge(history, limits) for name in METRICS if name in metrics)
    return sorted((one for one in found if one is not None), key=lambda alert: alert.level is not AlertLevel.CRITICAL)


def watch(snapshot: HealthSnapshot) -> list[Alert]:
    """Return an alert of level INFO for each metric of a snapshot that is outside of its healthy range."""
    return [alert for name in METRICS if (alert := METRICS[name].watch(snapshot.value(name)))]


class Trend(msgspec.Struct, frozen=True):
    """The course of a metric over some turns: its direction, its slope per turn, and its mean.

    `direction` is RISING, FALLING, STABLE or INSUFFICIENT (too few values to tell). `samples` is the number of values;
    without values the mean is None.
    """

    direction: str
    slope: float
    mean: float | None
    samples: int


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Return the course of a metric from its points (turn, value), by a straight line of least squares.

    The line takes all values into account, so that one odd value at an end is no trend. The course rises or falls if
    the line's slope differs from 0 by more than two standard errors; fewer than five points are INSUFFICIENT.
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

    `now` returns the time for a snapshot. `on_alert` is called when an alarm begins, and not again while it lasts.
    `thresholds` are the limits of alarms, and `metrics` the names of the metrics that may alarm, keys of METRICS. The
    last `max_history` snapshots are kept. `questions` are the questions that `evaluate_fidelity` asks.
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
        """The snapshots that are kept, oldest first."""
        return tuple(self._history)

    def record_eviction(self, count: int = 1) -> None:
        """Count evicted blocks for this turn; 0 records that an eviction ran and found none."""
        argument_checks.numbers(count=count)
        self._evicted = (self._evicted or 0) + count

    def record_compression(self, original_tokens: int, compressed_tokens: int) -> None:
        """Record the tokens before and after a compression in this turn.

        The turn's compression ratio is the sum of the original tokens divided by the sum of the compressed tokens.
        """
        argument_checks.numbers(original_tokens=original_tokens, compressed_tokens=compressed_tokens)
        before, after = self._compressed or (0, 0)
        self._compressed = (before + original_tokens, after + compressed_tokens)

    def record_fidelity(self, score: float | None) -> None:
        """Record the fidelity of a compression in this turn, from 0 to 1; None is not recorded.

        Of several compressions in a turn the lowest fidelity counts.
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
        """Return the snapshot of the turn that ends, and begin the next turn.

        `pressure` gives the utilisation; `budget` gives the burn rate and the share of tool results. If one of them is
        None, so are its metrics. `window_id` is the number of the window, from 1.
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
        """Add a snapshot to the history, and return the alarms that hold now, the most serious first.

        `on_alert` is called for each alarm that did not hold at the snapshot before.
        """
        self._history.append(snapshot)
        found = self.check_alerts()
        begun = [alert for alert in found if alert.metric not in self._alarming]
        self._alarming = {alert.metric for alert in found}
        if self.on_alert:
            for alert in begun:
                self.on_alert(alert)
        return found

    def check_alerts(self) -> list[Alert]:
        """Return the alarms that hold at the last snapshot, the most serious first."""
        return alerts(self.history, self.thresholds, self.metrics)

    def trend_report(self) -> dict[str, Trend]:
        """Return the course of each metric in the last ten snapshots, by the metric's name.

        The course is INSUFFICIENT if fewer than five of these snapshots have a value of the metric.
        """
        recent = self.history[-RECENT:]
        return {
            name: trend([(turn, value) for turn, one in enumerate(recent) if (value := one.value(name)) is not None])
            for name in METRICS
        }
