"""What the metrics of a window should be, and when they alarm (rules.md#window-health).

Several alarms are raised only when something lasts: LASTING turns, or compressions, in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

import msgspec

LASTING = 3  # turns; rules.md#window-health
BURN_TURNS = 20  # of which the burn rate is the mean; the budget keeps as many
SPIKE = 3.0  # times the average before; rules.md#window-health
FEWEST = 5  # measurements from which on there is an average, or a trend; rules.md#window-health
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]


class AlertLevel(Enum):
    """How much an alert matters; INFO is for what has left its healthy range and does not alarm yet."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class HealthMetric(msgspec.Struct, frozen=True):
    """A metric: what it measures, its healthy range (None: open), what to do about an alarm, and what before there is
    one, if that is something else.

    `kind` is what an alarm tells of: `capacity`, `degradation`, or an `anomaly`, which may be a fault in the agent.
    """

    name: str
    measures: str
    least: float | None
    most: float | None
    kind: str
    action: str
    ahead: str = ""

    def is_healthy(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


METRICS = {
    metric.name: metric
    for metric in (
        HealthMetric(
            "utilization",
            "tokens of those that fit",
            None,
            0.60,
            "capacity",
            "compact at once, save a checkpoint",
            "plan what may go, and where a checkpoint is due",
        ),
        HealthMetric(
            "eviction_rate", "blocks evicted a turn", None, 2, "degradation", "review the policy: a larger window?"
        ),
        HealthMetric("compression_ratio", "original by compressed tokens", 3, 15, "degradation", "redesign the prompt"),
        HealthMetric(
            "burn_rate", "tokens a turn, the mean of 20", None, None, "anomaly", "look for a loop that runs away"
        ),
        HealthMetric("fidelity_score", "what a compression kept", 0.85, None, "degradation", "add preservation rules"),
        HealthMetric(
            "tool_result_bloat", "tokens of tool results", None, 0.15, "degradation", "limit what tools return"
        ),
    )
}


class AlertThresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on metrics alarm (rules.md#window-health)."""

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
        """A metric by its name in METRICS."""
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


def alerts(
    history: Sequence[HealthSnapshot], limits: AlertThresholds | None = None, metrics: Sequence[str] = tuple(METRICS)
) -> list[Alert]:
    """The alarms that hold at the last of some snapshots, the gravest first."""
    limits = limits or AlertThresholds()
    found = [
        alert
        for name, judge in (
            ("utilization", _utilization),
            ("eviction_rate", _eviction_rate),
            ("fidelity_score", _fidelity),
            ("compression_ratio", _compression),
            ("tool_result_bloat", _bloat),
            ("burn_rate", _burn_rate),
        )
        if name in metrics and history and (alert := judge(history, limits)) is not None
    ]
    return sorted(found, key=lambda alert: alert.level is not AlertLevel.CRITICAL)


def watch(snapshot: HealthSnapshot, metrics: Sequence[str] = tuple(METRICS)) -> list[Alert]:
    """What has left its healthy range, whether it alarms or not, as INFO."""
    found = []
    for metric in (METRICS[name] for name in metrics):
        value = snapshot.value(metric.name)
        if value is not None and not metric.is_healthy(value):
            limit = metric.least if metric.least is not None and value < metric.least else metric.most
            message = f"{metric.name} {value:.2f}, healthy is {_range(metric)}"
            action = metric.ahead or metric.action
            found.append(Alert(AlertLevel.INFO, metric.name, message, value, limit or 0, metric.kind, action))
    return found


def _range(metric: HealthMetric) -> str:
    if metric.least is None or metric.most is None:
        return f"at most {metric.most:g}" if metric.least is None else f"at least {metric.least:g}"
    return f"{metric.least:g} to {metric.most:g}"


def _lasting(values: Sequence[float]) -> Sequence[float]:
    """The last values, if there are enough of them to say that something lasts."""
    return values[-LASTING:] if len(values) >= LASTING else ()


def _turns(history: Sequence[HealthSnapshot], metric: str) -> Sequence[float]:
    """A metric over the last turns; nothing if one of them was not measured."""
    values = [snapshot.value(metric) for snapshot in history[-LASTING:]]
    return _lasting([value for value in values if value is not None])


def _utilization(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    last, limit = _turns(history, "utilization"), limits.utilization_critical
    if not last or min(last) <= limit:
        return None
    message = f"utilization {last[-1]:.1%}, above {limit:.0%} for {LASTING} turns: the window overflows next"
    return _alert(AlertLevel.CRITICAL, "utilization", message, last[-1], limit)


def _eviction_rate(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    last, limit = _turns(history, "eviction_rate"), limits.eviction_rate_warning
    if not last or min(last) <= limit:
        return None
    message = f"{last[-1]:g} blocks evicted a turn, above {limit:g} for {LASTING} turns"
    return _alert(AlertLevel.WARNING, "eviction_rate", message, last[-1], limit)


def _fidelity(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    value, limit = history[-1].fidelity_score, limits.fidelity_warning
    if value is None or value >= limit:
        return None
    message = f"a compression kept {value:.0%} of what was asked, below {limit:.0%}"
    return _alert(AlertLevel.WARNING, "fidelity_score", message, value, limit)


def _compression(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    """Of compressions, not of turns: most have none. A ratio of 1 or less alarms, too."""
    limit = limits.compression_ratio_min
    last = _lasting([s.compression_ratio for s in history if s.compression_ratio is not None])
    if history[-1].compression_ratio is None or not last or max(last) >= limit:
        return None
    message = f"the last {LASTING} compressions came to less than {limit:g}x, this one to {last[-1]:.1f}x"
    return _alert(AlertLevel.WARNING, "compression_ratio", message, last[-1], limit)


def _bloat(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    value, limit = history[-1].tool_result_bloat, limits.tool_bloat_warning
    if value is None or value <= limit:
        return None
    message = f"tool results are {value:.0%} of what is in the window, above {limit:.0%}"
    return _alert(AlertLevel.WARNING, "tool_result_bloat", message, value, limit)


def _burn_rate(history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
    """The mean of the last turns against what it was before: a loop that steadily takes a large file every so often
    alarms nobody. Before there is a mean of as many turns as it takes, nothing is usual."""
    value = history[-1].burn_rate
    before = [s.burn_rate for s in history[:-1] if s.burn_rate is not None][BURN_TURNS:]
    if value is None or len(before) < FEWEST:
        return None
    usual = sum(before) / len(before)
    if usual <= 0 or value <= SPIKE * usual:
        return None
    message = f"{value:,.0f} tokens a turn, {value / usual:.1f} times the average of {usual:,.0f}"
    return _alert(AlertLevel.WARNING, "burn_rate", message, value, SPIKE * usual)


def _alert(level: AlertLevel, name: str, message: str, value: float, limit: float) -> Alert:
    return Alert(level, name, message, value, limit, METRICS[name].kind, METRICS[name].action)
