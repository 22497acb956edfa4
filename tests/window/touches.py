"""Which file a session touches next: a working set that drifts, and changes when the task does.

Measured in 279 real sessions: of the files read after a compaction 75 % were known before it, and 96 % of these were
among the last 15 touched. How many reads "next" are, and how the ranks are spread below 15, nobody wrote down. So the
model is the plainest one that has both rates, and `test_generated.py` holds it to them.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tests.window.invented import Request

LISTED = 15  # files of the list that covers 96 %
FILE_TOOLS = ("Read", "Edit", "Write")
_SET = 10  # files at work at a time
_DRIFT = 0.30  # a touch brings another file into the set, and what was touched longest ago leaves it
_NEW = 0.26  # of those are files that nobody knew yet; the others were at work before
_FAR = 0.37  # of those that come back, any file that is known; the others are of the latest
_EVEN = 6  # the larger, the less a file at work depends on when it was touched last
_TASK = 70  # touches of a task in the mean; then half of the set is replaced at once


class Touches:
    """Draws the files of one session; `unknown` gives a file that was never touched."""

    def __init__(self, chance: random.Random, unknown: Callable[[], str]) -> None:
        self.known: list[str] = []  # the latest first
        self._random = chance
        self._unknown = unknown
        self._at_work: list[str] = []  # the latest first

    def next(self) -> str:
        """The file that is touched next."""
        chance = self._random
        is_other = not self._at_work or chance.random() < _DRIFT
        path = self._another() if is_other else _recent(chance, self._at_work)
        if chance.random() < 1 / _TASK:
            del self._at_work[_SET // 2 :]
        self._touch(path)
        return path

    def said(self) -> str:
        """A file that is talked about: as the one that is touched next is drawn, of those that are known."""
        chance = self._random
        if not self.known:
            return self.next()
        return self._back() if chance.random() < _DRIFT * (1 - _NEW) else _recent(chance, self._at_work)

    def _another(self) -> str:
        return self._unknown() if not self.known or self._random.random() < _NEW else self._back()

    def _back(self) -> str:
        """A file from before: mostly one of the latest."""
        if self._random.random() < _FAR:
            return self._random.choice(self.known)
        return _recent(self._random, self.known[:LISTED])

    def _touch(self, path: str) -> None:
        for files in (self.known, self._at_work):
            if path in files:
                files.remove(path)
            files.insert(0, path)
        del self._at_work[_SET:]


def _recent(chance: random.Random, files: Sequence[str]) -> str:
    """One of some files, the latest first, which is somewhat likelier than the next."""
    return chance.choices(files, cum_weights=_weights(len(files)))[0]


@functools.cache
def _weights(number: int) -> list[float]:
    return list(accumulate(1 / (rank + _EVEN) for rank in range(number)))


class Reads(msgspec.Struct, frozen=True):
    """Reads after compactions of what the new window has not read yet: all, of files known before, of the last 15."""

    number: int
    known: int
    listed: int


def reads(requests: Iterable[Request], most: int | None = None) -> Reads:
    """The first reads of each file in each window after a compaction; of each window at most `most`."""
    touched: dict[str, None] = {}  # the latest last
    before: list[str] = []
    fresh: set[str] | None = None
    number = known = listed = 0
    for request in requests:
        if request.is_compacted:
            before, fresh = list(reversed(touched)), set()
        for step in request.steps:
            if step.tool not in FILE_TOOLS:
                continue
            path = step.arguments["file_path"]
            if fresh is not None and step.tool == "Read" and path not in fresh and (most is None or len(fresh) < most):
                number, known = number + 1, known + (path in before)
                listed += path in before[:LISTED]
            if fresh is not None:
                fresh.add(path)
            touched.pop(path, None)
            touched[path] = None
    return Reads(number, known, listed)
