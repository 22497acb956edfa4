"""Records to fill a memory with: varied texts, links and references, always the same for the same number."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench import pages
from bench.pages import DETAILS, SECTIONS
from bench.vocabulary import Vocabulary
from bench.world import NOW

_DAYS = 730
_FRESH_DAYS = 45  # what is younger is mostly still open
NEAR = 50  # records back to which one may refer
_PLACES = (60, 35, 5)  # shares of the records that belong to a section, to a page of details, to neither
_CODE = tuple(pages.code())
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


def query() -> tuple[str, str]:
    """Two words that many records have, but not most."""
    words = Vocabulary(random.Random(1)).words
    return words[90], words[140]


def values(count: int) -> list[dict[str, Any]]:
    """`count` records, oldest first, each as the object that `memctl import` reads; links stand at both ends."""
    chance = random.Random(1)
    vocabulary = Vocabulary(chance)
    end = datetime.datetime.fromisoformat(NOW.replace("Z", "+00:00"))
    ages = sorted((chance.uniform(0, _DAYS * 86_400) for _ in range(count)), reverse=True)
    numbers: Counter[str] = Counter()
    found: list[dict[str, Any]] = []
    for age in ages:
        kind = chance.choices(list(_SHARES), list(_SHARES.values()))[0]
        moment = end - datetime.timedelta(seconds=age)
        series = f"{_PREFIXES[kind]}-{moment:%Y-%m-%d}"
        numbers[series] += 1
        record = _record(chance, vocabulary, kind, age / 86_400)
        record |= {"id": f"{series}-{numbers[series]:03d}", "timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}"}
        _refer(chance, record, found[-NEAR:])
        found.append(record)
    _supersede(found)
    return found


def given(texts: Sequence[tuple[str, str]], found: Sequence[dict[str, Any]]) -> None:
    """Let records say what somebody wrote: titles and texts in turn, as often as it takes."""
    for number, record in enumerate(found if texts else ()):
        title, text = texts[number % len(texts)]
        record |= {"title": title, next(iter(_FIELDS[record["memory_type"]])): text}


def _record(chance: random.Random, vocabulary: Vocabulary, kind: str, age: float) -> dict[str, Any]:
    is_open = chance.random() < (0.8 if age < _FRESH_DAYS else 0.25)
    record: dict[str, Any] = {
        "memory_type": kind,
        "title": " ".join(vocabulary.take(chance.randint(4, 9))).capitalize()[:100].rstrip(),
        "status": (_OPEN if is_open else _CLOSED)[kind],
        "importance": chance.choices(range(1, 11), (1, 2, 4, 7, 10, 9, 7, 5, 2, 1))[0],
        "tags": sorted(chance.sample(_TAGS, chance.randint(0, 4))),
        "section": chance.choices((chance.choice(SECTIONS), chance.choice(DETAILS), None), _PLACES)[0],
        "agent_id": chance.choice(_AGENTS),
        "code_refs": [_code_reference(chance) for _ in range(chance.randint(0, 2))],
        "is_archived": age > _FRESH_DAYS and chance.random() < 0.2,
    }
    if kind == "issue":
        record["severity"] = chance.choices(("critical", "high", "medium", "low"), (1, 4, 9, 6))[0]
    if kind == "state":
        record["completion_percentage"] = chance.randint(0, 95) if is_open else 100
    return record | {name: _content(vocabulary, name, sizes) for name, sizes in _FIELDS[kind].items()}


def _code_reference(chance: random.Random) -> str:
    """A file of the source tree, sometimes with a line."""
    return chance.choice(_CODE) + (f":{chance.randint(1, 5)}" if chance.random() < 0.25 else "")


def _refer(chance: random.Random, record: dict[str, Any], earlier: Sequence[dict[str, Any]]) -> None:
    """Let a record have to do with an earlier one, name another in its text, and name a file there."""
    if earlier and chance.random() < 0.25:
        other = chance.choice(earlier)
        record.setdefault("relates_to", []).append(other["id"])
        other.setdefault("relates_to", []).append(record["id"])
    first = next(iter(_FIELDS[record["memory_type"]]))
    if earlier and chance.random() < 0.25:
        record[first] += f" Compare {chance.choice(earlier)['id']} and {chance.choice(DETAILS)}."
    if chance.random() < 0.1:
        record[first] += f" It is done in §4.{chance.choice(_CODE)}."


def _supersede(found: Sequence[dict[str, Any]]) -> None:
    """Let the next record of its type take the place of each that is superseded."""
    later: dict[str, dict[str, Any]] = {}
    for record in reversed(found):
        kind = record["memory_type"]
        if record["status"] == "superseded" and kind in later:
            record["superseded_by"] = [later[kind]["id"]]
            later[kind]["supersedes"] = [record["id"]]
        elif record["status"] == "superseded":
            record["status"] = _OPEN[kind]
        later[kind] = record


def _content(vocabulary: Vocabulary, name: str, sizes: Sequence[int]) -> str | list[str]:
    texts = [vocabulary.prose(size) for size in sizes]
    return texts if name in _LISTS else texts[0]
