"""A window's health: six metrics a turn, alarms when they begin, and trends (rules.md#window-health).

Rates are of a turn and not of the whole run, in which no change shows; what was not measured is None and not perfect;
the clock is passed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.health.alerts import METRICS, Alert, AlertThresholds, HealthSnapshot, alerts
from memctl.window.health.trends import Trend, trends
from memctl.window.pressure.monitor import ContextPressureMonitor

if TYPE_CHECKING:
    from memctl.window.health.fidelity import Ask, Fidelity
    from memctl.window.health.questions import Question

MOST_KEPT = 100  # snapshots; rules.md#window-health


class ContextHealthMonitor:
    """Collects a snapshot after each turn.

    `now` gives the time for it; `on_alert` is called when an alarm begins, not while it lasts. `metrics` are those that
    may alarm, by their names in `alerts.METRICS`; `questions` are what a compressed context is asked.
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
        self._told: set[str] = set()
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
        from memctl.window.health.fidelity import evaluate

        found = evaluate(original, compressed, self.questions, judge)
        self.record_fidelity(found.score)
        return found

    def collect(
        self,
        pressure: ContextPressureMonitor | None = None,
        budget: TokenBudgetManager | None = None,
        *,
        window_id: int = 1,
    ) -> HealthSnapshot:
        """The snapshot of the turn that ends; what a subsystem would have measured is None where there is none."""
        self._turn += 1
        snapshot = HealthSnapshot(
            timestamp=self._now(),
            window_id=window_id,
            turn=self._turn,
            utilization=pressure.utilization() if pressure and pressure.turn_count else None,
            eviction_rate=self._evicted,
            compression_ratio=self._compressed[0] / max(self._compressed[1], 1) if self._compressed else None,
            burn_rate=budget.burn_rate if budget and budget.last_turn is not None else None,
            fidelity_score=self._fidelity,
            tool_result_bloat=_bloat(budget) if budget else None,
        )
        self._evicted = self._compressed = self._fidelity = None
        self.observe(snapshot)
        return snapshot

    def observe(self, snapshot: HealthSnapshot) -> list[Alert]:
        """Take a snapshot that was made elsewhere into the history; the alarms that hold with it."""
        self._history.append(snapshot)
        found = self.check_alerts()
        begun = [alert for alert in found if alert.metric not in self._told]
        self._told = {alert.metric for alert in found}
        for alert in begun:
            if self.on_alert:
                self.on_alert(alert)
        return found

    def check_alerts(self) -> list[Alert]:
        """The alarms that hold now, the gravest first."""
        return alerts(self.history, self.thresholds, self.metrics)

    def trend_report(self) -> dict[str, Trend]:
        """Where each metric is going, by its name."""
        return trends(self.history)


def _bloat(budget: TokenBudgetManager) -> float | None:
    results = budget.budgets[BudgetComponent.TOOL_RESULTS].used
    return results / budget.total_used if budget.total_used else None
