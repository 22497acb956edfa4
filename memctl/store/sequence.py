"""Numbering of ids, such as DEC-2025-11-04-001, by type and day; in a repository with a remote also by the clone's tag.

All worktrees of a clone share the counters and the tag, and the caller holds the lock for writes.

The counters are a cache: if they are missing, the last number of a day is found in the files of every worktree and in
every commit since that day, on any branch. High numbers, which `memctl renumber` gives to records whose ids collide, do
not count.

Of n clones two draw the same tag with a probability of 1 - e ** (-n * (n - 1) / 666,140), since there are 333,070 tags,
19 * (29 ** 3 - 19 ** 3): 0.014 % of 10 clones, 1.5 % of 100. For two records to have one id, these two clones must also
give records of the same type the same number on the same day, before either has fetched a record of the other.

Without its counters a clone can't tell its records of a tag from another's. So both are in one file, and a clone that
loses it draws another tag. A tag is also given up if the Git directory has another inode than at the drawing, since it
is a copy then, and if a record has the tag and a number that this clone has not given. Such a record is looked for in
the month's folder at each write, and among recent commits of all refs before a new series of ids begins and after each
`git fetch`.
"""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

import os
import re
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.kinds import Kind
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.memory_root import LAST
from memctl.text import timestamps

_FILE = "sequence.json"
_SLACK_DAYS = 2.0  # a clock may be wrong, and commit dates are another machine's
_SINGLE_SEARCHES = 4  # an import may bring records of a thousand days
_MOST_SERIES = 400  # series to remember: a year of days of one type
_DAY_END = 15  # characters of DEC-2025-11-04-, behind which a series has its tag


class _State(msgspec.Struct, omit_defaults=True):
    """What is known of the ids that this clone has given: the last number of each series, and the tag.

    `clone` is the inode of the Git directory for which the tag was drawn, "" if that does not matter. `fetched` is the
    time of the last `git fetch` after which records with the tag were looked for.
    """

    counters: dict[str, int] = {}
    tag: str = ""
    clone: str = ""
    fetched: int = 0


