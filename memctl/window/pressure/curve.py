"""The growth of a session's context: the tokens of each request, and where the context was compacted.

A transcript has the tokens of each request, because the model reports them with its answer. For messages without a
transcript, the tokens of their blocks are summed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Any
from xml.etree.ElementTree import Element

import msgspec

from memctl.text import xml
from memctl.transcript.window import Compaction, Window
from memctl.window.messages.content import ContentBlock
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import CLIENT_ESTIMATED, MODEL_REPORTED, USUAL_GROWTH, Thresholds, trimmed_mean

_FEWEST_REQUESTS = 8  # of a session whose growth tells something
_FEWEST_SESSIONS = 5  # of which a median tells something


class Curve(msgspec.Struct, frozen=True):
    """How a session's context grew: the tokens of each request (`points`), and where it was compacted.

    `beginning` is the text of the first request, as far as the transcript has it. `source` says whether the model
    reported the tokens or memctl counted them. `times` are the times of the requests, () if they are not known.
    """

    points: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    beginning: str = ""
    source: str = MODEL_REPORTED
    times: tuple[str, ...] = ()

    @property
    def segments(self) -> list[Sequence[int]]:
        """The tokens of the requests, divided at the compactions: a sequence for each part of the session."""
        cuts = [0, *(compaction.at for compaction in self.compactions), len(self.points)]
        return [self.points[start:end] for start, end in pairwise(cuts)]

    @property
    def growth(self) -> float | None:
        """The number of tokens by which a request is usually larger than the one before.

        It is the mean over the session, without the largest and the smallest tenth; None if there are fewer than 8 such
        growths.
        """
        steps = [after - before for part in self.segments for before, after in pairwise(part) if after >= before]
        return trimmed_mean(steps) if len(steps) >= _FEWEST_REQUESTS else None


def usual_growth(sessions: Iterable[Curve]) -> float:
    """Return the number of tokens that a request usually adds: the median over the user's sessions.

    A session with too few requests (whose `growth` is None) does not count. If fewer than five sessions count, the
    result is 850.
    """
    growths = [growth for session in sessions if (growth := session.growth) is not None]
    return float(round(median(growths))) if len(growths) >= _FEWEST_SESSIONS else float(USUAL_GROWTH)


def of_transcript(window: Window) -> Curve:
    """Return the growth of a session's context, with the tokens and compactions that its transcript reports."""
    return Curve(window.requests, window.compactions, window.beginning, times=window.times)


def of_blocks(blocks: Sequence[ContentBlock], overhead: int = 0) -> Curve:
    """Return the growth of a context without a transcript: the tokens at the end of each turn, summed over blocks.

    `overhead` is the number of tokens of the request that belong to no block.
    """
    ends: dict[int, int] = {}
    tokens = overhead
    for block in blocks:
        tokens += block.token_count
        ends[block.turn_created] = tokens
    points = tuple(ends[turn] for turn in sorted(ends) if turn > 0) or ((tokens,) if blocks else ())
    return Curve(points, source=CLIENT_ESTIMATED)


MARK = "|"  # a compaction
_NARROWEST = 4  # characters of a window, on average
_STEPS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 900, 320, 70, 40, 20, 40  # of the picture and its margins, in pixels
_MOST_POINTS = 800  # about one a pixel
# Colours that differ on white and on black; the viewer's setting chooses.
_STYLE = """
svg { color-scheme: light dark; background: #ffffff; font: 12px sans-serif; }
text { fill: #24292f; } .title { font-size: 14px; font-weight: bold; }
.axis { stroke: #8c959f; } .curve { fill: none; stroke: #0969da; stroke-width: 1.5; }
.compaction { stroke: #8250df; stroke-dasharray: 4 3; }
.yellow { stroke: #bf8700; } .orange { stroke: #bc4c00; } .red { stroke: #cf222e; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; } text { fill: #e6edf3; } .axis { stroke: #7d8590; } .curve { stroke: #58a6ff; }
.compaction { stroke: #bc8cff; } .yellow { stroke: #d29922; } .orange { stroke: #db6d28; } .red { stroke: #f85149; }
}
"""


