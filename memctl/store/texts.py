"""The index over the words of records, with FTS5: made when somebody searches for the first time, then kept up to date.

Making it takes as long as reading all records, and many who have a cache (a hook that checks, say) never search.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

import msgspec

from memctl.model.record import Record
from memctl.model.snapshot import Hit

_TABLE = "CREATE VIRTUAL TABLE texts USING fts5(title, body, terms, tokenize = 'porter unicode61 remove_diacritics 2')"
_INSERT = "INSERT INTO texts (rowid, title, body, terms) VALUES (?, ?, ?, ?)"


def is_made(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'texts'").fetchone() is not None


def make(database: sqlite3.Connection, body_of: Callable[[str], str]) -> None:
    """Make the index over all records of a cache, unless another process just did."""
    if is_made(database):
        return
    database.execute(_TABLE)
    rows = database.execute("SELECT number, path, record FROM records WHERE record NOT NULL ORDER BY number").fetchall()
    decode = msgspec.msgpack.Decoder(Record).decode
    # Not while the query is still open: that makes each insertion twice as slow.
    database.executemany(_INSERT, (_row(number, decode(packed), body_of(path)) for number, path, packed in rows))


def add(database: sqlite3.Connection, number: int, record: Record, body: str) -> None:
    database.execute(_INSERT, _row(number, record, body))


def _row(number: int, record: Record, body: str) -> tuple[int, str, str, str]:
    terms = [record.id, *record.tags, *record.code_refs, *record.aliases, record.section or ""]
    return number, record.title, body, " ".join(terms)


def remove(database: sqlite3.Connection, number: int) -> None:
    database.execute("DELETE FROM texts WHERE rowid = ?", (number,))


def match(database: sqlite3.Connection, query: str) -> list[Hit]:
    """The records whose text has all words of a query, or if there are none, any of them."""
    words = query_words(query)
    for operator in (" ", " OR ") if len(words) > 1 else (" ",):
        hits = _match(database, operator.join(words)) if words else []
        if hits:
            return hits
    return []


def _match(database: sqlite3.Connection, expression: str) -> list[Hit]:
    rows = database.execute(
        "SELECT records.path, -bm25(texts, 1, 0, 0), -bm25(texts, 0, 1, 1) FROM texts"
        " JOIN records ON records.number = texts.rowid WHERE texts MATCH ?",
        (expression,),
    )
    return [Hit(path, max(title, 0.0), max(content, 0.0)) for path, title, content in rows]


def query_words(query: str) -> list[str]:
    """The words and quoted phrases of a query, as FTS5 strings; a word that ends in `*` matches by its beginning."""
    words = []
    for part in re.findall(r'"[^"]*"|\S+', query):
        star = "*" if part.endswith("*") and not part.startswith('"') else ""
        text = re.sub(r"[^\w\s]", " ", part).strip()
        if text:
            words.append(f'"{text}"{star}')
    return words
