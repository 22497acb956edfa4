"""Token counts that models reported, each stored beside memctl's own estimate for the same text.

They are measurements of this machine, so they are beside the retrieval counts in the Git directory that all worktrees
share, in no commit. They can be deleted at any time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.git import private_files

_FILE = "observations.db"
MOST_KEPT = 1_000  # samples of a model; with a smoothing rate of .2 older ones would have no weight
_CREATE = (
    "CREATE TABLE IF NOT EXISTS observations (number INTEGER PRIMARY KEY, model TEXT, digest BLOB, kinds TEXT,"
    " estimate INTEGER, reported INTEGER, UNIQUE (model, digest))"
)
_INSERT = "INSERT OR IGNORE INTO observations (model, digest, kinds, estimate, reported) VALUES (?, ?, ?, ?, ?)"
_SELECT = "SELECT digest, kinds, estimate, reported FROM observations WHERE model = ? ORDER BY number"
_OLDEST = (
    "DELETE FROM observations WHERE model = :model AND number NOT IN"
    " (SELECT number FROM observations WHERE model = :model ORDER BY number DESC LIMIT :most)"
)


class TokenSample(msgspec.Struct, frozen=True):
    """The token count of a text as a model reported it, beside memctl's own estimate.

    `digest` identifies the text. `kinds` are the kinds of text that it contains, such as code, separated by spaces.
    """

    digest: bytes
    kinds: str  # separated by spaces
    estimate: int
    reported: int


def add(folder: Path, model: str, samples: Iterable[TokenSample]) -> int:
    """Store samples of a model in the order given; return how many of them are new.

    `folder` is the one with the file of all samples. Raises MemctlError if that file can't be written.
    """
    rows = [(model, sample.digest, sample.kinds, sample.estimate, sample.reported) for sample in samples]
    try:
        private_files.make_file(folder / _FILE)
        with closing(sqlite3.connect(folder / _FILE, timeout=5)) as database, database:
            database.execute(_CREATE)
            before = database.total_changes
            database.executemany(_INSERT, rows)
            new = database.total_changes - before
            database.execute(_OLDEST, {"model": model, "most": MOST_KEPT})
        return new
    except (sqlite3.DatabaseError, OSError) as error:
        raise MemctlError(f"{folder / _FILE} can't be written: {error}", "delete the file if it is damaged") from None


def samples_of(folder: Path, model: str) -> list[TokenSample]:
    """Return a model's samples in the file of all samples in `folder`, oldest first; none if the file can't be used."""
    rows = _read(folder, _SELECT, model)
    return [TokenSample(*row) for row in rows]


def models(folder: Path) -> list[str]:
    """Return the names of the models with stored samples."""
    return [row[0] for row in _read(folder, "SELECT DISTINCT model FROM observations ORDER BY model")]


def _read(folder: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    file = folder / _FILE
    if not os.path.exists(file):  # or this user may not see it
        return []
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=1)) as database:
            return database.execute(query, values).fetchall()
    except sqlite3.DatabaseError:
        return []


def forget(folder: Path, model: str) -> None:
    """Delete the samples of a model; raises MemctlError if that fails."""
    file = folder / _FILE
    if not file.exists():
        return
    try:
        with closing(sqlite3.connect(file, timeout=5)) as database, database:
            database.execute("DELETE FROM observations WHERE model = ?", (model,))
    except sqlite3.DatabaseError as error:
        raise MemctlError(f"{file} can't be written: {error}", "delete the file if it is damaged") from None
