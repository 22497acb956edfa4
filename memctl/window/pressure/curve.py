"""How the context grew: what each request of a session had, and where it was compacted.

A transcript says so itself, in the usage of its answers; of bare messages it is counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.transcript.window import Compaction, Window
from memctl.window.messages.content import ContentBlock
from memctl.window.pressure.monitor import CLIENT_ESTIMATED, MODEL_REPORTED


class Curve(msgspec.Struct, frozen=True):
    """Tokens of each request, and where the context was compacted.

    `beginning` is the text that the first request is known to have had, `times` are those of the requests if known.
    """

    points: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    beginning: str = ""
    source: str = MODEL_REPORTED
    times: tuple[str, ...] = ()


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
