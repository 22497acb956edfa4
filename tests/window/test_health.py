"""Health: metrics that lie, alarms that last, trends that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.token_budget import TokenBudgetManager
from memctl.window.fidelity import Question
from memctl.window.health import (
    FALLING,
    INSUFFICIENT,
    METRICS,
    RISING,
    STABLE,
    Alert,
    AlertLevel,
    AlertThresholds,
    ContextHealthMonitor,
    HealthSnapshot,
    alerts,
    trend,
    watch,
)
from memctl.window.pressure.monitor import ContextPressureMonitor

# A snapshot that is poor in all but the compression ratio.
EXAMPLE = HealthSnapshot(
    utilization=0.92, eviction_rate=6.0, compression_ratio=3.5, burn_rate=2_500.0, fidelity_score=0.25,
    tool_result_bloat=0.35,
)  # fmt: skip


def raised(history: list[HealthSnapshot]) -> list[str]:
    return [alert.metric for alert in alerts(history)]


def test_unmeasured_metrics_are_none_and_raise_no_alert() -> None:
    snapshot = ContextHealthMonitor().collect()
    assert all(snapshot.value(name) is None for name in METRICS)
    assert alerts([snapshot] * 10) == []
    assert watch(snapshot) == []


def test_utilization_is_critical_after_three_turns_and_not_at_once() -> None:
    """See rules.md#window-health."""
    turn = HealthSnapshot(utilization=0.92)
    assert raised([turn]) == raised([turn] * 2) == []
    (alert,) = alerts([turn] * 3)
    assert (alert.level, alert.kind, alert.limit) == (AlertLevel.CRITICAL, "capacity", 0.90)
    assert raised([turn, HealthSnapshot(utilization=0.90), turn]) == []
    assert raised([turn] * 3 + [HealthSnapshot(utilization=0.5)]) == []


def test_a_poor_snapshot_for_three_turns_alarms_in_four_ways_the_gravest_first() -> None:
    found = alerts([EXAMPLE] * 3)
    assert [alert.metric for alert in found] == ["utilization", "eviction_rate", "fidelity_score", "tool_result_bloat"]
    assert [alert.level.value for alert in found] == ["critical", "warning", "warning", "warning"]
    assert raised([EXAMPLE]) == ["fidelity_score", "tool_result_bloat"]


def test_eviction_alarms_when_it_is_sustained() -> None:
    much, little = HealthSnapshot(eviction_rate=6), HealthSnapshot(eviction_rate=5)
    assert raised([much, much, little]) == raised([much, much]) == []
    assert raised([little, much, much, much]) == ["eviction_rate"]


def test_fidelity_alarms_below_three_quarters() -> None:
    assert raised([HealthSnapshot(fidelity_score=0.74)]) == ["fidelity_score"]
    assert raised([HealthSnapshot(fidelity_score=0.75)]) == []


def test_compression_alarms_when_it_is_consistently_poor_even_if_the_window_grew() -> None:
    """A compression that makes the window larger, with a ratio below 1, alarms, too."""
    poor, grown, none = (HealthSnapshot(compression_ratio=ratio) for ratio in (1.5, 0.8, None))
    assert raised([poor, none, poor]) == []
    assert raised([poor, none, grown, none, none, grown]) == ["compression_ratio"]
    assert raised([poor, poor, HealthSnapshot(compression_ratio=2.0)]) == []
    nearly = HealthSnapshot(compression_ratio=1.95)
    assert raised([nearly, nearly, nearly]) == ["compression_ratio"]
    assert raised([poor, poor, poor, none]) == []  # nothing was compressed in this turn


def test_tool_results_alarm_above_three_tenths() -> None:
    assert raised([HealthSnapshot(tool_result_bloat=0.31)]) == ["tool_result_bloat"]
    assert raised([HealthSnapshot(tool_result_bloat=0.30)]) == []


def test_a_turn_of_three_times_the_average_before_is_an_anomaly() -> None:
    usual = [HealthSnapshot(burn_rate=1_000)] * 25
    (alert,) = alerts([*usual, HealthSnapshot(burn_rate=3_001)])
    assert (alert.metric, alert.kind, alert.level) == ("burn_rate", "anomaly", AlertLevel.WARNING)
    assert raised([*usual, HealthSnapshot(burn_rate=3_000)]) == []
    assert raised([*usual[:24], HealthSnapshot(burn_rate=9_000)]) == []  # too few to know what is usual


def test_thresholds_and_metrics_can_be_chosen() -> None:
    strict = AlertThresholds(tool_bloat_warning=0.1)
    turn = HealthSnapshot(tool_result_bloat=0.2, fidelity_score=0.1)
    assert [alert.metric for alert in alerts([turn], strict, ["tool_result_bloat"])] == ["tool_result_bloat"]


def test_info_level_suggests_planning_and_critical_suggests_compaction() -> None:
    (watched,) = watch(HealthSnapshot(utilization=0.65))
    assert (watched.level, watched.action) == (AlertLevel.INFO, "plan what to remove, and when to save a checkpoint")
    (alarm,) = alerts([HealthSnapshot(utilization=0.95)] * 3)
    assert (alarm.level, alarm.action) == (AlertLevel.CRITICAL, "compact at once, and save a checkpoint")


