"""The performance of a model as its context grows, as far as a transcript shows it (rules.md#quality).

The time of an answer begins at the line before it in the transcript. It includes the time of a tool or of the user only
if the host logs no line for them. An error is a failed call of a tool. The quality and the consistency of answers are
not measured, because they would need a judge.

The requests of a session are ordered by the size of their context, and divided into three parts of equal number. In 58
real sessions of at least 30 requests, the median time in the parts was 3.6, 3.5 and 3.7 s, and 3.1, 5.8 and 6.0 % of
the calls of tools failed. In one of these sessions the performance dropped (`Performance.drop`).
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
    """One of three parts of a session's requests: the small, the middle or the large ones.

    `requests` is their number, `tokens` the median of their sizes, and `seconds` the median of the times until their
    answers; None if the transcript has no times. `results` is the number of calls of tools whose results are in these
    requests, and `failed` the number of these calls that failed.
    """

    requests: int
    tokens: int
    seconds: float | None
    results: int
    failed: int

    @property
    def error_rate(self) -> float | None:
        """The fraction of the calls of tools that failed; None if there were no calls."""
        return self.failed / self.results if self.results else None


class Performance(msgspec.Struct, frozen=True):
    """The performance of a model in three parts of a session, from its smallest contexts to its largest.

    `parts` is () for a session of fewer than 30 requests, which are too few to compare. `not_measured` names what would
    need a judge.
    """

    parts: tuple[Part, ...]
    not_measured: tuple[str, ...] = NOT_MEASURED

    @property
    def drop(self) -> str:
        """A text on how much worse the model did with the largest contexts than with the smallest; "" if it did not.

        For example "failed calls 3% -> 8%, seconds 3.6 -> 8.0". A value is named if it at least doubled.
        """
        if not self.parts:
            return ""
        first, last = self.parts[0], self.parts[-1]
        changes = []
        before, after = first.error_rate or 0.0, last.error_rate or 0.0
        if last.failed >= _FEWEST_FAILED and after >= _DROP * before:
            changes.append(f"failed calls {before:.0%} -> {after:.0%}")
        if first.seconds and last.seconds and last.seconds >= _DROP * first.seconds:
            changes.append(f"seconds {first.seconds:.1f} -> {last.seconds:.1f}")
        return ", ".join(changes)


def measure(window: Window) -> Performance:
    """Return how fast a model answered and how many of its calls failed in one session, by the size of the context.

    `window` has the session's requests, as read from a transcript.
    """
    rows = list(zip_longest(window.requests, window.asked, window.times, window.results))
    if len(rows) < _FEWEST:
        return Performance(())
    rows.sort(key=lambda row: row[0])
    third = len(rows) / 3
    return Performance(tuple(_part(rows[round(third * n) : round(third * (n + 1))]) for n in range(3)))


def _part(rows: Sequence[tuple[int, str, str, tuple[int, int] | None]]) -> Part:
    waits = [seconds for _, begun, ended, _ in rows if (seconds := _between(begun, ended)) is not None]
    counts = [count for *_, count in rows if count]
    return Part(
        len(rows),
        round(median(tokens for tokens, *_ in rows)),
        round(median(waits), 1) if waits else None,
        sum(results for results, _ in counts),
        sum(failed for _, failed in counts),
    )


def _between(begun: str | None, ended: str | None) -> float | None:
    """Return seconds; None if one moment is none, or they are the wrong way round."""
    try:
        begin, end = (datetime.fromisoformat((moment or "").replace("Z", "+00:00")) for moment in (begun, ended))
        seconds = (end - begin).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None
