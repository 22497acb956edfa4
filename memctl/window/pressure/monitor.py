"""Context pressure: how full a window is, how fast it fills, and which zone it is in (rules.md#window-pressure).

In this module a step is the number of tokens by which the window grew from one request to the next. The velocity is the
mean of the last steps, without the largest and the smallest. A spike is one unusually large step, such as 15,000 tokens
after steps of 2,000; it is judged by itself, because a mean would hide it. A compaction is not a step, so the velocity
is never negative.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

import msgspec

from memctl.record import argument_checks
from memctl.tokens import model_windows

DEFAULT_WINDOW = 128_000  # tokens; rules.md#window-pressure
VELOCITY_WINDOW = 5  # steps; rules.md#window-pressure
SPIKE = 3.0  # times the baseline; rules.md#window-pressure
ALPHA = 0.3  # of the moving average that is the baseline; rules.md#window-pressure
# Of real sessions of a coding agent the growth of all told more than that of one's last 20 requests: weighed as 100
# requests, it gave a median error of 20 % in the half that it was chosen in and of 29 % in the other, where the trimmed
# mean of the 20 alone had 77 %. RANGE of the likely number held 84 and 76 % of the cases (`make bench`, one project).
BURN_TURNS, USUAL_WEIGHT, RANGE = 20, 100, (0.58, 1.6)
USUAL_GROWTH = 850  # tokens a request of such an agent, until more is known of the user's own sessions; the same data
_TRIM = 0.10  # of the steps, at each end; of 5 to 19 steps one
_FEWEST_TRIMMED = 5
LEAVE = 0.93  # of what can be filled: above it, even compacted, a window is left; rules.md#window-manager
MODEL_REPORTED, CLIENT_ESTIMATED = "model_reported", "client_estimated"
SMALL, LARGE = 32_000, 200_000  # tokens up to which a window is small, and from which it is large


class PressureZone(Enum):
    """A zone, from green to red, that says how full a window is (rules.md#window-pressure)."""

    GREEN = model_windows.GREEN  # nothing to do
    YELLOW = model_windows.YELLOW  # prepare: which blocks could go?
    ORANGE = model_windows.ORANGE  # evict
    RED = model_windows.RED  # evict or compact at once


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The thresholds at which the zones yellow, orange and red begin, as fractions of the tokens that can be filled.

    Raises ValueError unless the thresholds rise from above 0 to at most 1.
    """

    yellow: float = model_windows.YELLOW_AT
    orange: float = model_windows.ORANGE_AT
    red: float = model_windows.RED_AT

    def __post_init__(self) -> None:
        argument_checks.numbers(yellow=self.yellow, orange=self.orange, red=self.red)
        if not 0 < self.yellow < self.orange < self.red <= 1:
            raise ValueError(
                "the thresholds yellow, orange and red must be above 0, at most 1, and each larger than the one before"
            )

    def zone(self, utilization: float) -> PressureZone:
        """Return the zone of a window that is filled to the fraction `utilization`.

        At exactly a threshold the zone is the one that begins there.
        """
        return PressureZone(model_windows.zone_of(utilization, self.yellow, self.orange, self.red))

    @staticmethod
    def suited_to(window: int) -> Thresholds:
        """Return thresholds that suit a window of `window` tokens; they are proposed to the user, and used only if set.

        rules.md#window-pressure demands lower thresholds for small windows, and higher ones for yellow and orange in
        large windows; the numbers are ours. In windows of up to 32,000 tokens each zone begins 10 percentage points
        earlier: a window of 8,000 that is 90 % full has 800 tokens left, and a request adds 1,329 on average. In
        windows of 200,000 tokens or more, yellow begins 10 points later and orange 5. Red does not change: 10 % of
        200,000 tokens are 20,000, and 99 of 100 requests add at most 14,800.
        """
        if window <= SMALL:
            return Thresholds(yellow=0.40, orange=0.65, red=0.80)
        if window >= LARGE:
            return Thresholds(yellow=0.60, orange=0.80, red=0.90)
        return Thresholds()


class Turns(msgspec.Struct, frozen=True):
    """A forecast of how many turns it takes until a window reaches the red zone.

    `likely` is the most likely number. In four of five cases the number is between `least` and `most`.
    """

    least: float
    likely: float
    most: float


class PressureReading(msgspec.Struct, frozen=True):
    """A measurement of a window's pressure: its tokens, its zone, its growth, and a forecast.

    `max_tokens` is the number of tokens that can be filled, and `utilization_pct` is the percentage of it that is
    filled. Two numbers say how fast the window grows, in tokens a turn: `velocity_tokens_per_turn` is the mean of the
    last few turns without the largest and the smallest, and `burn_rate_tokens_per_turn` is the plain mean of the last
    20 turns. `forecast_turns` is how many turns this mean has, which is less than 20 at the beginning.

    `turns_until_red` is the forecast of the turns until the red zone; it is None if the window does not grow, or if its
    growth is not known. It assumes that each turn adds `forecast_tokens_per_turn`. That is an average of the growth in
    these `forecast_turns` turns and of `usual_tokens_per_turn`, which counts as much as 100 turns. If the usual growth
    is not known, `usual_tokens_per_turn` is 0, and only the last turns count.

    `source` says whether the model reported the tokens or memctl counted them. `disagreement` is the fraction by which
    the model's count differs from memctl's, None if only one is known.
    """

    current_tokens: int
    max_tokens: int
    utilization_pct: float
    zone: PressureZone
    velocity_tokens_per_turn: float
    turns_until_red: Turns | None
    burn_rate_tokens_per_turn: float
    forecast_tokens_per_turn: float
    forecast_turns: int
    usual_tokens_per_turn: float
    source: str
    disagreement: float | None = None


ZoneChange = Callable[[PressureZone, PressureZone, PressureReading], None]
VelocitySpike = Callable[[float, float, PressureReading], None]  # the step, the baseline


class ContextPressureMonitor:
    """Watches how full a window is: call `measure` before each request, and `update` for changes in between.

    `max_context_tokens` is the number of tokens that can be filled: the window, or what the host allows
    (`compaction_point`). A step is the growth from one request to the next, in tokens. The velocity is the mean of the
    last `velocity_window_turns` steps, without the largest and the smallest. The turns until the red zone are forecast
    from the last 20 steps and from `usual_growth`, which is how many tokens a turn adds in other sessions; 0 if it is
    not known.

    `on_zone_change` is called with the zone before, the new zone and the reading. `on_velocity_spike` is called if a
    step exceeds `spike_multiplier` times the usual step (`baseline`); its arguments are the step, the usual step and
    the reading. Raises ValueError if `max_context_tokens` or `velocity_window_turns` is not above 0, or
    `spike_multiplier` not above 1.
    """

    def __init__(
        self,
        max_context_tokens: int = DEFAULT_WINDOW,
        velocity_window_turns: int = VELOCITY_WINDOW,
        thresholds: Thresholds | None = None,
        spike_multiplier: float = SPIKE,
        on_zone_change: ZoneChange | None = None,
        on_velocity_spike: VelocitySpike | None = None,
        usual_growth: float = 0,
    ) -> None:
        argument_checks.numbers(max_context_tokens=max_context_tokens, velocity_window_turns=velocity_window_turns)
        argument_checks.numbers(spike_multiplier=spike_multiplier, usual_growth=usual_growth)
        if max_context_tokens <= 0 or velocity_window_turns <= 0 or spike_multiplier <= 1:
            raise ValueError(
                "max_context_tokens and velocity_window_turns must be more than 0, and spike_multiplier more than 1"
            )
        self.max_context_tokens = max_context_tokens
        self.velocity_window_turns = velocity_window_turns
        self.thresholds = thresholds or Thresholds()
        self.spike_multiplier = spike_multiplier
        self.on_zone_change = on_zone_change
        self.on_velocity_spike = on_velocity_spike
        self.usual_growth = usual_growth
        self.reset()

    def reset(self) -> None:
        """Forget all measurements, so that the monitor can be used for a new task."""
        self._steps: deque[int] = deque(maxlen=max(BURN_TURNS, self.velocity_window_turns))
        self._zone = PressureZone.GREEN
        self._baseline = 0.0
        self._current = 0
        self._measured: int | None = None  # what the last `measure` was of
        self._removed = 0  # known to have been taken out since
        self._has_reported_spike = False  # of the step under way
        self.turn_count = 0

    def utilization(self) -> float:
        """Return which fraction of `max_context_tokens` is filled; 0 before the first measurement."""
        return self._current / self.max_context_tokens

    @property
    def zone(self) -> PressureZone:
        """The zone of the last reading; green before the first."""
        return self._zone

    @property
    def baseline(self) -> float:
        """The number of tokens that a turn usually adds to the window; a turn that adds far more is a spike.

        It is 0 before the second measurement.
        """
        return self._baseline

    def measure(self, current_tokens: int, model_reported_tokens: int | None = None) -> PressureReading:
        """Measure how full the window is before a request, and return the reading.

        `current_tokens` is the size of the request as memctl or the host counts it. `model_reported_tokens` is the
        model's own count, if it is known; it replaces `current_tokens`, which may then be 0. Raises ValueError for
        negative numbers.
        """
        argument_checks.numbers(current_tokens=current_tokens)
        argument_checks.numbers_or_none(model_reported_tokens=model_reported_tokens)
        if current_tokens < 0 or (model_reported_tokens or 0) < 0:
            raise ValueError("the number of tokens can't be negative")
        is_reported = model_reported_tokens is not None
        tokens = current_tokens if model_reported_tokens is None else model_reported_tokens
        grown = None if self._measured is None else tokens - self._measured + self._removed
        baseline = self._baseline
        if grown is not None and grown >= 0:  # a window that shrank was compacted, which says nothing of its growth
            self._steps.append(grown)
            self._baseline = ALPHA * self.velocity + (1 - ALPHA) * baseline if baseline else self.velocity
        disagreement = tokens / current_tokens - 1 if is_reported and current_tokens else None
        is_reported_spike = self._has_reported_spike
        self._current = self._measured = tokens
        self._removed, self._has_reported_spike = 0, False
        self.turn_count += 1
        reading = self._make_reading(MODEL_REPORTED if is_reported else CLIENT_ESTIMATED, disagreement)
        self._notify(reading, 0 if is_reported_spike else grown or 0, baseline)
        return reading

    def update(self, tokens: int) -> PressureReading:
        """Add tokens to the last measurement, or subtract them if `tokens` is negative, and return the new reading.

        Call it for a change between two requests, such as an answer or an eviction. The next `measure` computes how
        much the window grew since the last request, as if nothing had been subtracted in between: an eviction must not
        hide the growth.
        """
        argument_checks.numbers(tokens=tokens)
        self._removed -= min(tokens, 0)
        self._current = max(self._current + tokens, 0)
        reading = self._make_reading(CLIENT_ESTIMATED, None)
        grown = self._current - self._measured + self._removed if self._measured is not None else 0
        is_new = not self._has_reported_spike
        self._has_reported_spike = self._has_reported_spike or self._is_spike(grown, self._baseline)
        self._notify(reading, grown if is_new else 0, self._baseline)
        return reading

    @property
    def velocity(self) -> float:
        """The number of tokens that a turn adds to the window, as a mean of the last few turns.

        The largest and the smallest numbers are left out of the mean. It is 0 before the second turn.
        """
        return trimmed_mean(list(self._steps)[-self.velocity_window_turns :])

    @property
    def burn_rate(self) -> float:
        """The number of tokens that a turn adds to the window, as the mean of the last 20 turns.

        If there were fewer turns, all count; it is 0 before the second turn. The number 20 is from
        rules.md#window-health.
        """
        recent = list(self._steps)[-BURN_TURNS:]
        return sum(recent) / len(recent) if recent else 0.0

    def _make_reading(self, source: str, disagreement: float | None) -> PressureReading:
        utilization = self.utilization()
        recent = list(self._steps)[-BURN_TURNS:]
        remaining = math.ceil(self.max_context_tokens * self.thresholds.red) - self._current
        return PressureReading(
            current_tokens=self._current,
            max_tokens=self.max_context_tokens,
            utilization_pct=round(utilization * 100, 1),
            zone=self.thresholds.zone(utilization),
            velocity_tokens_per_turn=round(self.velocity, 1),
            turns_until_red=turns_until(remaining, recent, self.usual_growth),
            burn_rate_tokens_per_turn=round(self.burn_rate, 1),
            forecast_tokens_per_turn=round(expected_growth(recent, self.usual_growth), 1),
            forecast_turns=len(recent),
            usual_tokens_per_turn=self.usual_growth,
            source=source,
            disagreement=None if disagreement is None else round(disagreement, 3),
        )

    def _is_spike(self, step: int, baseline: float) -> bool:
        return baseline > 0 and step > baseline * self.spike_multiplier

    def _notify(self, reading: PressureReading, step: int, baseline: float) -> None:
        before, self._zone = self._zone, reading.zone
        if reading.zone != before and self.on_zone_change:
            self.on_zone_change(before, reading.zone, reading)
        if self._is_spike(step, baseline) and self.on_velocity_spike:
            self.on_velocity_spike(float(step), baseline, reading)


def trimmed_mean(steps: Sequence[int]) -> float:
    """Return the mean of the numbers `steps` without the smallest and the largest tenth; 0 if there are none.

    At least one number is left out at each end; but with fewer than 5 numbers all count.
    """
    cut = max(1, int(len(steps) * _TRIM)) if len(steps) >= _FEWEST_TRIMMED else 0
    middle = sorted(steps)[cut : len(steps) - cut]
    return sum(middle) / len(middle) if middle else 0.0


def expected_growth(steps: Sequence[int], usual: float = 0) -> float:
    """Return the number of tokens that a turn is expected to add to a window.

    `steps` are the numbers that the last turns added, oldest first. `usual` is the number that a turn usually adds,
    which counts as much as 100 turns; 0 means that it is not known, and only `steps` count.
    """
    recent = steps[-BURN_TURNS:]
    mean = trimmed_mean(recent)
    return (mean * len(recent) + usual * USUAL_WEIGHT) / (len(recent) + USUAL_WEIGHT) if usual else mean


def turns_until(remaining: int, steps: Sequence[int], usual: float = 0) -> Turns | None:
    """Return a forecast of how many turns it takes to add `remaining` tokens; None if the window does not grow.

    `steps` are the numbers of tokens that the last turns added, oldest first. `usual` is the number that a turn usually
    adds; 0 means that it is not known, and only `steps` count.
    """
    if remaining <= 0:
        return Turns(0.0, 0.0, 0.0)
    growth = expected_growth(steps, usual)
    if growth <= 0:
        return None
    likely, (least, most) = remaining / growth, RANGE
    return Turns(round(least * likely, 1), round(likely, 1), round(most * likely, 1))
