"""Ranking the files of a repository of code in three languages that imports itself."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

from bench import baselines, repositories
from bench.measure import compare, step
from bench.table import Row, show
from bench.vocabulary import Vocabulary
from bench.world import MEMCTL, PYTHON, World

FILES = 10_000
_WARM_GOAL = 2_000.0
_PER_FOLDER = 50
_IMPORTS = 6
_FUNCTIONS = (2, 14)  # in a file
_READ = (PYTHON, str(baselines.__file__), "tracked", ".")
_TASK = ("--task", "let module00152 of part003 retry what fails", "--active", "src/part001/module00052.py")
_COMMAND = (MEMCTL, "files", *_TASK)
_CHANGED = "src/part001/module00053.py"


def tables(world: World, files: int, warm: int, cold: int) -> None:
    """The time to rank the files with a cache, after a change, with a pack, and with no cache."""
    folder = _repository(world, files)
    numbers = count(1)

    def edit() -> None:
        (folder / _CHANGED).write_text(f"VALUE = {next(numbers)}\n", encoding="utf-8")

    again, changed, pack = "memctl files, warm", "memctl files, 1 changed", "memctl files --pack, warm"
    steps = {
        "read": step(folder, _READ),
        again: step(folder, _COMMAND),
        changed: step(folder, _COMMAND, before=edit),
        pack: step(folder, (*_COMMAND, "--pack")),
    }
    found = compare(world, steps, warm)
    baseline = "`git ls-files`, and Python reading all of these files"
    goal = _WARM_GOAL if files == FILES else None
    rows = [Row(name, found[name], found["read"], goal_ms=goal) for name in (again, changed, pack)]
    show(f"Ranking {files:,} files, warm", baseline, rows)
    first = "memctl files, cold"
    steps = {
        "read": step(folder, _READ),
        first: step(folder, _COMMAND, before=lambda: repositories.forget_caches(folder)),
    }
    found = compare(world, steps, cold, warm_up=0)
    show(f"Ranking {files:,} files, cold", baseline, [Row(first, found[first], found["read"])])
    index = (folder / ".git/memctl/index.db").stat().st_size
    texts = sum(file.stat().st_size for file in (folder / "src").rglob("*.*"))
    print(f"  the index of what they say: {index / 1e6:.1f} MB for {texts / 1e6:.1f} MB of files")


def _repository(world: World, files: int) -> Path:
    """A repository of so many files of Python, TypeScript and Go, each of which imports others."""
    chance = random.Random(4)
    vocabulary = Vocabulary(chance)
    code = {"go.mod": "module example.org/code\n"}
    for number in range(files - 1):
        suffix = ("py", "py", "ts", "go")[number % 4]
        others = sorted(chance.sample(range(files - 1), _IMPORTS))
        code[_path(number, suffix)] = _module(chance, vocabulary, suffix, others)
    return repositories.with_files(world, f"files-{files}", code)


def _path(number: int, suffix: str) -> str:
    return f"src/part{number // _PER_FOLDER:03d}/module{number:05d}.{suffix}"


def _module(chance: random.Random, vocabulary: Vocabulary, suffix: str, others: list[int]) -> str:
    parts = [_import(suffix, other) for other in others]
    head = f'"""{vocabulary.prose(8)}"""\n\n' if suffix == "py" else f"// {vocabulary.prose(8)}\n\n"
    for number in range(chance.randint(*_FUNCTIONS)):
        name = "_".join([*vocabulary.take(2), str(number)])
        said = vocabulary.prose(10)
        if suffix == "py":
            parts.append(f'\n\ndef {name}(value: int) -> int:\n    """{said}"""\n    return value + {number}\n')
        else:
            word = "func" if suffix == "go" else "export function"
            parts.append(f"\n\n// {said}\n{word} {name}() {{\n\treturn {number}\n}}\n")
    return ("package code\n\n" if suffix == "go" else "") + head + "\n".join(parts) + "\n"


def _import(suffix: str, other: int) -> str:
    folder, name = f"part{other // _PER_FOLDER:03d}", f"module{other:05d}"
    if suffix == "py":
        return f"from src.{folder}.{name} import VALUE"
    return (
        f'import "example.org/code/src/{folder}"'
        if suffix == "go"
        else f'import * as {name} from "../{folder}/{name}";'
    )
