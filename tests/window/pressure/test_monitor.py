"""The pressure monitor, with the numbers of rules.md#window-pressure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.window.pressure.monitor import (
    CLIENT_ESTIMATED,
    MODEL_REPORTED,
    ContextPressureMonitor,
    PressureReading,
    PressureZone,
    Thresholds,
    Turns,
    expected_growth,
    trimmed_mean,
    turns_until,
)

COUNTS = [5_000, 8_000, 12_000, 18_000, 28_000, 45_000, 68_000, 90_000, 105_000, 118_000]  # a window that fills
GREEN, YELLOW, ORANGE, RED = PressureZone


def readings(counts: list[int], **options: object) -> list[PressureReading]:
    monitor = ContextPressureMonitor(**options)  # type: ignore[arg-type]
    return [monitor.measure(tokens) for tokens in counts]


def test_ten_counts_pass_through_all_four_zones() -> None:
    found = readings(COUNTS)
    assert [reading.zone for reading in found] == [GREEN] * 6 + [YELLOW] * 2 + [ORANGE, RED]
    assert [reading.utilization_pct for reading in found] == [3.9, 6.2, 9.4, 14.1, 21.9, 35.2, 53.1, 70.3, 82.0, 92.2]
    assert found[-1].turns_until_red is not None
    assert found[-1].turns_until_red.likely == 0
    assert found[0].turns_until_red is None


def test_second_count_has_a_velocity() -> None:
    assert readings(COUNTS[:2])[1].velocity_tokens_per_turn == 3_000


def test_velocity_is_the_trimmed_mean_of_the_last_five_steps() -> None:
    # steps 6, 10, 17, 23, 22 thousand: without the least and the most
    assert readings(COUNTS[:8])[-1].velocity_tokens_per_turn == pytest.approx(49_000 / 3, abs=0.1)
    assert readings(COUNTS[:8], velocity_window_turns=1)[-1].velocity_tokens_per_turn == 22_000


def test_zones_begin_at_their_thresholds() -> None:
    found = readings([63_999, 64_000, 95_999, 96_000, 115_199, 115_200])
    assert [reading.zone for reading in found] == [GREEN, YELLOW, YELLOW, ORANGE, ORANGE, RED]


def test_zone_change_calls_back_once_with_both_zones() -> None:
    told: list[tuple[PressureZone, PressureZone, int]] = []
    readings(COUNTS, on_zone_change=lambda old, new, r: told.append((old, new, r.current_tokens)))
    assert told == [(GREEN, YELLOW, 68_000), (YELLOW, ORANGE, 105_000), (ORANGE, RED, 118_000)]


def test_a_result_of_15000_after_steps_of_2000_is_a_spike() -> None:
    """The average of five steps, 4,600, is under three times 2,000 and would hide it."""
    told: list[tuple[float, float]] = []
    counts = [2_000 * turn for turn in range(1, 9)]
    readings([*counts, counts[-1] + 15_000], on_velocity_spike=lambda step, base, _: told.append((step, base)))
    assert told == [(15_000.0, 2_000.0)]
    assert (4 * 2_000 + 15_000) / 5 < 3 * 2_000


def test_the_counts_hold_three_spikes() -> None:
    told: list[float] = []
    readings(COUNTS, on_velocity_spike=lambda step, base, _: told.append(step))
    assert told == [17_000, 23_000, 22_000]


def test_the_baseline_moves_by_three_tenths() -> None:
    monitor = ContextPressureMonitor()
    for tokens in (0, 1_000, 4_000):
        monitor.measure(tokens)
    assert monitor.baseline == pytest.approx(0.3 * 2_000 + 0.7 * 1_000)


def test_spike_calls_back_when_added_and_not_again_with_its_step() -> None:
    told: list[float] = []
    monitor = ContextPressureMonitor(on_velocity_spike=lambda step, base, _: told.append(step))
    for tokens in (1_000, 3_000, 5_000):
        monitor.measure(tokens)
    monitor.update(15_000)
    monitor.update(1_000)
    assert told == [15_000]
    monitor.measure(21_000)
    assert told == [15_000]


def test_update_changes_utilization_and_zone_but_is_no_step() -> None:
    told: list[PressureZone] = []
    monitor = ContextPressureMonitor(100_000, on_zone_change=lambda old, new, _: told.append(new))
    assert monitor.utilization() == 0
    monitor.measure(40_000)
    assert monitor.update(20_000).zone is YELLOW
    assert monitor.utilization() == pytest.approx(0.6)
    assert monitor.velocity == 0
    monitor.update(-50_000)
    assert told == [YELLOW, GREEN]
    assert monitor.utilization() == pytest.approx(0.1)


def test_eviction_does_not_hide_growth() -> None:
    monitor = ContextPressureMonitor(100_000)
    monitor.measure(40_000)
    monitor.update(-10_000)
    assert monitor.measure(33_000).velocity_tokens_per_turn == 3_000


def test_a_compaction_leaves_the_velocity_alone() -> None:
    """With the fall in the average, turns until red would not be known just after each compaction."""
    reading = readings([100_000, 104_000, 108_000, 20_000])[-1]
    assert reading.velocity_tokens_per_turn == 4_000
    assert reading.turns_until_red is not None


def test_count_of_the_model_overrides_the_clients_estimate() -> None:
    monitor = ContextPressureMonitor(100_000)
    reading = monitor.measure(80_000, model_reported_tokens=92_000)
    assert (reading.current_tokens, reading.source, reading.zone) == (92_000, MODEL_REPORTED, RED)
    assert reading.disagreement == pytest.approx(0.15)
    reading = monitor.measure(91_000)
    assert (reading.source, reading.disagreement) == (CLIENT_ESTIMATED, None)


def test_reported_count_of_zero_is_used() -> None:
    assert ContextPressureMonitor().measure(500, model_reported_tokens=0).current_tokens == 0


def test_turns_until_red_are_a_range_around_the_likely_number() -> None:
    assert turns_until(60_000, [3_000] * 20) == Turns(11.6, 20.0, 32.0)
    assert turns_until(60_000, []) is None


def test_the_forecast_is_shrunk_to_what_is_usual() -> None:
    assert expected_growth([], 850) == 850
    assert expected_growth([3_000] * 20, 850) == (20 * 3_000 + 100 * 850) / 120
    assert expected_growth([3_000] * 60, 850) == expected_growth([3_000] * 20, 850)
    assert turns_until(60_000, [], 1_000) == Turns(34.8, 60.0, 96.0)
    assert readings([0, 3_000])[-1].forecast_tokens_per_turn == 3_000  # an agent's own loop: nothing else is known
    assert readings([0, 3_000], usual_growth=850)[-1].usual_tokens_per_turn == 850


def test_turns_until_red_use_the_last_twenty_steps() -> None:
    monitor = ContextPressureMonitor(1_000_000)
    tokens = 0
    for step in [9_000] * 5 + [1_000] * 20:
        monitor.measure(tokens)
        tokens += step
    reading = monitor.measure(tokens)
    assert reading.turns_until_red is not None
    assert reading.turns_until_red.likely == pytest.approx((900_000 - tokens) / 1_000, abs=0.1)


def test_window_without_growth_has_no_turns_until_red() -> None:
    assert readings([5_000, 5_000, 5_000])[-1].turns_until_red is None


def test_reset_forgets_everything() -> None:
    monitor = ContextPressureMonitor()
    for tokens in COUNTS:
        monitor.measure(tokens)
    monitor.reset()
    assert (monitor.utilization(), monitor.zone, monitor.velocity, monitor.baseline, monitor.turn_count) == (
        0, GREEN, 0, 0, 0,
    )  # fmt: skip


def test_a_callback_that_fails_leaves_the_monitor_as_measured() -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("full disk")

    monitor = ContextPressureMonitor(100_000, on_zone_change=fail)
    with pytest.raises(RuntimeError):
        monitor.measure(60_000)
    assert monitor.zone is YELLOW
    assert monitor.utilization() == 0.6


@pytest.mark.parametrize(
    "options", [{"max_context_tokens": 0}, {"velocity_window_turns": 0}, {"spike_multiplier": 1.0}]
)
def test_invalid_option_of_the_monitor_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="more than"):
        ContextPressureMonitor(**options)  # type: ignore[arg-type]


def test_negative_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        ContextPressureMonitor().measure(-1)
    with pytest.raises(ValueError, match="negative"):
        ContextPressureMonitor().measure(1, model_reported_tokens=-1)


def test_thresholds_must_rise() -> None:
    for wrong in ({"yellow": 0.8}, {"red": 1.1}, {"yellow": 0.0}, {"orange": 0.95}):
        with pytest.raises(ValueError, match="each larger than the one before"):
            Thresholds(**wrong)


def test_small_windows_are_held_tighter_and_large_ones_looser_but_for_red() -> None:
    small, usual, large = Thresholds.suited_to(8_000), Thresholds.suited_to(128_000), Thresholds.suited_to(200_000)
    assert usual == Thresholds()
    assert (small.yellow, small.orange, small.red) < (usual.yellow, usual.orange, usual.red)
    assert small.red < usual.red
    assert large.yellow > usual.yellow
    assert large.orange > usual.orange
    assert large.red == usual.red
    assert Thresholds.suited_to(32_000) == small


def test_the_trimmed_mean_of_few_is_their_mean() -> None:
    assert trimmed_mean([]) == 0
    assert trimmed_mean([1, 2, 6]) == 3
    assert trimmed_mean([1, 2, 2, 2, 1_000]) == 2
    assert trimmed_mean([0, 0] + [10] * 16 + [500, 900]) == 10


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=60), st.sampled_from([8_000, 128_000, 1_000_000]))
def test_any_measurement_gives_a_consistent_reading(counts: list[int], window: int) -> None:
    for reading in readings(counts, max_context_tokens=window):
        assert reading.velocity_tokens_per_turn >= 0
        if reading.turns_until_red is not None:
            turns = reading.turns_until_red
            assert 0 <= turns.least <= turns.likely <= turns.most
            assert (turns.likely == 0) == (reading.zone is RED) or turns.likely < 0.1


@pytest.mark.parametrize(("step", "is_spike"), [(2_990, False), (3_000, False), (3_010, True)])
def test_a_spike_is_more_than_three_times_the_baseline(step: int, is_spike: bool) -> None:
    seen: list[float] = []
    monitor = ContextPressureMonitor(on_velocity_spike=lambda size, baseline, reading: seen.append(size))
    for number in range(8):
        monitor.measure(1_000 * number)
    monitor.measure(7_000 + step)
    assert seen == ([step] if is_spike else [])
