"""The dates by which `memctl maintain` judges the age of records: their own, and those of commits.

A record's own dates may be older than the record here: an import keeps them. And a clock that is wrong for a while
would make every record old. So the commits that first had a record, and that archived it, count as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from memctl.git import history
from memctl.record.record import Record
from memctl.store.memory import Memory
from memctl.text import timestamps

Action = Literal["archive", "delete", "date"]
_ARCHIVED = "^(title|is_archived|archived_at):"  # lines of a front matter: a new record has the first of them
_LONGEST_PAUSE = 730  # days between two commits: memories rest for a year, clocks jump by decades (chosen by us)


class RetentionDates(msgspec.Struct, frozen=True):
    """When commits first had a record, when they last archived it, and when there were commits at all.

    `changed` has the dates of the first and last commit that wrote such lines, by the record's path; `commits` are the
    dates of HEAD's history, sorted. All are canonical times. Without `is_known`, only the records' own dates count.
    """

    now: str
    is_known: bool = False
    changed: Mapping[str, tuple[str, str]] = {}
    commits: Sequence[str] = ()

    def age(self, record: Record) -> float:
        """Return the age of a record in days, since its timestamp or since its first commit, whichever is later."""
        return self._days(record, record.timestamp, 0)

    def archived_for(self, record: Record) -> float:
        """Return for how many days a record has been archived by its date and by its commits; 0 if it is not."""
        return self._days(record, record.archived_at, 1) if record.is_archived and record.archived_at else 0

    def newness(self, record: Record, action: Action) -> str:
        """Return why an action is not due for a record that its own dates make old enough."""
        if record.path not in self.changed:
            return "no commit has it yet"
        first, last = self.changed[record.path]
        return f"a commit archived it on {last[:10]}" if action == "delete" else f"its first commit is of {first[:10]}"

    def doubt(self, since: str) -> str:
        """Return why the time from `since` until now may be a mistake of the clock, "" if there is no sign of it."""
        between = self.commits[bisect_left(self.commits, since) : bisect_left(self.commits, self.now)]
        for before, after in pairwise((since, *between, self.now)) if self.is_known else ():
            if timestamps.days_between(before, after) > _LONGEST_PAUSE:
                return f"no commit has a date between {before[:10]} and {after[:10]}, so a clock may have been wrong"
        return ""

    def _days(self, record: Record, own: str, last: int) -> float:
        committed = self.changed.get(record.path, (self.now, self.now))[last] if self.is_known else own
        return timestamps.days_between(max(own, committed), self.now)


def read_dates(memory: Memory, paths: Sequence[str]) -> RetentionDates:
    """Return the dates of the commits that concern the records at `paths`, which are relative to `.memory/`."""
    changed = history.dates_of_lines(memory.repository, map(memory.tracked, paths), _ARCHIVED) if paths else {}
    dates = {path: changed[memory.tracked(path)] for path in paths if memory.tracked(path) in changed}
    return RetentionDates(memory.now, True, dates, history.commit_dates(memory.repository))