@pytest.mark.parametrize(
    ("values", "unhealthy"),
    [
        ({"utilization": 0.59}, []),
        ({"compression_ratio": 15, "eviction_rate": 2, "fidelity_score": 0.85, "tool_result_bloat": 0.15}, []),
        ({"compression_ratio": 15.1}, ["compression_ratio"]),
        ({"utilization": 0.61, "compression_ratio": 20.0}, ["utilization", "compression_ratio"]),
        ({"compression_ratio": 2.9, "fidelity_score": 0.84}, ["compression_ratio", "fidelity_score"]),
        ({"eviction_rate": 3, "tool_result_bloat": 0.16, "burn_rate": 1e9}, ["eviction_rate", "tool_result_bloat"]),
    ],
)
def test_metric_outside_its_healthy_range_is_an_info_alert(values: dict[str, float], unhealthy: list[str]) -> None:
    found = watch(HealthSnapshot(**values))  # type: ignore[arg-type]
    assert [alert.metric for alert in found] == unhealthy
    assert all(alert.level is AlertLevel.INFO for alert in found)


def test_a_snapshot_is_collected_from_the_subsystems() -> None:
    pressure, budget = ContextPressureMonitor(100_000), TokenBudgetManager(100_000)
    pressure.measure(61_000)
    budget.track(BudgetComponent.MESSAGE_HISTORY, 30_000)
    budget.track(BudgetComponent.TOOL_RESULTS, 10_000)
    budget.record_turn(4_000)
    budget.record_turn(900)
    monitor = ContextHealthMonitor(now=lambda: "2025-11-04T14:32:00Z")
    monitor.record_eviction(2)
    monitor.record_eviction()
    monitor.record_compression(9_000, 1_000)
    monitor.record_compression(1_000, 1_000)
    monitor.record_fidelity(0.9)
    monitor.record_fidelity(0.8)
    monitor.record_fidelity(None)
    first = monitor.collect(pressure, budget, window_id=2)
    assert first == HealthSnapshot(
        timestamp="2025-11-04T14:32:00Z", window_id=2, turn=1, utilization=0.61, eviction_rate=3, compression_ratio=5,
        burn_rate=2_450, fidelity_score=0.8, tool_result_bloat=0.25,
    )  # fmt: skip


def test_fidelity_is_measured_and_noted_for_the_turn() -> None:
    asked = [Question("Which file?", facts=("api.ts:42",)), Question("Which count?", facts=("13/23",))]
    monitor = ContextHealthMonitor(questions=asked)
    found = monitor.evaluate_fidelity("api.ts:42 is file 13/23", "api.ts:42")
    assert found.score == 0.5
    assert monitor.collect().fidelity_score == 0.5
    assert [alert.metric for alert in monitor.check_alerts()] == ["fidelity_score"]


def test_without_questions_fidelity_is_not_measured() -> None:
    """A score of 1.0 would be averaged in."""
    monitor = ContextHealthMonitor()
    assert monitor.evaluate_fidelity("all of it", "").score is None
    assert monitor.collect().fidelity_score is None


def test_recorded_evictions_count_for_one_turn() -> None:
    """By all evictions over all turns, a burst after a long quiet would never be seen."""
    monitor = ContextHealthMonitor()
    for _ in range(50):
        monitor.record_eviction(0)
        monitor.collect()
    for _ in range(3):
        monitor.record_eviction(8)
        monitor.collect()
    assert 3 * 8 / 53 < 5
    assert [alert.metric for alert in monitor.check_alerts()] == ["eviction_rate"]
    assert monitor.collect().eviction_rate is None


def test_alert_calls_back_when_it_begins_and_when_it_returns() -> None:
    told: list[Alert] = []
    monitor = ContextHealthMonitor(on_alert=told.append)
    bad, good = HealthSnapshot(tool_result_bloat=0.5), HealthSnapshot(tool_result_bloat=0.1)
    for snapshot in (bad, bad, good, bad):
        monitor.observe(snapshot)
    assert len(told) == 2


def test_the_last_hundred_snapshots_are_kept() -> None:
    monitor = ContextHealthMonitor()
    for _ in range(130):
        monitor.collect()
    assert len(monitor.history) == 100
    assert monitor.history[0].turn == 31


def test_fewer_than_five_measurements_are_no_trend() -> None:
    monitor = ContextHealthMonitor()
    for utilization in (0.1, 0.2, 0.3, 0.4):
        monitor.observe(HealthSnapshot(utilization=utilization))
    assert monitor.trend_report()["utilization"].direction == INSUFFICIENT
    monitor.observe(HealthSnapshot(utilization=0.5))
    report = monitor.trend_report()
    assert (report["utilization"].direction, report["utilization"].slope) == (RISING, pytest.approx(0.1))
    assert report["fidelity_score"].direction == INSUFFICIENT
    assert report["fidelity_score"].mean is None


def test_one_odd_value_at_the_end_is_no_trend() -> None:
    """By the first and the last value alone this would be falling."""
    values = [0.50, 0.51, 0.50, 0.51, 0.50, 0.51, 0.50, 0.51, 0.50, 0.45]
    assert values[-1] < values[0]
    assert trend(list(enumerate(values))).direction == STABLE
    assert trend([(turn, 0.5) for turn in range(10)]).direction == STABLE


def test_a_trend_is_of_the_last_ten_turns() -> None:
    monitor = ContextHealthMonitor()
    for turn in range(30):
        monitor.observe(HealthSnapshot(utilization=turn / 100 if turn < 20 else 0.9 - turn / 100))
    found = monitor.trend_report()["utilization"]
    assert (found.direction, found.samples) == (FALLING, 10)


@given(st.lists(st.floats(0, 1), min_size=5, max_size=10), st.floats(0.01, 1), st.booleans())
def test_a_straight_line_is_always_seen(noise: list[float], slope: float, falls: bool) -> None:
    sign = -1 if falls else 1
    points = [(float(turn), sign * slope * turn + 1e-9 * value) for turn, value in enumerate(noise)]
    assert trend(points).direction == (FALLING if falls else RISING)
