"""A folder of architecture decision records: its files as they are, and what they say of each other."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_status, adr_text
from memctl.exchange.adr_status import Statement
from memctl.exchange.adr_text import Head, Origin
from memctl.git import history
from memctl.git.history import Commit
from memctl.record.errors import InvalidRecord, Malformed
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text.credentials import describe, find, lines

_TEMPLATE = re.compile(r"(?:adr[-_]?)?\d+[-_](?:adr-|madr-)?template\.md", re.IGNORECASE)


class Found(msgspec.Struct, frozen=True):
    """A file that is a record: its text as it stands, what becomes of it, and what it says."""

    file: str
    text: str
    origin: Origin
    body: str
    head: Head
    said: Statement

    def line_of(self, text: str) -> int:
        """The line on which a text stands first."""
        return self.text.count("\n", 0, max(self.text.find(text), 0)) + 1


class Edge(msgspec.Struct, frozen=True):
    """That one file supersedes another, and which of the two says so."""

    old: str
    new: str
    by_old: bool
    by_new: bool


def listing(folder: Path) -> tuple[list[str], list[str]]:
    """The names in a folder that are those of records, by their numbers, and the others but for hidden ones."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise MemctlError(f"{folder} can't be read: {error.strerror}", exit_code=USAGE) from None
    numbers = {name: number for name in names if (number := adr_text.number_of(name)) and not _TEMPLATE.fullmatch(name)}
    return sorted(numbers, key=lambda name: (int(numbers[name]), name)), [n for n in names if n not in numbers]


def read(folder: Path, names: Iterable[str]) -> tuple[list[Found], list[str]]:
    """The records of a folder, and what is wrong with those that are none, with file and line."""
    found: list[Found] = []
    wrong: list[str] = []
    for name in names:
        try:
            files.read(folder, name)  # refuses what is no regular file, too large, or not UTF-8
            text = (folder / name).read_bytes().decode()
            if "\0" in text:
                raise Malformed(text.count("\n", 0, text.index("\0")) + 1, "", "a NUL character stands here")
            origin, body = adr_text.take_apart(name, text)
            said = adr_status.statement_of(origin, body)
            found.append(Found(name, text, origin, body, adr_text.head_of(origin), said))
        except Malformed as error:
            wrong.append(f"{name}:{error.line}: {error.message}")
        except InvalidRecord as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"{name}:1: the file can't be read: {error.strerror}")
    return found, wrong


def secrets(found: Found) -> list[str]:
    """The lines of a file that look like credentials."""
    spans = find(found.text)
    places = zip(lines(found.text, spans), spans, strict=True)
    return [f"{found.file}:{line}: this {describe(found.text, span)}" for line, span in places]


def first_commits(memory: Memory, folder: Path, names: Sequence[str]) -> dict[str, Commit]:
    """The first commit with each file; files that Git does not have are left out."""
    try:
        below = Path(os.path.realpath(folder)).relative_to(memory.repository.top).as_posix()
    except ValueError:
        return {}  # the folder is not in this repository
    paths = {f"{below}/{name}".removeprefix("./"): name for name in names}
    if not paths:
        return {}
    commits = history.commits(memory.repository, list(paths))  # newest first, so that the oldest one counts
    return {paths[path]: commit for commit in commits for path in commit.paths if path in paths}


def edges(found: Iterable[Found], names: Sequence[str], statuses: Mapping[str, str]) -> list[Edge]:
    """Which of the named files supersedes which, as some of them say it.

    `statuses` are those of all decisions by file. What is only proposed, or was rejected, supersedes nothing; and what
    was rejected is superseded by nothing.
    """
    numbered: dict[int, list[str]] = {}
    for name in names:
        numbered.setdefault(int(adr_text.number_of(name) or 0), []).append(name)

    def resolve(target: str | int) -> str:
        same = [target] if target in names else numbered.get(target, []) if isinstance(target, int) else []
        return str(same[0]) if len(same) == 1 else ""

    by_old: dict[tuple[str, str], None] = {}
    by_new: dict[tuple[str, str], None] = {}
    for item in found:
        by_old.update(dict.fromkeys((item.file, resolve(target)) for target in item.said.by))
        if statuses.get(item.file) not in ("proposed", "rejected"):
            by_new.update(dict.fromkeys((resolve(target), item.file) for target in item.said.of))
    return [
        Edge(old, new, (old, new) in by_old, (old, new) in by_new)
        for old, new in {**by_old, **by_new}
        if old != new and old in statuses and new in statuses and statuses[old] != "rejected"
    ]
