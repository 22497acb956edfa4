"""Numbering of ids, such as DEC-2025-11-04-001, by type and day.

All worktrees of a clone share the counters, and the caller holds the lock for writes.

The counters are a cache: if they are missing, the last number of a day is found in the files of every worktree and in
every commit since that day, on any branch. High numbers, which `memctl renumber` gives to records whose ids collide, do
not count.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.kinds import Kind
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text import timestamps

_FILE = "sequence.json"
_SLACK_DAYS = 2.0  # a clock may be wrong, and commit dates are another machine's
_SINGLE_SEARCHES = 4  # an import may bring records of a thousand days
_MOST_SERIES = 400  # series to remember: a year of days of one type


class Sequence:
    """A generator of ids. Numbers are used up only by `save`, so that a refused write uses none."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._counters = _read(memory)
        self._searched = 0
        self._found_numbers: dict[str, int] = {}
        self._all_highest: dict[str, int] | None = None
        self._has_new = False

    def take(self, kind: Kind, day: str, count: int = 1) -> list[str]:
        """Return the next `count` ids of a type on a day (`YYYY-MM-DD`), such as ["DEC-2025-11-04-001"].

        Raises MemctlError if the day has too few numbers left.
        """
        series = f"{kind.prefix}-{day}"
        known = self._counters.get(series)
        if known is None:
            if series not in self._found_numbers:
                self._found_numbers[series] = self._search(kind, day)
            known = self._found_numbers[series]
        last = max(known, _highest(self._memory.folder / kind.folder / day[:7], series))
        free = max(0, ids.FIRST_DERIVED - 1 - last)
        if count > free:
            raise MemctlError(
                f"the ids that begin with {series} are used up: {count:,} needed, {free:,} free",
                "give some of the records a --timestamp on another day",
            )
        self._counters[series] = last + count
        self._has_new = True
        return [ids.record_id(kind, day, number) for number in range(last + 1, last + count + 1)]

    def _search(self, kind: Kind, day: str) -> int:
        """Return the highest number that any worktree or branch has in a series.

        After four searches for single series, one search finds the numbers of all series.
        """
        self._searched += 1
        if self._searched <= _SINGLE_SEARCHES:
            return _search(self._memory, kind, day)
        if self._all_highest is None:
            self._all_highest = _highest_ever(self._memory)
        return self._all_highest.get(f"{kind.prefix}-{day}", 0)

    def save(self) -> None:
        """Store the last number of each type and day: only now the numbers that `take` returned are used up."""
        if self._has_new:
            newest = sorted(self._counters, key=lambda series: series[4:])[-_MOST_SERIES:]
            text = msgspec.json.encode({series: self._counters[series] for series in newest}).decode()
            files.replace_private(self._memory.repository.shared / _FILE, text)


def _read(memory: Memory) -> dict[str, int]:
    try:
        return msgspec.json.decode((memory.repository.shared / _FILE).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError):
        return {}


def _search(memory: Memory, kind: Kind, day: str) -> int:
    from memctl.git import history  # only if no number is known

    series = f"{kind.prefix}-{day}"
    below = f"{memory.prefix}/{kind.folder}/{day[:7]}"
    since = timestamps.days_before(f"{day}T00:00:00Z", _SLACK_DAYS)
    names = history.paths_ever(memory.repository, below, since, everywhere=True)
    here = (_highest(top / below, series) for top in memory.repository.worktrees())
    return max(_highest_of([name.rpartition("/")[2] for name in names], series), *here)


def _highest_ever(memory: Memory) -> dict[str, int]:
    from memctl.git import history

    names = history.paths_ever(memory.repository, memory.prefix, everywhere=True)
    for top in memory.repository.worktrees():
        names += [str(file) for file in (top / memory.prefix).glob("*/*/*.md")]
    highest: dict[str, int] = {}
    for name in names:
        if identifier := ids.id_in_path(name):
            series, number = ids.series(identifier)
            if number < ids.FIRST_DERIVED:
                highest[series] = max(highest.get(series, 0), number)
    return highest


def _highest(folder: Path, series: str) -> int:
    try:
        return _highest_of([file.name for file in folder.iterdir()], series)
    except OSError:
        return 0


def _highest_of(names: list[str], series: str) -> int:
    return max((number for number in ids.used_numbers(names, series) if number < ids.FIRST_DERIVED), default=0)
