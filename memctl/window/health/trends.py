"""Where metrics are going: a straight line through their recent values, by least squares.

By the first and the last value alone, one odd value at either end would be a trend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from memctl.window.health.alerts import FEWEST, METRICS, HealthSnapshot

RECENT = 10  # snapshots; rules.md#window-health
RISING, FALLING, STABLE, INSUFFICIENT = "rising", "falling", "stable", "insufficient_data"
_SURE = 2.0  # standard errors by which a slope must differ from none


class Trend(msgspec.Struct, frozen=True):
    """A metric's course: its direction, the slope per turn, the mean, and of how many values."""

    direction: str
    slope: float
    mean: float | None
    samples: int


def trends(history: Sequence[HealthSnapshot]) -> dict[str, Trend]:
    """The course of each metric over the last ten snapshots; `insufficient_data` under five measured values."""
    recent = history[-RECENT:]
    return {
        name: trend([(turn, value) for turn, one in enumerate(recent) if (value := one.value(name)) is not None])
        for name in METRICS
    }


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """The course of some points (turn, value). It rises or falls if the slope is two standard errors from none."""
    count = len(points)
    mean_y = sum(y for _, y in points) / count if count else None
    if mean_y is None or count < FEWEST:
        return Trend(INSUFFICIENT, 0.0, mean_y, count)
    mean_x = sum(x for x, _ in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    error = math.sqrt(rest / (count - 2) / spread)
    direction = STABLE
    if abs(slope) > max(_SURE * error, 1e-9 * max(abs(mean_y), 1)):
        direction = RISING if slope > 0 else FALLING
    return Trend(direction, round(slope, 6), mean_y, count)
