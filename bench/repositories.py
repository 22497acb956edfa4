"""Repositories to measure in."""

from __future__ import annotations

import time
from pathlib import Path

from bench import records
from bench.world import MEMCTL, World

_PER_FOLDER = 100


def with_files(world: World, name: str, count: int) -> Path:
    """A repository of `count` committed files, and a memory without records."""
    folder = _initialised(world, name)
    for number in range(count):
        below = folder / f"src/part{number // _PER_FOLDER:03d}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"module{number:05d}.py").write_text(f"VALUE = {number}\n", encoding="utf-8")
    world.git(folder, "add", ".")
    world.git(folder, "commit", "-q", "-m", "the code")
    world.run([MEMCTL, "init", "--project", name], folder)
    return _settled(world, folder)


def with_records(world: World, name: str, count: int) -> Path:
    """A repository whose memory holds `count` committed records, and the cache they make."""
    folder = _initialised(world, name)
    world.run([MEMCTL, "init", "--project", name], folder)
    source = world.folder / f"{name}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in records.lines(count))
    world.run([MEMCTL, "import", str(source)], folder)
    source.unlink()
    _settled(world, folder)
    world.run([MEMCTL, "list"], folder)
    return folder


def _initialised(world: World, name: str) -> Path:
    folder = world.folder / name
    world.git(world.folder, "init", "-q", "-b", "main", str(folder))
    (folder / "README.md").write_text(f"# {name}\n", encoding="utf-8")
    world.git(folder, "add", "README.md")
    world.git(folder, "commit", "-q", "-m", "start")
    return folder


def _settled(world: World, folder: Path) -> Path:
    """Wait until no file is as young as the index, then let Git note that: else each `git status` reads them all."""
    time.sleep(2.1)
    changed = world.git(folder, "status", "--porcelain")
    if changed:
        raise RuntimeError(f"{folder.name} should be clean:\n{changed[:500]}")
    return folder


def forget_cache(folder: Path) -> None:
    """Delete what memctl has read before."""
    for file in (folder / ".git/memctl").glob("*/cache.db*"):
        file.unlink()
