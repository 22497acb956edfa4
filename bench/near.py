"""Repeats and opposites of real records, planted among them: which are named when they are written (`search/near.py`).

The records are in the folder of real data. bench/labelled/near.jsonl has what is written, in other words: repeats and
opposites of some of the records, and texts that are only about the same. An ordinary write is the beginning of an issue
that is not in the memory; all records are open there, whatever their status was.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from bench import imported
from bench.world import MEMCTL, World
from memctl.record.kinds import DECISION
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.near import Near, nearest
from memctl.store import load
from memctl.store.memory import open_memory

_LABELLED = Path(__file__).parent / "labelled" / "near.jsonl"
_SENTENCES, _LONGEST = 3, 320  # of an issue's text that make an ordinary write, and its characters
_SAME = 0.8  # the share of equal letters in titles from which on an issue repeats another one


def table(here: World, data: str) -> bool:
    """Print how many planted texts and ordinary ones are named; return True, since there is no goal for so few."""
    if not imported.are_at_hand(data):
        print("\nNear records: left out, real records are not at hand (make bench DATA=FOLDER)")
        return True
    labels = [json.loads(line) for line in _LABELLED.read_text("utf-8").splitlines()]
    source = _repository(here, "near-source")
    imported.fill(here, source, data)
    records = _read(load.disk(open_memory(source, os.environ)))
    wanted = {label["name"] for label in labels}
    others = [name for name, row in records.items() if name not in wanted and row["memory_type"] != DECISION.name]
    kept_out = set(others[::3])
    base = _repository(here, "near-base")
    file = here.folder / "near-base.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for name, row in records.items() if name not in kept_out), "utf-8")
    here.run([MEMCTL, "import", str(file)], base)
    snapshot = load.disk(open_memory(base, os.environ))
    right, total = _count(snapshot, records, labels, kept_out)
    print(f"\nNear records: named of what was written to {len(snapshot.records):,} records")
    for kind in ("repeat", "opposite", "related", "ordinary"):
        print(f"  {kind:9} {right[kind]:4} of {total[kind]}")
    print(f"  opposites that may contradict, it says: {right['contradicts']}")
    return True


def _count(
    snapshot: Snapshot, records: dict[str, dict[str, str]], labels: list[dict[str, str]], kept_out: set[str]
) -> tuple[Counter[str], Counter[str]]:
    """Return by kind how many of the written texts are answered by the right record, and how many there are."""
    by_title = {record.title: record for record in snapshot.records}
    right, total = Counter[str](), Counter[str]()
    for label in labels:
        target = by_title.get(records[label["name"]]["title"]) if label["name"] else None
        found = _written(snapshot, target or snapshot.records[0], label["title"], label["text"])
        total[label["kind"]] += 1
        right[label["kind"]] += found is not None and found.record == (target or found.record)
        right["contradicts"] += found is not None and found.may_contradict and label["kind"] == "opposite"
    issue = next(record for record in snapshot.records if record.memory_type != DECISION.name)
    for name in sorted(kept_out):
        title, text = records[name]["title"], records[name]["body"]
        if not any(SequenceMatcher(None, title, known).ratio() >= _SAME for known in by_title):
            total["ordinary"] += 1
            right["ordinary"] += _written(snapshot, issue, title, _beginning(text)) is not None
    return right, total


def _repository(here: World, name: str) -> Path:
    folder = here.folder / name
    here.run(["git", "init", "-q", str(folder)])
    here.git(folder, "commit", "-q", "--allow-empty", "-m", "empty")
    here.run([MEMCTL, "init"], folder)
    return folder


def _read(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    """Return the records as rows of an import, by name; without their status they are open."""
    rows = {}
    for record in snapshot.records:
        row = {"memory_type": record.memory_type, "title": record.title, "body": snapshot.body(record)}
        rows[imported.name_of(snapshot.read(record.path))] = row | ({"severity": "low"} if record.severity else {})
    return rows


def _written(snapshot: Snapshot, like: Record, title: str, text: str) -> Near | None:
    """Return what a new record of the type and status of `like` is told when it is written."""
    new = msgspec.structs.replace(like, id="DEC-2030-01-01-001", title=title, relates_to=[], supersedes=[], blocks=[])
    return nearest(snapshot, msgspec.structs.replace(new, blocked_by=[], parent_memory_id=None), text)


def _beginning(text: str) -> str:
    plain = re.sub(r"(?m)^\\?#+.*$", "", text).strip()
    return " ".join(re.split(r"(?<=[.!?])\s", plain)[:_SENTENCES])[:_LONGEST]
