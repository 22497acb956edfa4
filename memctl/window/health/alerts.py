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


class AlertRule(msgspec.Struct, frozen=True):
    """When a metric alarms: above or below a limit of AlertThresholds, as measured `turns` times in a row.

    `of_measured` counts only the turns in which it was measured. `says` may name the value and the limit.
    """

    metric: str
    limit: str
    says: str
    level: AlertLevel = AlertLevel.WARNING
    is_above: bool = True
    turns: int = 1
    of_measured: bool = False

    def judge(self, history: Sequence[HealthSnapshot], limits: AlertThresholds) -> Alert | None:
        """The alarm at the last of some snapshots, None if there is none."""
        values = [snapshot.value(self.metric) for snapshot in history]
        last = [value for value in values if value is not None or not self.of_measured][-self.turns :]
        measured = [value for value in last if value is not None]
        limit: float = getattr(limits, self.limit)
        if values[-1] is None or len(measured) < self.turns:
            return None
        holds = min(measured) > limit if self.is_above else max(measured) < limit
        return _alert(self.level, self.metric, self.says, measured[-1], limit) if holds else None


# A ratio of 1 or less alarms, too: of compressions, not of turns, of which most have none.
RULES = (
    AlertRule(
        "utilization", "utilization_critical", turns=LASTING, level=AlertLevel.CRITICAL,
        says="utilization {value:.1%}, above {limit:.0%} for 3 turns: the window overflows next",
    ),
    AlertRule(
        "eviction_rate", "eviction_rate_warning", turns=LASTING,
        says="{value:g} blocks evicted a turn, above {limit:g} for 3 turns",
    ),
    AlertRule(
        "fidelity_score", "fidelity_warning", is_above=False,
        says="a compression kept {value:.0%} of what was asked, below {limit:.0%}",
    ),
    AlertRule(
        "compression_ratio", "compression_ratio_min", is_above=False, turns=LASTING, of_measured=True,
        says="the last 3 compressions came to less than {limit:g}x, this one to {value:.1f}x",
    ),
    AlertRule(
        "tool_result_bloat", "tool_bloat_warning",
        says="tool results are {value:.0%} of what is in the window, above {limit:.0%}",
    ),
)  # fmt: skip


def alerts(
    history: Sequence[HealthSnapshot], limits: AlertThresholds | None = None, metrics: Sequence[str] = tuple(METRICS)
) -> list[Alert]:
    """The alarms that hold at the last of some snapshots, the gravest first."""
    if not history:
        return []
    limits = limits or AlertThresholds()
    found = [rule.judge(history, limits) for rule in RULES if rule.metric in metrics]
    found.append(_burn_rate(history) if "burn_rate" in metrics else None)
    return sorted((one for one in found if one is not None), key=lambda alert: alert.level is not AlertLevel.CRITICAL)


def _burn_rate(history: Sequence[HealthSnapshot]) -> Alert | None:
    """The mean of the last turns against what it was before: a loop that steadily takes a large file every so often
    alarms nobody. Before there is a mean of as many turns as it takes, nothing is usual."""
    value = history[-1].burn_rate
    before = [s.burn_rate for s in history[:-1] if s.burn_rate is not None][BURN_TURNS:]
    usual = sum(before) / len(before) if len(before) >= FEWEST else 0.0
    if value is None or usual <= 0 or value <= SPIKE * usual:
        return None
    says = f"{{value:,.0f}} tokens a turn, {value / usual:.1f} times the average of {usual:,.0f}"
    return _alert(AlertLevel.WARNING, "burn_rate", says, value, SPIKE * usual)


def _alert(level: AlertLevel, name: str, says: str, value: float, limit: float) -> Alert:
    message = says.format(value=value, limit=limit)
    return Alert(level, name, message, value, limit, METRICS[name].kind, METRICS[name].action)


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
