"""The growth of a context: the tokens of each request of a session, and where it was compacted.

A transcript has them in the usage of its answers; for bare messages they are counted.
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
    """The tokens of each request (`points`), and where the context was compacted.

    `beginning` is the part of the first request's text that the transcript has. `source` says whether the model or the
    client counted. `times` are those of the requests, () if unknown.
    """

    points: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    beginning: str = ""
    source: str = MODEL_REPORTED
    times: tuple[str, ...] = ()

    @property
    def segments(self) -> list[Sequence[int]]:
        """The points between compactions: a sequence of tokens for each stretch without one."""
        cuts = [0, *(compaction.at for compaction in self.compactions), len(self.points)]
        return [self.points[start:end] for start, end in pairwise(cuts)]

    @property
    def growth(self) -> float | None:
        """The mean tokens that a request added, without the extremes; None for fewer than 8 steps."""
        steps = [after - before for part in self.segments for before, after in pairwise(part) if after >= before]
        return trimmed_mean(steps) if len(steps) >= _FEWEST_REQUESTS else None


def usual_growth(sessions: Iterable[Curve]) -> float:
    """Return the tokens that a request adds, by the median of the user's sessions; 850 for fewer than five sessions."""
    found = [growth for session in sessions if (growth := session.growth) is not None]
    return float(round(median(found))) if len(found) >= _FEWEST_SESSIONS else float(USUAL_GROWTH)


def of_transcript(window: Window) -> Curve:
    """Return the curve that a transcript reports."""
    return Curve(window.requests, window.compactions, window.beginning, times=window.times)


def of_blocks(found: Sequence[ContentBlock], overhead: int = 0) -> Curve:
    """Return the curve of counted messages: the tokens at the end of each turn.

    `overhead` are the tokens of the request beside those of its blocks.
    """
    ends: dict[int, int] = {}
    tokens = overhead
    for block in found:
        tokens += block.token_count
        ends[block.turn_created] = tokens
    points = tuple(ends[turn] for turn in sorted(ends) if turn > 0) or ((tokens,) if found else ())
    return Curve(points, source=CLIENT_ESTIMATED)


MARK = "|"  # a compaction
_NARROWEST = 4  # characters of a window, on average
_STEPS = "▁▂▃▄▅▆▇█"


def sparkline(curve: Curve, top: int, width: int = 60) -> str:
    """Return the curve as about `width` characters, in which a full block is `top` tokens; peaks stay visible.

    If the session was compacted very often, only the last windows are drawn, after `…`.
    """
    every = curve.segments
    segments = every[-max(width // _NARROWEST, 1) :]
    points = sum(map(len, segments))
    drawn = []
    for segment in segments:
        room = max(1, round(width * len(segment) / points)) if points > width else len(segment)
        drawn.append("".join(_step(tokens, top) for tokens in _thinned(segment, room)))
    return ("…" if len(segments) < len(every) else "") + MARK.join(drawn)


def _thinned(points: Sequence[int], most: int) -> list[int]:
    """At most so many points, each the largest of those in its place."""
    if len(points) <= most:
        return list(points)
    return [max(points[i * len(points) // most : (i + 1) * len(points) // most]) for i in range(most)]


def _step(tokens: int, top: int) -> str:
    return _STEPS[min(tokens * len(_STEPS) // max(top, 1), len(_STEPS) - 1)]


def bar(share: float, width: int = 20) -> str:
    """Return a bar of `width` characters that is full at a share of 1."""
    filled = min(max(round(share * width), 1 if share > 0 else 0), width)
    return "#" * filled + "." * (width - filled)
