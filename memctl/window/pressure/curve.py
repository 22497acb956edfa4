"""How the context grew: what each request of a session had, and where it was compacted.

A transcript says so itself, in the usage of its answers; of bare messages it is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from memctl.transcript.window import Compaction, Window
from memctl.window.messages.content import ContentBlock
from memctl.window.pressure.monitor import CLIENT_ESTIMATED, MODEL_REPORTED, USUAL_GROWTH, trimmed_mean

_FEWEST_REQUESTS = 8  # of a session whose growth tells something
_FEWEST_SESSIONS = 5  # of which a median tells something


class Curve(msgspec.Struct, frozen=True):
    """Tokens of each request, and where the context was compacted.

    `beginning` is the text that the first request is known to have had, `times` are those of the requests if known.
    """

    points: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    beginning: str = ""
    source: str = MODEL_REPORTED
    times: tuple[str, ...] = ()

    @property
    def segments(self) -> list[Sequence[int]]:
        """The points between compactions."""
        cuts = [0, *(compaction.at for compaction in self.compactions), len(self.points)]
        return [self.points[start:end] for start, end in pairwise(cuts)]

    @property
    def growth(self) -> float | None:
        """The tokens that a request of the whole session added, as a trimmed mean; None of too few requests."""
        steps = [after - before for part in self.segments for before, after in pairwise(part) if after >= before]
        return trimmed_mean(steps) if len(steps) >= _FEWEST_REQUESTS else None


def usual_growth(sessions: Iterable[Curve]) -> float:
    """Return the tokens that a request adds by the median of a user's sessions; USUAL_GROWTH while there are few."""
    found = [growth for session in sessions if (growth := session.growth) is not None]
    return float(round(median(found))) if len(found) >= _FEWEST_SESSIONS else float(USUAL_GROWTH)


def of_transcript(window: Window) -> Curve:
    """Return the curve that a transcript reports."""
    return Curve(window.requests, window.compactions, window.beginning, times=window.times)


def of_blocks(found: Sequence[ContentBlock], overhead: int = 0) -> Curve:
    """Return the curve of a conversation that nobody reported on: what had come together by the end of each turn."""
    ends: dict[int, int] = {}
    tokens = overhead
    for block in found:
        tokens += block.token_count
        ends[block.turn_created] = tokens
    points = tuple(ends[turn] for turn in sorted(ends) if turn > 0) or ((tokens,) if found else ())
    return Curve(points, source=CLIENT_ESTIMATED)
