"""The index over the words of records, with FTS5: made when somebody searches for the first time, then kept up to date.

Making it takes as long as reading all records, and many who have a cache (a hook that checks, say) never search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

import msgspec

from memctl.record.record import Record
from memctl.store import vocabulary
from memctl.store.schema import TEXTS
from memctl.text.words import InnerWords

_INSERT = "INSERT INTO texts (rowid, title, body, terms, parts) VALUES (?, ?, ?, ?, ?)"


def is_made(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts'").fetchone() is not None


def make(database: sqlite3.Connection, body_of: Callable[[str], str]) -> None:
    """Make the index over all records of a cache, unless another process just did."""
    if is_made(database):
        return
    database.execute(TEXTS)
    vocabulary.make(database)
    rows = database.execute("SELECT number, path, record FROM records WHERE record NOT NULL ORDER BY number").fetchall()
    decode = msgspec.msgpack.Decoder(Record).decode
    parts = InnerWords()
    # Not while the query is still open: that makes each insertion twice as slow.
    database.executemany(_INSERT, (_row(number, decode(packed), body_of(path), parts) for number, path, packed in rows))
    vocabulary.add(database, parts.all_words())


def make_pieces(database: sqlite3.Connection, bodies: Iterable[str]) -> None:
    """Make an index over pieces of one record's body, in a database of their own, to ask each as a whole."""
    database.execute(TEXTS)
    database.executemany("INSERT INTO texts (body) VALUES (?)", ((body,) for body in bodies))


def drop(database: sqlite3.Connection) -> None:
    """Delete the index and the words that it knows; the next search makes it again."""
    database.execute("DROP TABLE IF EXISTS texts")
    vocabulary.drop(database)


def add(database: sqlite3.Connection, number: int, record: Record, body: str) -> None:
    parts = InnerWords()
    database.execute(_INSERT, _row(number, record, body, parts))
    vocabulary.add(database, parts.all_words())


def _row(number: int, record: Record, body: str, parts: InnerWords) -> tuple[int, str, str, str, str]:
    terms = " ".join([record.id, *record.tags, *record.code_refs, *record.aliases, record.section or ""])
    return number, record.title, body, terms, parts.of(f"{record.title}\n{body}\n{terms}")


def remove(database: sqlite3.Connection, number: int) -> None:
    database.execute("DELETE FROM texts WHERE rowid = ?", (number,))
