"""Rendering the hierarchy and checking the memory, with more and more records."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import msgspec

from bench import baselines, repositories
from bench.measure import compare, step
from bench.table import Row, show
from bench.world import MEMCTL, PYTHON, World

_LARGEST = 10_000  # records for which the goals are set
_WARM_GOAL = 300.0
_COLD_GOAL = 1.5
_GROWTH_GOAL = 1.3
_READ = (PYTHON, str(baselines.__file__), "read", ".memory")
_PARSE = (PYTHON, str(baselines.__file__), "parse", ".memory")
_CHECK = (MEMCTL, "check")
_RENDER = (MEMCTL, "render")
# What is recorded is important enough to stand on its pages, however many records there are.
_PLACED = ("--section", "2.1", "--importance", "10")
_DECIDE = (MEMCTL, "decide", "Background jobs wait in PostgreSQL", "--rationale", "One system less.", *_PLACED)
_ISSUE = (MEMCTL, "issue", "Version 0", "--severity", "critical", *_PLACED)


class Repetitions(msgspec.Struct, frozen=True):
    """How often to measure what finds everything read and rendered, and what has to read all records."""

    warm: int
    cold: int


def tables(world: World, repetitions: Mapping[int, Repetitions]) -> None:
    """Rendering and checking for each number of records, then recording a decision for all of them side by side."""
    folders = {size: repositories.with_memory(world, size) for size in repetitions}
    for size, folder in folders.items():
        _warm(world, folder, size, repetitions[size].warm)
        _cold(world, folder, size, repetitions[size].cold)
    _deciding(world, folders, max(each.warm for each in repetitions.values()))


def _warm(world: World, folder: Path, size: int, repetitions: int) -> None:
    """What the cache helps."""
    check, render = "memctl check, warm", "memctl page render, nothing stale"
    steps = {"read": step(folder, _READ), check: step(folder, _CHECK), render: step(folder, _RENDER)}
    found = compare(world, steps, repetitions)
    goal = _WARM_GOAL if size == _LARGEST else None
    rows = [Row(check, found[check], found["read"], goal_ms=goal), Row(render, found[render], found["read"])]
    rows += _by_hand(world, folder, repetitions)
    show(f"A hierarchy of {size:,} records, warm", "Python reading all files of the memory", rows)


def _by_hand(world: World, folder: Path, repetitions: int) -> list[Row]:
    """The same after an edit by hand that makes documents stale, which is what `check` then ends with 1 for."""
    record = folder / world.run(_ISSUE, folder).split()[1]
    numbers = count(1)

    def edit() -> None:
        text = re.sub("Version [0-9]+", f"Version {next(numbers)}", record.read_text(encoding="utf-8"))
        record.write_text(text, encoding="utf-8")

    check, render = "memctl check, 1 edited", "memctl page render, 1 edited"
    steps = {
        "read": step(folder, _READ),
        check: step(folder, _CHECK, before=edit, codes=(1,)),
        render: step(folder, _RENDER, before=edit),
    }
    found = compare(world, steps, repetitions)
    world.run((MEMCTL, "commit"), folder)
    return [Row(name, found[name], found["read"]) for name in (check, render)]


def _cold(world: World, folder: Path, size: int, repetitions: int) -> None:
    """What has to read all records."""

    def forget() -> None:
        repositories.forget_caches(folder)

    def unrender() -> None:
        shutil.rmtree(folder / ".memory/docs")

    def start_anew() -> None:
        forget()
        unrender()

    steps = {
        "parse": step(folder, _PARSE),
        "read": step(folder, _READ),
        "memctl check, cold": step(folder, _CHECK, before=forget),
        "memctl check --staged": step(folder, (*_CHECK, "--staged")),
        "memctl page render, docs/ deleted": step(folder, _RENDER, before=unrender),
        "memctl page render, caches too": step(folder, _RENDER, before=start_anew),
    }
    found = compare(world, steps, repetitions, warm_up=0)
    names = [name for name in steps if name.startswith("memctl")]
    goals = {"memctl check, cold": _COLD_GOAL} if size == _LARGEST else {}
    show(
        f"A hierarchy of {size:,} records, cold",
        "Python parsing the front matter of all records with YAML's C loader",
        [Row(name, found[name], found["parse"], goal_ratio=goals.get(name)) for name in names],
    )
    print(f"  reading all files of the memory alone takes {found['read']:,.1f} ms")


def _deciding(world: World, folders: Mapping[int, Path], repetitions: int) -> None:
    """A change renders the documents it touches: how that grows with the records."""
    steps = {str(size): step(folder, _DECIDE) for size, folder in folders.items()}
    found = compare(world, steps, repetitions)
    least = min(folders)
    rows = [
        Row(
            f"with {size:,} records",
            found[str(size)],
            found[str(least)],
            goal_ratio=_GROWTH_GOAL if size == _LARGEST else None,
        )
        for size in folders
    ]
    show("memctl decide --section 2.1, its documents rendered in the same commit", f"with {least:,} records", rows)
