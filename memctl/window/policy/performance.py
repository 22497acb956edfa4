"""How a model does as its context grows, by what a transcript tells (rules.md#quality).

Time is from the line before an answer to the answer, which has the time of a tool or of a user in it only where the
host notes no line of theirs. An error is a call of a tool that failed: a path that is not there, a text that does not
match. Neither the quality nor the consistency of answers is in a transcript: they need a judge, and are not measured.

The requests of a session are put into three parts of the same number by the size of their context. In 58 real sessions
of 30 requests and more the median time was 3.6, 3.5 and 3.7 s in them, and 3.1, 5.8 and 6.0 % of the calls failed; one
session has a drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from statistics import median

import msgspec

from memctl.transcript.window import Window

NOT_MEASURED = ("response quality", "consistency")
_FEWEST = 30  # requests from which on a session has parts
_DROP = 2.0  # times the errors of the smallest contexts, or the time, in the largest: the model does worse; ours
_FEWEST_FAILED = 5  # calls, below which a rate is chance


class Part(msgspec.Struct, frozen=True):
    """Requests of a similar size: their number, the median of their tokens and of their seconds (None: no times), and
    the calls whose results they got, with those that failed."""

    requests: int
    tokens: int
    seconds: float | None
    results: int
    failed: int

    @property
    def error_rate(self) -> float | None:
        return self.failed / self.results if self.results else None


class Performance(msgspec.Struct, frozen=True):
    """The parts of a session from the smallest contexts to the largest; none of too few requests."""

    parts: tuple[Part, ...]
    not_measured: tuple[str, ...] = NOT_MEASURED

    @property
    def drop(self) -> str:
        """In what the model does worse in the largest contexts than in the smallest, "" if in nothing."""
        if not self.parts:
            return ""
        first, last = self.parts[0], self.parts[-1]
        found = []
        before, after = first.error_rate or 0.0, last.error_rate or 0.0
        if last.failed >= _FEWEST_FAILED and after >= _DROP * before:
            found.append(f"failed calls {before:.0%} -> {after:.0%}")
        if first.seconds and last.seconds and last.seconds >= _DROP * first.seconds:
            found.append(f"seconds {first.seconds:.1f} -> {last.seconds:.1f}")
        return ", ".join(found)


def measure(window: Window) -> Performance:
    """Measure the requests of a session."""
    rows = list(zip_longest(window.requests, window.asked, window.times, window.results))
    if len(rows) < _FEWEST:
        return Performance(())
    rows.sort(key=lambda row: row[0])
    third = len(rows) / 3
    return Performance(tuple(_part(rows[round(third * n) : round(third * (n + 1))]) for n in range(3)))


def _part(rows: Sequence[tuple[int, str, str, tuple[int, int] | None]]) -> Part:
    waits = [seconds for _, asked, answered, _ in rows if (seconds := _between(asked, answered)) is not None]
    counts = [given for *_, given in rows if given]
    return Part(
        len(rows),
        round(median(tokens for tokens, *_ in rows)),
        round(median(waits), 1) if waits else None,
        sum(results for results, _ in counts),
        sum(failed for _, failed in counts),
    )


def _between(asked: str | None, answered: str | None) -> float | None:
    """Return seconds between two moments; None if one is none, or they are the wrong way round."""
    try:
        begin, end = (datetime.fromisoformat((moment or "").replace("Z", "+00:00")) for moment in (asked, answered))
        seconds = (end - begin).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None
