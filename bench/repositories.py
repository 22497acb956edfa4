"""Repositories to measure in; one that is there already is used again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import pages, records
from bench.world import MEMCTL, NOW, World
from memctl.exchange.rows import draft_of
from memctl.store.memory import Memory, open_memory
from memctl.text import timestamps
from memctl.write import create

TRACKED_FILES = 20_000
_PER_FOLDER = 100
_CACHES = ("*/cache.db*", "*/templates/*", "index.db*")


def with_code(world: World, name: str) -> Path:
    """A repository of `TRACKED_FILES` committed files, and a memory without records."""
    folder = world.folder / name
    if not folder.exists():
        numbers = range(TRACKED_FILES)
        code = {f"src/part{n // _PER_FOLDER:03d}/module{n:05d}.py": f"VALUE = {n}\n" for n in numbers}
        with_files(world, name, code)
    return folder


def with_files(world: World, name: str, code: Mapping[str, str]) -> Path:
    """A repository of committed files, and a memory without records."""
    folder = world.folder / name
    if not folder.exists():
        _initialised(world, name, code)
        _settle(world, folder)
    return folder


def with_memory(world: World, count: int, given: Sequence[tuple[str, str]] = ()) -> Path:
    """A repository of a little code whose memory holds a hierarchy and `count` records, all rendered and committed.

    The records have the titles and texts that are `given`, if any are.
    """
    name = f"memory-{count}{'-given' if given else ''}"
    folder = world.folder / name
    if folder.exists():
        return folder
    _initialised(world, name, pages.code())
    memory = open_memory(folder, world.environment)
    values = records.values(count)
    records.given(given, values)
    texts = pages.pages([record["id"] for record in values[: records.NEAR]])
    texts |= dict(_file(memory, record) for record in values)
    _commit(world, folder, {memory.tracked(path): text for path, text in texts.items()}, "the memory")
    world.run([MEMCTL, "review", *pages.SECTIONS, *pages.DETAILS], folder)
    world.run([MEMCTL, "render"], folder)
    _settle(world, folder)
    world.run([MEMCTL, "list"], folder)
    return folder


def with_entries(world: World) -> Path:
    """The repository of a memory with 10,000 records, and with 450 long pages: 100,000 entries of the search index."""
    source, folder = with_memory(world, 10_000), world.folder / "entries"
    if not folder.exists():
        shutil.copytree(source, folder, symlinks=True)
        texts = pages.long_details(450, 200)
        _commit(world, folder, {f".memory/{path}": text for path, text in texts.items()}, "long pages")
        _settle(world, folder)
    return folder


def _file(memory: Memory, values: Mapping[str, Any]) -> tuple[str, str]:
    """Path and text of a record, as `memctl import` would write it."""
    draft = draft_of(dict(values))
    complete = create.complete_values(memory, draft)
    complete["memory_id"] = memory.new_memory_id(complete["id"])
    _, write = create.record_and_file(memory, complete, draft)
    return write.path, write.text


def _initialised(world: World, name: str, files: Mapping[str, str]) -> None:
    """A repository of some files, and a memory in it."""
    folder = world.folder / name
    world.git(world.folder, "init", "-q", "-b", "main", str(folder))
    _commit(world, folder, {"README.md": f"# {name}\n", **files}, "the code")
    world.run([MEMCTL, "init", "--project", name], folder)


def _commit(world: World, folder: Path, files: Mapping[str, str], subject: str) -> None:
    """Add files in one commit, in a fraction of the time that `git add` takes for as many."""
    lines = [
        "commit refs/heads/main",
        f"committer Ada <ada@example.org> {timestamps.to_epoch(NOW)} +0000",
        _data(subject),
    ]
    if world.git(folder, "for-each-ref"):
        lines.append("from refs/heads/main^0")
    for path, text in files.items():
        lines += [f"M 100644 inline {path}", _data(text)]
    world.run(["git", "fast-import", "--quiet"], folder, "\n".join([*lines, ""]))
    world.git(folder, "reset", "-q", "--hard")


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}"


def _settle(world: World, folder: Path) -> None:
    """Wait until no file is as young as the index, then let Git note that: else each `git status` reads them all."""
    time.sleep(2.1)
    changed = world.git(folder, "status", "--porcelain")
    if changed:
        raise RuntimeError(f"{folder.name} should be clean:\n{changed[:500]}")


def forget_caches(folder: Path) -> None:
    """Delete what memctl has read and compiled before."""
    for pattern in _CACHES:
        for file in (folder / ".git/memctl").glob(pattern):
            file.unlink()