class Sequence:
    """A generator of ids. Numbers are used up only by `save`, so that a refused write uses none."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._state = _read(memory)
        self._is_tagged = memory.config.format > 1 and memory.repository.has_remote
        self._found: dict[str, Mapping[str, int]] = {}
        self._all_highest: Mapping[str, int] | None = None
        self._last_id = ""

    def take(self, kind: Kind, day: str, count: int = 1) -> list[str]:
        """Return the next `count` ids of a type on a day (`YYYY-MM-DD`), such as ["DEC-2025-11-04-001"].

        Raises MemctlError if the day has too few numbers left.
        """
        start = f"{kind.prefix}-{day}"
        here = _highest_in(self._memory.folder / kind.folder / day[:7], start)
        tag = self._tag(kind, day, here) if self._is_tagged else ""
        series = f"{start}-{tag}" if tag else start
        known = self._state.counters.get(series)
        if known is None:
            known = 0 if tag else self._search(kind, day).get(series, 0)
        last = max(known, here.get(series, 0))
        free = max(0, ids.FIRST_DERIVED - 1 - last)
        if count > free:
            raise MemctlError(
                f"the ids that begin with {series} are used up: {count:,} needed, {free:,} free",
                "give some of the records a --timestamp on another day",
            )
        self._state.counters[series] = last + count
        taken = [ids.record_id(kind, day, number, tag) for number in range(last + 1, last + count + 1)]
        self._last_id = taken[-1] if taken else self._last_id
        return taken

    def _tag(self, kind: Kind, day: str, here: Mapping[str, int]) -> str:
        state, repository = self._state, self._memory.repository
        clone = str(os.stat(repository.common_dir).st_ino)
        fetched = _modified(repository.git_dir / "FETCH_HEAD")
        is_own = bool(state.tag) and state.clone in ("", clone)
        seen = [*here.items()]
        if not is_own or fetched != state.fetched or f"{kind.prefix}-{day}-{state.tag}" not in state.counters:
            seen += self._search(kind, day).items()
        taken = {series[_DAY_END:] for series, number in seen if number > state.counters.get(series, 0)}
        state.clone, state.fetched = clone, fetched
        if not is_own or state.tag in taken:
            taken |= {state.tag, *(series[_DAY_END:] for series in _highest(_record_files(self._memory.folder, "*")))}
            drawn = (_draw(self._memory, attempt) for attempt in count())
            state.tag = next(tag for tag in drawn if tag and tag not in taken)
            self._write()  # a handoff asks for its id twice, each time with another Sequence
        return state.tag

    def _search(self, kind: Kind, day: str) -> Mapping[str, int]:
        """Return the highest number that any worktree or branch has in each series of a type and day.

        After four searches, one search finds the numbers of all series. With tags every search is for all types, since
        a record of any type may have this clone's tag.
        """
        if self._all_highest is not None:
            return self._all_highest
        start = f"{kind.prefix}-{day}"
        if start not in self._found and len(self._found) < _SINGLE_SEARCHES:
            below = "" if self._is_tagged else f"/{kind.folder}/{day[:7]}"
            since = timestamps.days_before(f"{day}T00:00:00Z", _SLACK_DAYS)
            self._found[start] = _search(self._memory, below, day[:7], since)
        if start not in self._found:
            self._all_highest = _search(self._memory)
            return self._all_highest
        return self._found[start]

    def save(self) -> None:
        """Store the last number of each type and day: only now the ids that `take` returned are used up."""
        if self._last_id:
            self._write()
            files.replace_private(self._memory.private / LAST, self._last_id)

    def _write(self) -> None:
        counters = self._state.counters
        newest = sorted(counters, key=lambda series: series[4:])[-_MOST_SERIES:]
        state = msgspec.structs.replace(self._state, counters={series: counters[series] for series in newest})
        files.replace_private(self._memory.repository.shared / _FILE, msgspec.json.encode(state).decode())


def _draw(memory: Memory, attempt: int) -> str:
    """Return a random tag, such as k7fq; "" if it would have no digit, so that each tag is equally likely.

    With MEMCTL_NOW it depends on the folder's name and on `attempt` alone, so that runs can be repeated.
    """
    where = "/".join((*memory.repository.common_dir.parts[-2:], str(attempt)))
    number, first = divmod(int(memory.new_memory_id(where)[-12:], 16), len(ids.LETTERS))
    places = (number // len(ids.SIGNS) ** place % len(ids.SIGNS) for place in range(3))
    tag = ids.LETTERS[first] + "".join(ids.SIGNS[place] for place in places)
    return tag if re.fullmatch(ids.TAG, tag) else ""


def _read(memory: Memory) -> _State:
    try:
        return msgspec.json.decode((memory.repository.shared / _FILE).read_bytes(), type=_State)
    except (OSError, msgspec.MsgspecError):
        return _State()


def _modified(file: Path) -> int:
    """Return when a file was last changed, in nanoseconds; 0 if there is none."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _search(memory: Memory, below: str = "", month: str = "*", since: str | None = None) -> dict[str, int]:
    from memctl.git import history  # only if no number is known

    names = history.paths_ever(memory.repository, memory.prefix + below, since, everywhere=True)
    for top in memory.repository.worktrees():
        names += _record_files(top / memory.prefix, month)
    return _highest(names)


def _record_files(memory: Path, month: str) -> list[str]:
    return [str(file) for file in memory.glob(f"*/{month}/*.md")]


def _highest_in(folder: Path, start: str) -> dict[str, int]:
    try:
        return _highest(name for name in os.listdir(folder) if name.startswith(start))
    except OSError:
        return {}


def _highest(paths: Iterable[str]) -> dict[str, int]:
    """Derived numbers do not count."""
    highest: dict[str, int] = {}
    for path in paths:
        if identifier := ids.id_in_path(path):
            series, number = ids.series(identifier)
            if number < ids.FIRST_DERIVED:
                highest[series] = max(highest.get(series, 0), number)
    return highest
