"""The words that occur in the memory, unstemmed, to find out what a misspelt one was to be.

It only grows; a word that is gone from all records is never offered, since what is offered must match something.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from memctl.text.edit_distance import SHORTEST, nearest

_TABLE = "CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID"
_LONGEST = 40  # letters; what is longer is no word that somebody types
_OFFERED = 2  # of the nearest words


def make(database: sqlite3.Connection) -> None:
    database.execute(_TABLE)


def drop(database: sqlite3.Connection) -> None:
    database.execute("DROP TABLE IF EXISTS vocabulary")


def add(database: sqlite3.Connection, words: Iterable[str]) -> None:
    """Take words in; those of digits, and very short and long ones, are left aside."""
    kept = {word for word in words if word.isalpha() and SHORTEST - 2 < len(word) <= _LONGEST}
    database.executemany("INSERT OR IGNORE INTO vocabulary VALUES (?)", [(word,) for word in sorted(kept)])


def instead(database: sqlite3.Connection, word: str) -> tuple[str, ...]:
    """What to look for instead of a word: nothing if it occurs, or if nothing is like it.

    That is two words written as one (`readtimeout` for `read_timeout`), or else the words spelled most like it, the
    most frequent first. The first letter is taken to be right, or swapped with the second.
    """
    if len(word) < SHORTEST or len(word) > _LONGEST or count(database, word):
        return ()
    split = [f"{word[:at]} {word[at:]}" for at in range(2, len(word) - 1)]
    together = [pair for pair in split if count(database, pair)]
    if together or not word.isalpha():
        return tuple(together[:_OFFERED])
    candidates: list[str] = []
    for first in dict.fromkeys(word[:2]):
        rows = database.execute(
            "SELECT word FROM vocabulary WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
            (first, chr(ord(first) + 1), len(word) - 2, len(word) + 2),
        )
        candidates += [row[0] for row in rows]
    frequent = {near: found for near in nearest(word, candidates) if (found := count(database, near))}
    return tuple(sorted(frequent, key=lambda near: (-frequent[near], near))[:_OFFERED])


def count(database: sqlite3.Connection, phrase: str) -> int:
    """How many records have a word or phrase."""
    found: int = database.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (f'"{phrase}"',)).fetchone()[0]
    return found
