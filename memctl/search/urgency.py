"""The order of urgency, in which `next` and packs take records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from memctl.record.filters import severity_rank
from memctl.record.pages import code_path
from memctl.record.record import Record
from memctl.text import timestamps

LATEST_COMMITS = 20  # whose files are in work
_NEAR = 2  # additional weight of a record near the work, about one class of importance
_OTHERS = 2  # rank of severities below critical and high, whose records are ordered by weight
Near = Callable[[Record], bool]


def by_urgency(
    records: Iterable[Record], near: Near, weight: Callable[[Record], float] = lambda record: record.importance
) -> list[Record]:
    """Return records, the most urgent first.

    Critical records come first, then those of high severity. Among these and among all others the order is by weight,
    to which nearness to the work (`near`) adds 2, then by severity, then by date, the newest first.
    """

    def order(record: Record) -> tuple[int, float, int]:
        severity = severity_rank(record)
        return min(severity, _OTHERS), -weight(record) - (_NEAR if near(record) else 0), severity

    newest = sorted(records, key=lambda record: (record.timestamp, record.id, record.path), reverse=True)
    return sorted(newest, key=order)


def near_work(active: Iterable[Record], files: Collection[str], today: Collection[str]) -> Near:
    """Return a test for records near the work: made today, in the section of an active state, or on a changed file.

    `files` are the paths of changed files, and `today` those of records made today.
    """
    sections = {record.place for record in active if record.place}
    return lambda record: (
        record.path in today or record.place in sections or any(code_path(ref) in files for ref in record.code_refs)
    )


def recorded_today(records: Iterable[Record], now: str) -> set[str]:
    """Return the paths of records that were recorded in the last 24 hours; imported ones don't count.

    `now` is the current time, such as "2025-11-04T14:32:00Z".
    """
    since = timestamps.days_before(now, 1)
    return {record.path for record in records if record.timestamp >= since and record.recorded is not None}
