"""Records of all kinds and ages, most of them at the edges of the tables of rules.md#lifecycle, and what these say.

What is expected is worked out here from the tables alone, without memctl's own rules.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memctl.record import frontmatter
from memctl.record.kinds import KINDS
from memctl.record.record import ORDER

NOW = datetime(2025, 11, 4, 14, 32)
_EDGES = (0, 30, 90, 180, 365)  # days that the tables name
_AGES = [timedelta(days=days, seconds=seconds) for days in _EDGES for seconds in (-1, 0, 1)][1:]
_AGES += [timedelta(days=days) for days in (1, 60, 400, 800)]
_IMPORTANCE = (1, 3, 4, 5, 6, 7, 8, 10)
_SHARES = {"decision": 30, "issue": 30, "state": 20, "learning": 20}

Values = dict[str, Any]


def moment(age: timedelta) -> str:
    return f"{NOW - age:%Y-%m-%dT%H:%M:%SZ}"


def records(count: int, seed: int = 1) -> list[Values]:
    """The front matter of `count` records, oldest first; links stand at both ends."""
    chance = random.Random(seed)
    ages = sorted((chance.choice(_AGES) for _ in range(count)), reverse=True)
    numbers: Counter[str] = Counter()
    found: list[Values] = []
    for number, age in enumerate(ages):
        kind = KINDS[chance.choices(list(_SHARES), list(_SHARES.values()))[0]]
        series = f"{kind.prefix}-{NOW - age:%Y-%m-%d}"
        numbers[series] += 1
        values: Values = {
            "id": f"{series}-{numbers[series]:03d}",
            "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
            "memory_type": kind.name,
            "title": f"Record {number}",
            "status": chance.choice(kind.statuses),
            "importance": chance.choice(_IMPORTANCE),
            "timestamp": moment(age),
            "project_id": "shop",
            "agent_id": "claude",
            "access_count": chance.choice((0, 0, 1)),
            "is_archived": chance.random() < 0.5,
        }
        if values["is_archived"]:
            values["archived_at"] = moment(min(age, chance.choice(_AGES)))
        if chance.random() < 0.1:
            values["expires_at"] = moment(chance.choice((timedelta(days=1), timedelta(), timedelta(seconds=-1))))
        found.append(values)
    _supersede(found)
    for values in chance.sample(found, count // 5):
        _join(values, chance.choice(found), "relates_to", "relates_to")
    return found


def _supersede(found: list[Values]) -> None:
    """Each record that is superseded is so by the next of its type; the last of a type is not."""
    later: dict[str, Values] = {}
    for values in reversed(found):
        successor = later.get(values["memory_type"])
        if values["status"] == "superseded" and successor is not None:
            _join(values, successor, "superseded_by", "supersedes")
        elif values["status"] == "superseded":
            values["status"] = KINDS[values["memory_type"]].statuses[0]
        later[values["memory_type"]] = values


def _join(one: Values, other: Values, relation: str, back: str) -> None:
    if one is not other and other["id"] not in one.get(relation, []):
        one.setdefault(relation, []).append(other["id"])
        other.setdefault(back, []).append(one["id"])


def path_of(values: Values) -> str:
    return f"{KINDS[values['memory_type']].folder}/{values['timestamp'][:7]}/{values['id']}-record.md"


def write(memory: Path, found: list[Values]) -> None:
    for values in found:
        file = memory / path_of(values)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(frontmatter.compose({name: values.get(name) for name in ORDER}, "\n## Context\n\nx\n"))


def expected(found: list[Values]) -> dict[str, str]:
    """What becomes of each record by its id: `deleted`, `archived`, or `kept` as it is."""
    states = sorted((r for r in found if r["memory_type"] == "state"), key=lambda r: (r["timestamp"], r["id"]))
    latest = {group[-1]["id"] for group in (states, [s for s in states if _is_open(s)]) if group}
    protected = {r["id"] for r in found if r["importance"] >= 8 or r["id"] in latest or _is_open_issue(r)}
    goes = {r["id"] for r in found if r["id"] not in protected and _deleted(r)}
    # Of what has weight, only what is closed is archived.
    spared = {r["id"] for r in found if r["id"] in protected and (not _is_closed(r) or r["id"] in latest)}
    closes = {r["id"] for r in found if r["id"] not in spared and not r["is_archived"] and _archived(r)}
    stays = [r for r in found if r["id"] in protected or (_is_open(r) and r["id"] not in goes | closes)]
    held = {name for r in stays for field in ("relates_to", "superseded_by") for name in r.get(field, [])}
    held -= {r["id"] for r in found if r["id"] in held and r["id"] not in goes}
    closes |= {r["id"] for r in found if r["id"] in held and not r["is_archived"]}
    gone = goes - held
    return {r["id"]: "deleted" if r["id"] in gone else "archived" if r["id"] in closes else "kept" for r in found}


def _older(time: str | None, days: int) -> bool:
    return time is not None and NOW - datetime.fromisoformat(time[:-1]) > timedelta(days=days)


def _deleted(r: Values) -> bool:
    rows = (
        r["memory_type"] == "decision" and r["importance"] <= 3 and r["is_archived"] and _older(r["archived_at"], 365),
        r["memory_type"] == "issue"
        and r["status"] in ("resolved", "wontfix")
        and r["is_archived"]
        and _older(r["archived_at"], 180),
        r["memory_type"] == "state"
        and r["status"] == "superseded"
        and r["is_archived"]
        and _older(r["archived_at"], 90),
        r["memory_type"] == "learning"
        and r["access_count"] == 0
        and r["is_archived"]
        and _older(r["timestamp"], 365)
        and _older(r["archived_at"], 365 - 180),
    )
    return any(rows)


def _archived(r: Values) -> bool:
    rows = (
        r["memory_type"] == "decision" and r["importance"] <= 5 and _older(r["timestamp"], 90),
        r["memory_type"] == "decision" and r["status"] == "superseded",
        r["memory_type"] == "issue" and r["status"] in ("resolved", "wontfix") and _older(r["timestamp"], 30),
        r["memory_type"] == "state" and r["status"] == "superseded",
        r["memory_type"] == "learning" and r["access_count"] == 0 and _older(r["timestamp"], 180),
        "expires_at" in r and r["expires_at"] <= moment(timedelta()),
    )
    return any(rows)


def _is_open(r: Values) -> bool:
    return not r["is_archived"] and not _is_closed(r)


def _is_closed(r: Values) -> bool:
    return r["status"] in ("rejected", "deprecated", "superseded", "resolved", "wontfix", "done", "retracted")


def _is_open_issue(r: Values) -> bool:
    return r["memory_type"] == "issue" and r["status"] in ("open", "in-progress")
