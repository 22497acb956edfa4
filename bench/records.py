"""Records to fill a memory with: varied text from a made-up vocabulary, always the same for the same number."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from bench.world import NOW

_DAYS = 730
_FRESH_DAYS = 45  # what is younger is mostly still open
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
_TAGS = ("api", "auth", "build", "cache", "ci", "database", "docs", "frontend", "latency", "queue", "search", "tests")
_AGENTS = ("ada", "claude", "codex", "grace", "linus")
_PREFIXES = {"decision": "DEC", "issue": "ISS", "state": "STA", "learning": "LRN"}
_SHARES = {"decision": 30, "issue": 35, "state": 20, "learning": 15}
_OPEN = {"decision": "accepted", "issue": "open", "state": "active", "learning": "active"}
_CLOSED = {"decision": "superseded", "issue": "resolved", "state": "done", "learning": "superseded"}
# Content fields of each type, with the number of words; a list has several texts.
_FIELDS: dict[str, dict[str, tuple[int, ...]]] = {
    "decision": {
        "decision": (45,),
        "rationale": (90,),
        "alternatives_considered": (25, 30, 20),
        "expected_impact": (40,),
        "context": (60,),
    },
    "issue": {
        "description": (80,),
        "reproduction_steps": (40,),
        "investigation_status": (60,),
        "attempted_fixes": (25, 25),
        "next_actions": (10, 12),
    },
    "state": {"task_description": (60,), "substeps_completed": (15, 15, 18), "substeps_remaining": (15, 12, 20)},
    "learning": {"lesson": (70,), "context": (60,), "applicability": (40,), "evidence": (50,)},
}
_LISTS = {"alternatives_considered", "attempted_fixes", "next_actions", "substeps_completed", "substeps_remaining"}


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


def query() -> tuple[str, str]:
    """Two words that many records have, but not most."""
    words = Vocabulary(random.Random(1)).words
    return words[90], words[140]


def lines(count: int) -> Iterator[str]:
    """`count` records as JSON Lines, oldest first, as `memctl import` reads them."""
    chance = random.Random(1)
    vocabulary = Vocabulary(chance)
    end = datetime.datetime.fromisoformat(NOW.replace("Z", "+00:00"))
    ages = sorted((chance.uniform(0, _DAYS * 86_400) for _ in range(count)), reverse=True)
    numbers: Counter[str] = Counter()
    for age in ages:
        kind = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
        moment = end - datetime.timedelta(seconds=age)
        series = f"{_PREFIXES[kind]}-{moment:%Y-%m-%d}"
        numbers[series] += 1
        values = _record(chance, vocabulary, kind, age / 86_400)
        values |= {"id": f"{series}-{numbers[series]:03d}", "timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}
        yield msgspec.json.encode(values).decode()


def _record(chance: random.Random, vocabulary: Vocabulary, kind: str, age: float) -> dict[str, Any]:
    is_open = chance.random() < (0.8 if age < _FRESH_DAYS else 0.25)
    values: dict[str, Any] = {
        "memory_type": kind,
        "title": " ".join(vocabulary.take(chance.randint(4, 9))).capitalize()[:100].rstrip(),
        "status": (_OPEN if is_open else _CLOSED)[kind],
        "importance": chance.choices(range(1, 11), (1, 2, 4, 7, 10, 9, 7, 5, 2, 1))[0],
        "tags": sorted(chance.sample(_TAGS, chance.randint(0, 4))),
        "section": f"§2.{chance.randint(1, 12)}",
        "agent_id": chance.choice(_AGENTS),
        "code_refs": [f"src/{vocabulary.take(1)[0]}.py" for _ in range(chance.randint(0, 2))],
        "is_archived": age > _FRESH_DAYS and chance.random() < 0.2,
    }
    if kind == "issue":
        values["severity"] = chance.choices(("critical", "high", "medium", "low"), (1, 4, 9, 6))[0]
    if kind == "state":
        values["completion_percentage"] = chance.randint(0, 95) if is_open else 100
    return values | {name: _content(vocabulary, name, sizes) for name, sizes in _FIELDS[kind].items()}


def _content(vocabulary: Vocabulary, name: str, sizes: Sequence[int]) -> str | list[str]:
    texts = [vocabulary.prose(size) for size in sizes]
    return texts if name in _LISTS else texts[0]
