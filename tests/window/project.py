"""The files of a made-up project: each with its own lines and names, which stay what they are until it is edited."""

from __future__ import annotations

import random
from collections.abc import Sequence

_WORDS = [
    *("request", "response", "error", "handler", "timeout", "retry", "value", "config", "client", "header", "payload"),
    *("status", "session", "token", "cache", "route", "model", "field", "index", "result", "promise", "callback"),
    *("module", "import", "export", "const", "return", "await", "function", "class", "interface", "type"),
]
_NAMES = 12  # identifiers that a file has of its own
_NAMED = 0.35  # of the lines have one of them; the others are words that any file may have


class SourceFile:
    """A file: `path`, `names` that no other file is likely to have, and lines that are made when somebody looks."""

    def __init__(self, path: str, seed: int, size: int) -> None:
        self.path = path
        self.size = size  # about its characters
        self._random = random.Random(f"{seed} {path}")
        self.names = tuple(self._name() for _ in range(_NAMES))
        self._lines: list[str] = []

    def lines(self, start: int, characters: int) -> tuple[list[str], int]:
        """Its lines from one on, as many as hold so many characters, and the number of the line behind them."""
        found, left, number = list[str](), characters, start
        while left > 0:
            found.append(self.line(number))
            left -= len(found[-1]) + 8  # a reading numbers its lines
            number += 1
        return found, number

    def line(self, number: int) -> str:
        while len(self._lines) <= number:
            self._lines.append(self._line())
        return self._lines[number]

    def edit(self, start: int, old: int, new: int) -> tuple[list[str], list[str]]:
        """Put new lines in the place of some; both are returned."""
        self.line(start + old)
        before, after = self._lines[start : start + old], [self._line() for _ in range(new)]
        self._lines[start : start + old] = after
        return before, after

    def rewrite(self, lines: int) -> list[str]:
        """All of it anew."""
        self._lines = [self._line() for _ in range(lines)]
        self.size = sum(len(line) + 8 for line in self._lines)
        return list(self._lines)

    def _line(self) -> str:
        chance = self._random
        words = chance.choices(_WORDS, k=2 + int(7 * chance.random()))
        if chance.random() < _NAMED:
            words[0] = self.names[int(_NAMES * chance.random())]
        return " ".join(words) + ";"

    def _name(self) -> str:
        first, second, third = self._random.choices(_WORDS, k=3)
        return first + second.capitalize() + third.capitalize()


def numbered(lines: Sequence[str], start: int) -> str:
    """Lines as a reading shows them."""
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, start=start + 1))
