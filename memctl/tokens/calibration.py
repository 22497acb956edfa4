"""Calibration: a factor per model, learnt from the counts that the model itself reported (rules.md#token-counting).

A moving average of reported / estimated, begun at 1: the family's own factor is what is known before anything was
reported. It follows from the observations alone, so learning the same twice changes nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memctl.store import observations
from memctl.store.cache import digest
from memctl.store.observations import Observation
from memctl.tokens.families import Family

RATE = 0.2  # of the way to each new ratio
LEAST, MOST = 0.5, 2.0  # what a ratio may be, whatever was reported
GOAL = 0.10  # the error beyond which an estimate is to be adjusted; rules.md#token-counting
_ENOUGH = 10  # observations from which on their errors say more than the family's band
_BAND = 0.9  # of the observations are within the error band


class Learnt(msgspec.Struct, frozen=True):
    """A model's ratio to what its family's factors say, and how far counts are off, as fractions of what was reported.

    `error` is the error band: nine in ten observations are within it, as with the bands of the families. `before` and
    `after` are the medians of the absolute errors without the ratio and with it. `kinds` are those observed: for others
    the band is no smaller than the family's.
    """

    model: str
    ratio: float
    observations: int
    error: float
    before: float
    after: float
    kinds: frozenset[str] = frozenset()
    reported: dict[bytes, int] = {}

    def error_of(self, kind: str, family: Family) -> float:
        """The error band for a kind of text."""
        return self.error if kind in self.kinds else max(self.error, family.error)

    def reported_of(self, text: str) -> int | None:
        """What the model reported of this very text, if it did."""
        return self.reported.get(digest_of(text))


def digest_of(text: str) -> bytes:
    """By what an observation of a whole text is known."""
    return digest(text, "observation")


def name_of(model: str) -> str:
    """A model's name without what does not change how it counts: vendor, date, the version of a deployment."""
    name = model.strip().lower().rpartition("/")[2]
    name = re.sub(r"^(?:[a-z]{2,6}\.)?anthropic\.", "", name)
    return re.sub(r"(?:[-@]20\d{6}|-latest)?(?:-v\d+(?::\d+)?)?$", "", name)


def learn(model: str, found: Sequence[Observation], family: Family) -> Learnt | None:
    """What the observations of a model, in their order, teach; None if there are none."""
    if not found:
        return None
    ratio = 1.0
    for one in found:
        ratio += RATE * (min(max(one.reported / one.estimate, LEAST), MOST) - ratio)
    ratio = round(ratio, 4)
    before, after = _errors(found, 1.0), _errors(found, ratio)
    band = max(after[math.ceil(_BAND * len(after)) - 1], 0.01)
    return Learnt(
        model=model,
        ratio=ratio,
        observations=len(found),
        error=round(band if len(found) >= _ENOUGH else max(band, family.error), 3),
        before=_median(before),
        after=_median(after),
        kinds=frozenset(kind for one in found for kind in one.kinds.split()),
        reported={one.digest: one.reported for one in found},
    )


def _errors(found: Sequence[Observation], ratio: float) -> list[float]:
    return sorted(abs(one.estimate * ratio / one.reported - 1) for one in found)


def _median(errors: Sequence[float]) -> float:
    middle = len(errors) // 2
    return round(errors[middle] if len(errors) % 2 else (errors[middle - 1] + errors[middle]) / 2, 4)


def learnt(folder: Path, model: str, family: Family) -> Learnt | None:
    """What was learnt of a model in a clone, by the folder that its worktrees share; None if nothing was."""
    name = name_of(model)
    return learn(name, observations.of(folder, name), family)
