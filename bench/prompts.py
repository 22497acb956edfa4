"""What a prompt is told (`hooks/recall.py`): of labelled prompts how many get the one record that answers them.

bench/labelled/prompts.jsonl has prompts that one record answers, prompts that nothing answers, and prompts on decisions
that were rejected or superseded; its README says how they were written. Every second one of each kind is of the half
to report. Each is asked in a session of its own. A prompt is answered rightly if the record is among what is said, and
wrongly if anything is said although nothing answers it, or only something else.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench import imported
from bench.world import MEMCTL, NOW, World
from memctl.hooks import recall
from memctl.record.snapshot import Snapshot
from memctl.search import ranking, relevance
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.store.session_dir import SessionDir

_FOLDER = Path(__file__).parent / "labelled"
_CHARACTERS = 4  # a token
_VERDICTS = (relevance.HIT, relevance.WEAK, relevance.NOTHING)


class Prompt(msgspec.Struct, frozen=True):
    """A prompt, the name of the record that answers it ("" for none), and the status that the record has, if closed."""

    prompt: str
    record: str = ""
    status: str = ""


def table(here: World, data: str) -> bool:
    """Print the table; `data` is the folder with the real records, "" if there is none."""
    prompts = msgspec.json.Decoder(Prompt).decode
    known = [prompts(line) for line in (_FOLDER / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    is_closed = [bool(one.status) for one in known]
    closed = [one for one, is_ in zip(known, is_closed, strict=True) if is_]
    rest = [one for one, is_ in zip(known, is_closed, strict=True) if not is_]
    print("\nPrompts, one a session: right, silent, wrong; records named, tokens of an answer")
    if imported.are_at_hand(data):
        repository = _repository(here, "prompts")
        imported.fill(here, repository, data)
        _rows("on 478 imported records", repository, rest)
    else:
        print("  real records: left out, they are not at hand (make bench DATA=FOLDER)")
    repository = _repository(here, "prompts-closed")
    here.run([MEMCTL, "import", "-"], repository, "\n".join(_labelled({one.record: one.status for one in closed})))
    _rows("on 240 labelled records", repository, closed)
    if imported.are_at_hand(data):
        _verdicts({"imported.jsonl": here.folder / "prompts", "queries.jsonl": repository})
    return True


def _repository(here: World, name: str) -> Path:
    repository = here.folder / name
    here.git(here.folder, "init", "-q", str(repository))
    here.run([MEMCTL, "init"], repository)
    return repository


def _labelled(statuses: Mapping[str, str]) -> list[str]:
    """The labelled records as lines to import, some with a status of their own."""
    lines = []
    for line in (_FOLDER / "documents.jsonl").read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        values["memory_type"] = values.pop("type")
        if values["id"] in statuses:
            values["status"] = statuses[values["id"]]
        lines.append(json.dumps(values))
    return lines


def _rows(where: str, repository: Path, prompts: Sequence[Prompt]) -> None:
    memory = open_memory(repository, {**os.environ, "MEMCTL_DATE": NOW})
    names = _names(load.disk(memory))
    groups: dict[tuple[str, int], list[tuple[bool, str]]] = defaultdict(list)
    seen: dict[str, int] = defaultdict(int)
    for number, one in enumerate(prompts):
        kind = one.status or ("with a record" if one.record else "without")
        folder = SessionDir(Path(repository) / ".git/bench", str(number))
        said = recall.find(lambda: memory, folder, one.prompt, "claude")
        text = json.loads(said)[0] if said else ""
        is_right = bool(one.record) and any(identifier in text for identifier in names[one.record])
        groups[kind, seen[kind] % 2].append((is_right, text))
        seen[kind] += 1
    print(where)
    for half, name in enumerate(("half to choose", "half to report")):
        for kind in seen:
            _row(f"{name}, {kind}", groups[kind, half], set().union(*names.values()))


def _verdicts(memories: Mapping[str, Path]) -> None:
    """Print the verdicts on labelled queries in the memory that answers them, and in one that does not."""
    snapshots = {name: load.disk(open_memory(path, os.environ)) for name, path in memories.items()}
    print("verdicts on searches: " + ", ".join(_VERDICTS))
    for half, title in enumerate(("half to choose", "half to report")):
        for is_own in (True, False):
            found = []
            for name, snapshot in snapshots.items():
                other = next(one for one in snapshots if (one == name) is is_own)
                queries = (_FOLDER / other).read_text(encoding="utf-8").splitlines()[half::2]
                asked = [values for values in map(json.loads, queries) if not _is_about_places(values)]
                found += [_verdict(snapshot, values["query"]) for values in asked]
            shares = " ".join(f"{found.count(verdict) / len(found):>7.3f}" for verdict in _VERDICTS)
            print(f"  {title}, {'answered' if is_own else 'not answered'}: {len(found)} {shares}")


def _is_about_places(values: Mapping[str, Any]) -> bool:
    """Whether only a page, a session or a checkpoint answers, which the memory lacks."""
    return all(name.startswith(("§", "session:")) or "-w" in name for name in values["relevant"])


def _verdict(snapshot: Snapshot, query: str) -> str:
    found = ranking.search(snapshot, query, NOW, most=10)
    return relevance.verdict(snapshot, query, found, snapshot.texts.substitutes(query))


def _row(name: str, answers: Sequence[tuple[bool, str]], identifiers: set[str]) -> None:
    right = sum(is_right for is_right, _ in answers)
    silent = sum(not text for _, text in answers)
    texts = [text for _, text in answers if text]
    named = sum(sum(identifier in text for identifier in identifiers) for text in texts)
    counts = f"{right:>4}{silent:>4}{len(answers) - right - silent:>4} of {len(answers)}"
    many = max(len(texts), 1)
    print(f"  {name:<36}{counts}; {named / many:.1f}, {sum(map(len, texts)) / many / _CHARACTERS:.0f}")


def _names(snapshot: Snapshot) -> dict[str, list[str]]:
    """The ids of the records, by the names that prompts have for them: their own ids, too."""
    names: dict[str, list[str]] = defaultdict(list)
    for record in snapshot.records:
        names[record.id].append(record.id)
        text = snapshot.read(record.path)
        if imported.is_imported(text):
            names[imported.name_of(text)].append(record.id)
    return names
