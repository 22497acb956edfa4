"""A made-up vocabulary, so that benchmarks search and count tokens in text like no other that a cache might know."""

from __future__ import annotations

import random
from itertools import accumulate

_WORDS = 4_000
_ONSETS = (
    "b",
    "br",
    "c",
    "cl",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
)
_VOWELS = ("a", "e", "i", "o", "u", "ea", "io", "ou")
_ENDINGS = ("", "n", "r", "s", "t", "l", "ck", "nd", "st", "ing", "er")


class Vocabulary:
    """Words of which few are frequent and most are rare, as in real text."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        words: dict[str, None] = {}
        while len(words) < _WORDS:
            syllables = chance.choices((1, 2, 3), (2, 5, 3))[0]
            parts = [chance.choice(_ONSETS) + chance.choice(_VOWELS) for _ in range(syllables)]
            words["".join(parts) + chance.choice(_ENDINGS)] = None
        self.words = list(words)
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(_WORDS)))

    def take(self, count: int) -> list[str]:
        return self._chance.choices(self.words, cum_weights=self._weights, k=count)

    def prose(self, count: int) -> str:
        """About `count` words in sentences."""
        words = self.take(max(3, int(count * self._chance.uniform(0.6, 1.4))))
        sentences = []
        while words:
            length = self._chance.randint(6, 16)
            sentences.append(" ".join(words[:length]).capitalize() + ".")
            words = words[length:]
        return " ".join(sentences)