def sparkline(curve: Curve, top: int, width: int = 60) -> str:
    """Return a line of block characters that shows how a session's context grew, such as `▁▃▆█|▂▄`.

    `top` is the number of tokens that `█` stands for, and `width` is about how many characters the line has. A
    compaction is drawn as `|`. If there are more requests than characters, a character shows the largest of several
    requests. If the session was compacted very often, only the last windows are drawn, after `…`.
    """
    every = curve.segments
    segments = every[-max(width // _NARROWEST, 1) :]
    points = sum(map(len, segments))
    drawn = []
    for segment in segments:
        room = max(1, round(width * len(segment) / points)) if points > width else len(segment)
        heights = (tokens * len(_STEPS) // max(top, 1) for tokens in _thinned(segment, room))
        drawn.append("".join(_STEPS[min(height, len(_STEPS) - 1)] for height in heights))
    return ("…" if len(segments) < len(every) else "") + MARK.join(drawn)


def _thinned(points: Sequence[int], most: int) -> list[int]:
    if len(points) <= most:
        return list(points)
    return [max(points[i * len(points) // most : (i + 1) * len(points) // most]) for i in range(most)]


def bar(share: float, width: int = 20) -> str:
    """Return a bar of `width` characters that shows a fraction from 0 to 1: `##..` for 0.5 and a width of 4."""
    filled = min(max(round(share * width), 1 if share > 0 else 0), width)
    return "#" * filled + "." * (width - filled)


def svg(curve: Curve, limit: Limit, thresholds: Thresholds, title: str) -> str:
    """Return a picture, as SVG, of how a session's context grew, for light and dark pages.

    It shows the tokens of each request, the compactions, and where the zones begin. `limit` has the tokens that can be
    filled, and `thresholds` the fractions of these at which the zones begin.
    """
    points, top = len(curve.points), max([limit.usable, *curve.points])
    right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def x(point: float) -> float:
        return round(_LEFT + point / max(points - 1, 1) * (right - _LEFT), 1)

    def y(tokens: float) -> float:
        return round(floor - tokens / top * (floor - _TOP), 1)

    def line(name: str, x1: float, y1: float, x2: float, y2: float) -> tuple[str, dict[str, Any], str]:
        return "line", {"class": name, "x1": x1, "y1": y1, "x2": x2, "y2": y2}, ""

    def text(words: str, x: float, y: float, **more: str) -> tuple[str, dict[str, Any], str]:
        return "text", {"x": x, "y": y, **more}, words

    def label(words: str, y: float, x: float = _LEFT - 6) -> tuple[str, dict[str, Any], str]:
        return text(words, x, y, **{"text-anchor": "end"})

    parts = [("title", {}, title), ("style", {}, _STYLE), text(title, _LEFT, _TOP - 18, **{"class": "title"})]
    for name in ("yellow", "orange", "red"):
        tokens = getattr(thresholds, name) * limit.usable
        parts += [line(name, _LEFT, y(tokens), right, y(tokens)), label(f"{tokens:,.0f}", y(tokens) + 4)]
        parts += [text(name, _LEFT + 6, y(tokens) - 4)]
    parts += [line("axis", _LEFT, floor, right, floor), line("axis", _LEFT, _TOP, _LEFT, floor)]
    parts += [label(f"{tokens:,}", y(tokens) + 4) for tokens in (0, top)]
    parts += [label("tokens", _HEIGHT - 12), label(f"{points:,} requests", _HEIGHT - 12, right)]
    for place in (x(max(compaction.at - 0.5, 0)) for compaction in curve.compactions):
        parts.append(line("compaction", place, _TOP, place, floor))
    start = 0
    for segment in curve.segments:
        drawn = _thinned(segment, max(_MOST_POINTS * len(segment) // max(points, 1), 1))
        step = len(segment) / max(len(drawn), 1)
        places = [f"{x(start + number * step)},{y(tokens)}" for number, tokens in enumerate(drawn)]
        ends = places * 2 if len(places) == 1 else places  # a line needs two ends
        shape = {"class": "curve", "stroke-linecap": "round", "points": " ".join(ends)}
        parts += [("polyline", shape, "")] if places else []
        start += len(segment)
    box = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img"}
    root = Element("svg", box)
    for tag, attributes, words in parts:
        xml.add(root, tag, words, **{name: str(value) for name, value in attributes.items()})
    return xml.indented(root)
