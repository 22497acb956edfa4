"""The performance of a model as its context grows, as far as a transcript shows it (rules.md#quality).

The time of an answer is counted from the line before it in the transcript. It includes a tool's or a user's time only
where the host logs no line for them. An error is a failed call of a tool. The quality and the consistency of answers
need a judge, and are not measured.

The requests of a session are divided into three parts of equal number, by the size of their context. In 58 real
sessions of at least 30 requests the median time in the parts was 3.6, 3.5 and 3.7 s, and 3.1, 5.8 and 6.0 % of the
calls of tools failed; in one session the performance dropped (`Performance.drop`).
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
    """A third of a session's requests, those of similar size.

    It has the number of requests, the median of their tokens, and the median of the seconds until their answers, None
    if the transcript has no times. `results` is the number of calls of tools whose results are in these requests, and
    `failed` how many of the calls failed.
    """

    requests: int
    tokens: int
    seconds: float | None
    results: int
    failed: int

    @property
    def error_rate(self) -> float | None:
        """The fraction of the calls of tools that failed; None without calls."""
        return self.failed / self.results if self.results else None


class Performance(msgspec.Struct, frozen=True):
    """The performance of a model in three parts of a session, from small contexts to large ones.

    `parts` is () for a session of fewer than 30 requests.
    """

    parts: tuple[Part, ...]
    not_measured: tuple[str, ...] = NOT_MEASURED

    @property
    def drop(self) -> str:
        """The values that at least double from the smallest contexts to the largest; "" if none does.

        For example "failed calls 3% -> 8%, seconds 3.6 -> 8.0".
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
    """Return the performance of a model in the session whose transcript was read into `window`."""
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
    """Return seconds between two moments; None if one is none, or they are the wrong way round."""
    try:
        begin, end = (datetime.fromisoformat((moment or "").replace("Z", "+00:00")) for moment in (begun, ended))
        seconds = (end - begin).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None
