"""How well `memctl files` finds what a commit changed: its subject as the task, the tree before it, its time as now.

The data are Git histories: the folders of `--data`, each with a clone in which nothing is changed. `patch_history`
makes such a history of a Debian source package. The rule by which commits are taken: not the first one, no merges,
a subject of two words and more, one to ten files changed that were there before (those are to be found; new ones can't
be). Of each history up to 80, at even distances. What can be tuned was tuned on every first of two commits of each
history, which `--half 0` shows; the others are reported.

Measured is the share of those files among the first 5, 10 and 20, and the reciprocal rank of the first one (MRR), as
means over commits. Baselines: FTS5 BM25 over the path three times and the text, with camelCase taken apart, over
exactly the files of that tree; the files changed last; with `--against`, the `files` of another checkout. Intervals
are of the paired difference, 95 % of 2,000 bootstrap samples over commits.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bench.world import World
from memctl.text.words import STOP_WORDS, words_of

_CAP, _MOST_CHANGED = 80, 10  # commits of a history, files of a commit
_LARGEST = 256 * 1024  # bytes of a file that BM25 reads
_SAMPLES = 2_000
_DRIVER = str(Path(__file__).with_name("ranked_files.py"))
_PARTS = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_CAMEL = re.compile(r"[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*")
_METRICS = ("recall@5", "recall@10", "recall@20", "MRR")
NEW, PLAIN, RECENCY, AGAINST = "memctl files", "FTS5 BM25", "recency alone", "memctl files, other checkout"
Quality = tuple[float, ...]


class Task(msgspec.Struct, frozen=True):
    """A commit as a task: its parent, when it was made, its subject, and the files to be found."""

    parent: str
    moment: int
    subject: str
    changed: tuple[str, ...]


def tables(world: World, data: str, against: str, half: int) -> bool:
    """Print the table of one half; returns whether `files` is above BM25 and recency by more than the interval."""
    folders = [folder for folder in sorted(Path(data).iterdir()) if (folder / ".git").is_dir()] if data else []
    if not folders:
        print("\nFiles that a commit changed: left out, there are no histories (make bench DATA=FOLDER)")
        return True
    found: dict[str, dict[str, list[Quality]]] = {}
    for folder in folders:
        for name, qualities in _of_history(world, folder, against, half).items():
            found.setdefault(name, {})[folder.name] = qualities
        print(f"  {folder.name}: {len(found[NEW][folder.name])} commits", file=sys.stderr, flush=True)
    return _show(found, half)


def _of_history(world: World, folder: Path, against: str, half: int) -> dict[str, list[Quality]]:
    """The quality of each ranking for each commit of one history."""
    clone = world.folder / f"history-{folder.name}"
    world.git(world.folder, "clone", "-q", "--no-checkout", str(folder.resolve()), str(clone))
    tasks = tasks_of(world, clone)[half::2]
    rankings = {PLAIN: _Plain(world, clone).ranked(tasks), RECENCY: [_lately(world, clone, task) for task in tasks]}
    rankings[NEW] = _ranked(world, clone, tasks, str(Path(__file__).parents[1]))
    if against:
        other = world.folder / f"other-{folder.name}"  # an index that knows later versions already ranks otherwise
        world.git(world.folder, "clone", "-q", "--no-checkout", str(folder.resolve()), str(other))
        rankings[AGAINST] = _ranked(world, other, tasks, against)
    return {
        name: [_quality(ranked, task.changed) for ranked, task in zip(lists, tasks, strict=True)]
        for name, lists in rankings.items()
    }


def tasks_of(world: World, clone: Path) -> list[Task]:
    """The commits of a history that are taken, oldest first."""
    if world.git(clone, "ls-tree", "HEAD", ".memory"):
        raise RuntimeError(f"{clone.name}: this history has a memory of its own, which would say too much")
    args = (
        "log",
        "--no-merges",
        "--reverse",
        "--no-renames",
        "--name-status",
        "-z",
        "--format=%x01%H%x02%P%x02%ct%x02%s%x02",
    )
    found = []
    for commit in world.git(clone, *args).split("\1")[1:]:
        _, parent, moment, subject, changes = commit.split("\2", 4)
        fields = [field for field in changes.strip("\n").split("\0") if field.strip("\n")]
        pairs = zip(fields[::2], fields[1::2], strict=False)
        changed = tuple(path for status, path in pairs if status.strip("\n") in ("M", "D"))
        said = [word for word in words_of(subject) if word not in STOP_WORDS and len(word) > 1]
        if parent and len(said) > 1 and 1 <= len(changed) <= _MOST_CHANGED:
            found.append(Task(parent.split()[0], int(moment), subject, changed))
    step = max(len(found) / _CAP, 1.0)
    return [found[int(number * step)] for number in range(min(len(found), _CAP))]


def _ranked(world: World, clone: Path, tasks: Sequence[Task], checkout: str) -> list[list[str]]:
    """The files for each task, best first, as the memctl of a checkout ranks them, in one process."""
    # Of a path that is put before it, Python takes the other checkout's package instead of the installed one.
    environment = {**world.environment, "PYTHONPATH": checkout}
    given = "\n".join(json.dumps(msgspec.to_builtins(task)) for task in tasks)
    out = msgspec.structs.replace(world, environment=environment).run(
        [sys.executable, _DRIVER, str(clone)], clone, given
    )
    return [json.loads(line) for line in out.splitlines()]


def _lately(world: World, clone: Path, task: Task) -> list[str]:
    """The files of a tree that were changed last, the latest first."""
    there = set(world.git(clone, "ls-tree", "-r", "-z", "--name-only", task.parent).split("\0"))
    out = world.git(
        clone, "log", "-n1000", "--no-merges", "--no-renames", "--name-only", "-z", "--format=", task.parent
    )
    return [path for path in dict.fromkeys(out.replace("\n", "\0").split("\0")) if path and path in there]


class _Plain:
    """BM25 over the files of one tree after the other."""

    def __init__(self, world: World, clone: Path) -> None:
        self._world = world
        self._clone = clone
        self._rows: dict[str, tuple[str, int]] = {}  # blob and number by path
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )

    def ranked(self, tasks: Sequence[Task]) -> list[list[str]]:
        found = []
        for task in tasks:
            self._take(self._tree(task.parent))
            words = dict.fromkeys(word for word in re.findall(r"\w+", task.subject.lower()) if word not in STOP_WORDS)
            rows = self._database.execute(
                "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank",
                (" OR ".join(f'"{word}"' for word in words),),
            )
            paths = {number: path for path, (_, number) in self._rows.items()}
            found.append([paths[number] for (number,) in rows])
        return found

    def _tree(self, commit: str) -> dict[str, str]:
        entries = (
            line.split("\t", 1)
            for line in self._world.git(self._clone, "ls-tree", "-r", "-z", commit).split("\0")
            if line
        )
        return {path: about.split()[2] for about, path in entries if about.startswith("100")}

    def _take(self, tree: Mapping[str, str]) -> None:
        """Put the files of a tree in, and take out what it does not have."""
        for path, (blob, number) in list(self._rows.items()):
            if tree.get(path) != blob:
                self._database.execute("DELETE FROM texts WHERE rowid = ?", (number,))
                del self._rows[path]
        new = [path for path in tree if path not in self._rows]
        for path, content in zip(new, _blobs(self._world, self._clone, [tree[path] for path in new]), strict=True):
            if b"\0" not in content[:8_000] and len(content) <= _LARGEST:
                name = _apart(path)
                text = "\n".join((name, name, name, _apart(content.decode(errors="replace"))))
                row = self._database.execute("INSERT INTO texts VALUES (?)", (text,))
                self._rows[path] = tree[path], row.lastrowid or 0


def _blobs(world: World, clone: Path, names: Sequence[str]) -> list[bytes]:
    import subprocess

    out = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=clone, env=world.environment, input="\n".join(names).encode(),
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    found, start = [], 0
    for _ in names:
        end = out.index(b"\n", start)
        size = int(out[start:end].split()[2])
        found.append(out[end + 1 : end + 1 + size])
        start = end + size + 2
    return found


def _apart(text: str) -> str:
    """A text with each camelCase word followed by its parts."""
    return re.sub(
        r"[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*", lambda word: " ".join((word[0], *_PARTS.findall(word[0]))), text
    )


def _quality(ranked: Sequence[str], changed: Sequence[str]) -> Quality:
    wanted = set(changed)
    first = next((1 / place for place, path in enumerate(ranked, 1) if path in wanted), 0.0)
    return (*(sum(path in wanted for path in ranked[:depth]) / len(wanted) for depth in (5, 10, 20)), first)


def _show(found: Mapping[str, Mapping[str, list[Quality]]], half: int) -> bool:
    """Print the means, the differences, and recall@10 by history."""
    histories = list(found[NEW])
    flat = {name: [quality for history in histories for quality in by[history]] for name, by in found.items()}
    which = "other half" if half else "half that was used to choose"
    print(f"\nFiles that a commit changed: {len(flat[NEW])} commits of {len(histories)} histories, the {which}")
    print(f"  {'':34}" + "  ".join(f"{name:>9}" for name in _METRICS))
    for name, qualities in flat.items():
        print(f"  {name:34}" + "  ".join(f"{_mean([q[at] for q in qualities]):9.3f}" for at in range(len(_METRICS))))
    is_above = True
    for name in [name for name in flat if name != NEW]:
        print(f"  {NEW} less {name}, with the interval of 95 %")
        for at, metric in enumerate(_METRICS):
            pairs = [new[at] - old[at] for new, old in zip(flat[NEW], flat[name], strict=True)]
            low, high = _interval(pairs)
            print(f"    {metric:32}{_mean(pairs):+.3f}  [{low:+.3f}, {high:+.3f}]")
            is_above = is_above and (low > 0 or metric != "recall@10")
    print("  recall@10 by history" + "".join(f"{history[:10]:>12}" for history in histories))
    for name, by in found.items():
        print(
            f"  {name:20}" + "".join(f"{_mean([q[1] for q in by[history]]):12.3f}" for history in histories), flush=True
        )
    return is_above


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _interval(differences: Sequence[float]) -> tuple[float, float]:
    chance = random.Random(7)
    means = sorted(_mean(chance.choices(differences, k=len(differences))) for _ in range(_SAMPLES))
    return means[int(_SAMPLES * 0.025)], means[int(_SAMPLES * 0.975)]
