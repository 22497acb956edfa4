"""Drawing a curve: as a line of text, and as an SVG. Compactions are marked, heights are of what fits."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec

from memctl.text.xml import clean
from memctl.window.pressure.curve import Curve
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import Thresholds

MARK = "|"  # a compaction
_NARROWEST = 4  # characters of a window, on average
_STEPS = "▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 900, 320, 70, 40, 20, 40  # of the picture and its margins, in pixels
_MOST_POINTS = 800  # about one a pixel
# Colours that can be told apart on white and on black; the viewer's setting chooses.
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
    """The curve in about so many characters: a full block is `top` tokens. Peaks are never lost.

    Of a session that was compacted very often the last windows are drawn, behind `…`.
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
    """At most so many points, each the largest of those that it stands for."""
    if len(points) <= most:
        return list(points)
    return [max(points[i * len(points) // most : (i + 1) * len(points) // most]) for i in range(most)]


def _step(tokens: int, top: int) -> str:
    return _STEPS[min(tokens * len(_STEPS) // max(top, 1), len(_STEPS) - 1)]


def bar(share: float, width: int = 20) -> str:
    """A bar that is full at 1."""
    filled = min(max(round(share * width), 1 if share > 0 else 0), width)
    return "#" * filled + "." * (width - filled)


class _Scale(msgspec.Struct, frozen=True):
    """Where points (from 0) and tokens stand in the picture, in pixels."""

    points: int
    top: int

    def x(self, point: float) -> float:
        return round(_LEFT + point / max(self.points - 1, 1) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, tokens: float) -> float:
        return round(_HEIGHT - _BOTTOM - tokens / self.top * (_HEIGHT - _TOP - _BOTTOM), 1)


def svg(curve: Curve, limit: Limit, thresholds: Thresholds, title: str) -> str:
    """A picture of the curve with the zones' borders and the compactions, for light and dark pages; well-formed XML."""
    root = ElementTree.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "role": "img"}
    )
    ElementTree.SubElement(root, "title").text = clean(title)
    ElementTree.SubElement(root, "style").text = _STYLE
    _text(root, _LEFT, _TOP - 18, title, {"class": "title"})
    scale = _Scale(len(curve.points), max([limit.usable, *curve.points]))
    right, floor = _WIDTH - _RIGHT, scale.y(0)
    for name in ("yellow", "orange", "red"):
        tokens = getattr(thresholds, name) * limit.usable
        _line(root, _LEFT, scale.y(tokens), right, scale.y(tokens), name)
        _text(root, _LEFT - 6, scale.y(tokens) + 4, f"{tokens:,.0f}", {"text-anchor": "end"})
        _text(root, _LEFT + 6, scale.y(tokens) - 4, name, {})
    _line(root, _LEFT, floor, right, floor, "axis")
    _line(root, _LEFT, _TOP, _LEFT, floor, "axis")
    for tokens in (0, scale.top):
        _text(root, _LEFT - 6, scale.y(tokens) + 4, f"{tokens:,}", {"text-anchor": "end"})
    _text(root, _LEFT - 6, _HEIGHT - 12, "tokens", {"text-anchor": "end"})
    for compaction in curve.compactions:
        x = scale.x(max(compaction.at - 0.5, 0))
        _line(root, x, _TOP, x, floor, "compaction")
    start = 0
    for segment in curve.segments:
        _polyline(root, segment, start, scale)
        start += len(segment)
    _text(root, right, _HEIGHT - 12, f"{len(curve.points):,} requests", {"text-anchor": "end"})
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _polyline(root: ElementTree.Element, segment: Sequence[int], start: int, scale: _Scale) -> None:
    """A line through some points, the first of which is number `start`; of many the largest of each pixel's."""
    most = max(_MOST_POINTS * len(segment) // max(scale.points, 1), 1)
    drawn = _thinned(segment, most)
    step = len(segment) / max(len(drawn), 1)
    places = [f"{scale.x(start + i * step)},{scale.y(tokens)}" for i, tokens in enumerate(drawn)]
    if len(places) == 1:
        places *= 2  # a line needs two ends
    if places:
        ElementTree.SubElement(
            root, "polyline", {"class": "curve", "stroke-linecap": "round", "points": " ".join(places)}
        )


def _line(root: ElementTree.Element, x1: float, y1: float, x2: float, y2: float, name: str) -> None:
    ElementTree.SubElement(root, "line", {"class": name, "x1": f"{x1}", "y1": f"{y1}", "x2": f"{x2}", "y2": f"{y2}"})


def _text(root: ElementTree.Element, x: float, y: float, text: str, attributes: dict[str, str]) -> None:
    ElementTree.SubElement(root, "text", {"x": f"{x}", "y": f"{y}", **attributes}).text = clean(text)
