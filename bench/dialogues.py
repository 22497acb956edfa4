"""How well search finds the turns that answer a question on long dialogues, as LoCoMo asks them (data fetched apart).

Each of the ten dialogues is a memory of its own: a learning for each turn, all of one agent, at the time at which the
session began. Recall is the share of a question's evidence among the first ten results. What can be tuned was tuned on
every second dialogue, and the others confirm it.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.world import MEMCTL, NOW, World
from memctl.search import ranking
from memctl.store import load
from memctl.store.memory import open_memory

FOLDER = "data/multimodal_dialog/locomo10_v2"  # in data/locomo10.zip of snap-research/locomo
_DEPTHS = (1, 5, 10, 20)
_NUMBER = re.compile(r"D\d+:\d+")


class Dialogue(msgspec.Struct, frozen=True):
    """Turns as (id, time, text), and questions with the ids of the turns that answer them."""

    turns: tuple[tuple[str, str, str], ...]
    questions: tuple[tuple[str, frozenset[str]], ...]


def table(here: World, data: str) -> bool:
    """Print the table; `data` is the folder with the dialogues, "" if there is none."""
    files = sorted((Path(data) / FOLDER).glob("*.json")) if data else []
    if not files:
        print(f"\nDialogues: left out, there is no {FOLDER} (make bench DATA=FOLDER)")
        return True
    print("\nDialogues, evidence among the first results" + "".join(f"{f'@{depth}':>8}" for depth in _DEPTHS))
    found = [_recall(here, file) for file in files]
    for name, rows in (("half to choose", found[::2]), ("half to report", found[1::2]), ("all", found)):
        shares = [share for dialogue in rows for share in dialogue]
        means = [sum(share[depth] for share in shares) / len(shares) for depth in range(len(_DEPTHS))]
        print(f"  {name:<20}{len(shares):>6,} questions      " + "".join(f"{mean:>8.3f}" for mean in means))
    return True


def read(file: Path) -> Dialogue:
    """Return a dialogue of LoCoMo; questions without evidence among the turns are left out."""
    values = json.loads(file.read_text(encoding="utf-8"))
    turns = tuple(_turns(values))
    known = {name for name, _, _ in turns}
    asked = []
    for question in values["qa"]:
        evidence = {name for text in question.get("evidence", ()) for name in _NUMBER.findall(str(text))} & known
        if evidence:
            asked.append((question["question"], frozenset(evidence)))
    return Dialogue(turns, tuple(asked))


def _turns(values: dict[str, object]) -> Iterator[tuple[str, str, str]]:
    number = 1
    while f"session_{number}_date_time" in values:
        begun = time.strptime(str(values[f"session_{number}_date_time"]), "%I:%M %p on %d %B, %Y")
        turns = values.get(f"session_{number}") or ()
        assert isinstance(turns, (list, tuple))
        for turn in turns:
            image = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            said = f"{turn['speaker']}: {turn.get('text') or turn.get('clean_text', '')}{image}"
            yield turn["dia_id"], time.strftime("%Y-%m-%dT%H:%M:%SZ", begun), said
        number += 1


def _recall(here: World, file: Path) -> list[tuple[float, ...]]:
    """Return for each question of a dialogue the share of its evidence among the first results, by depth."""
    dialogue = read(file)
    repository = here.folder / f"dialogue-{file.stem}"
    here.git(here.folder, "init", "-q", str(repository))
    here.run([MEMCTL, "init"], repository)
    lines = [
        json.dumps({"memory_type": "learning", "title": name, "lesson": text, "timestamp": begun, "agent_id": "bench"})
        for name, begun, text in dialogue.turns
    ]
    here.run([MEMCTL, "import", "-"], repository, "\n".join(lines))
    snapshot = load.disk(open_memory(repository, os.environ))
    found = []
    for question, evidence in dialogue.questions:
        titles = [result.title for result in ranking.search(snapshot, question, NOW, most=max(_DEPTHS))]
        found.append(tuple(len(evidence.intersection(titles[:depth])) / len(evidence) for depth in _DEPTHS))
    return found
