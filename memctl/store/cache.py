"""The cache of a worktree: parsed records, the text index and token counts, in SQLite in the Git directory.

It holds nothing that the files do not say: deleting or damaging it costs only time. Two processes may use it at once.
A row is keyed by its path and belongs either to the tree of `.memory/` in HEAD that the cache was made for, or, for a
file that differs from HEAD, to that file's stat.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from memctl import __version__
from memctl.model.record import Fault, Record
from memctl.model.snapshot import Hit

_VERSION = f"{__version__}/5"
_TABLES = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE records (path TEXT PRIMARY KEY, number INTEGER, stat TEXT, record BLOB, faults BLOB) WITHOUT ROWID;
CREATE INDEX numbered ON records (number);
CREATE INDEX differing ON records (stat) WHERE stat <> '';
CREATE INDEX faulty ON records (path) WHERE faults NOT NULL;
CREATE TABLE packed (records BLOB);
CREATE TABLE tokens (digest BLOB PRIMARY KEY, count INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(title, body, terms, tokenize = 'porter unicode61 remove_diacritics 2');
"""
_MAX_COUNTS = 20_000  # token counts to keep; most are of texts that will not be seen again
_ENCODE = msgspec.msgpack.Encoder().encode


class Parsed(msgspec.Struct):
    """What one file came to: a record with its body, or faults."""

    path: str
    stat: str  # "" if the file is as HEAD has it
    record: Record | None
    body: str
    faults: list[Fault]


class View(msgspec.Struct, frozen=True):
    """What a cache said at one moment: for which HEAD, which files differed from it, records and faults as stored."""

    head: tuple[str, str]
    differing: dict[str, str]  # stat by path
    packed: bytes
    packed_faults: list[bytes]

    def records(self) -> list[Record]:
        """All records, by path."""
        return msgspec.msgpack.decode(self.packed, type=list[Record])

    def faults(self) -> list[Fault]:
        return [fault for packed in self.packed_faults for fault in msgspec.msgpack.decode(packed, type=list[Fault])]


class Cache:
    """An open cache; `Cache.open(None)` is one in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    @classmethod
    def open(cls, file: Path | None) -> Cache:
        """Open the cache, making it anew if it is missing, damaged or of another version of memctl."""
        if file is not None:
            for _ in range(2):
                try:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    return cls(_connect(file))
                except sqlite3.DatabaseError as error:
                    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                        break
                    discard(file)
                except OSError:
                    break
        return cls(_connect(None))

    def view(self) -> View:
        """Everything that the cache says, as of one moment."""
        with self._transaction("BEGIN"):
            state = dict(self.database.execute("SELECT key, value FROM state").fetchall())
            differing = dict(self.database.execute("SELECT path, stat FROM records WHERE stat <> ''").fetchall())
            faults = self.database.execute("SELECT faults FROM records WHERE faults NOT NULL ORDER BY path").fetchall()
            row = self.database.execute("SELECT records FROM packed").fetchone()
            packed = row[0] if row else self._packed_rows()
        head, changes = (state.get("tree", ""), state.get("sparse", "")), state.get("changes", "0")
        if row is None:
            self._keep(packed, changes)
        return View(head, differing, packed, [row[0] for row in faults])

    def paths(self) -> set[str]:
        return {row[0] for row in self.database.execute("SELECT path FROM records")}

    def update(
        self, parsed: Iterable[Parsed], removed: Iterable[str], before: tuple[str, str], now: tuple[str, str]
    ) -> bool:
        """Put parsed files in and take the files that are gone out, if the cache still is for the HEAD of `before`.

        A HEAD is the tree of the memory in it and a mark of what is checked out. Returns whether it was done.
        """
        with self._transaction("BEGIN IMMEDIATE"):
            state = dict(self.database.execute("SELECT key, value FROM state").fetchall())
            if (state.get("tree", ""), state.get("sparse", "")) != before:
                return False
            self._replace(parsed, removed)
            new = {"tree": now[0], "sparse": now[1], "changes": str(int(state.get("changes", "0")) + 1)}
            self.database.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", new.items())
            self.database.execute("DELETE FROM packed")
            if self.database.execute("SELECT count(*) FROM tokens").fetchone()[0] > _MAX_COUNTS:
                self.database.execute("DELETE FROM tokens")
            return True

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        """All of what is done within, or nothing."""
        self.database.execute(begin)
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")

    def _replace(self, parsed: Iterable[Parsed], removed: Iterable[str]) -> None:
        last = self.database.execute("SELECT max(number) FROM records").fetchone()[0]
        number = last or 0
        for path in removed:
            self._remove(path)
        for item in parsed:
            if last is not None:
                self._remove(item.path)
            number += 1
            record = None if item.record is None else _ENCODE(item.record)
            faults = _ENCODE(item.faults) if item.faults else None
            row = (item.path, number, item.stat, record, faults)
            self.database.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
            if item.record is not None:
                texts = (number, item.record.title, item.body, _terms(item.record))
                self.database.execute("INSERT INTO texts (rowid, title, body, terms) VALUES (?, ?, ?, ?)", texts)

    def _remove(self, path: str) -> None:
        row = self.database.execute("SELECT number FROM records WHERE path = ?", (path,)).fetchone()
        if row:
            self.database.execute("DELETE FROM texts WHERE rowid = ?", row)
            self.database.execute("DELETE FROM records WHERE number = ?", row)

    def _packed_rows(self) -> bytes:
        """All records by path, as one array: it decodes four times as fast as each row alone."""
        rows = self.database.execute("SELECT record FROM records WHERE record NOT NULL ORDER BY path").fetchall()
        return b"\xdd" + len(rows).to_bytes(4, "big") + b"".join([row[0] for row in rows])

    def _keep(self, packed: bytes, changes: str) -> None:
        """Keep that array until a record changes: it reads in half the time of the rows."""
        # If another process is writing, it is kept next time.
        with suppress(sqlite3.OperationalError), self._transaction("BEGIN IMMEDIATE"):
            row = self.database.execute("SELECT value FROM state WHERE key = 'changes'").fetchone()
            if (row[0] if row else "0") == changes:
                self.database.execute("DELETE FROM packed")
                self.database.execute("INSERT INTO packed VALUES (?)", (packed,))

    def match(self, query: str) -> list[Hit]:
        """The records whose text has all words of a query, or if there are none, any of them."""
        words = query_words(query)
        for operator in (" ", " OR ") if len(words) > 1 else (" ",):
            hits = self._match(operator.join(words)) if words else []
            if hits:
                return hits
        return []

    def _match(self, expression: str) -> list[Hit]:
        rows = self.database.execute(
            "SELECT records.path, -bm25(texts, 1, 0, 0), -bm25(texts, 0, 1, 1) FROM texts"
            " JOIN records ON records.number = texts.rowid WHERE texts MATCH ?",
            (expression,),
        )
        return [Hit(path, max(title, 0.0), max(content, 0.0)) for path, title, content in rows]

    def token_count(self, key: bytes) -> int | None:
        """A token count that was kept under a digest, or None."""
        row = self.database.execute("SELECT count FROM tokens WHERE digest = ?", (key,)).fetchone()
        return row[0] if row else None

    def keep_token_count(self, key: bytes, count: int) -> None:
        with suppress(sqlite3.Error):  # another process is writing; the count is simply made again
            self.database.execute("INSERT OR IGNORE INTO tokens VALUES (?, ?)", (key, count))


def digest(text: str, encoding: str) -> bytes:
    """What a token count is kept under."""
    from hashlib import blake2b  # 3 ms, and most commands count nothing

    return blake2b(text.encode(), digest_size=16, person=encoding.encode()[:16]).digest()


def discard(file: Path) -> None:
    """Delete a cache; SQLite's side files too."""
    for suffix in ("", "-journal"):
        Path(str(file) + suffix).unlink(missing_ok=True)


def query_words(query: str) -> list[str]:
    """The words and quoted phrases of a query, as FTS5 strings; a word that ends in `*` matches by its beginning."""
    words = []
    for part in re.findall(r'"[^"]*"|\S+', query):
        star = "*" if part.endswith("*") and not part.startswith('"') else ""
        text = re.sub(r"[^\w\s]", " ", part).strip()
        if text:
            words.append(f'"{text}"{star}')
    return words


def _connect(file: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:" if file is None else file, timeout=2, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = OFF")
        if file is not None:
            database.execute("PRAGMA journal_mode = TRUNCATE")  # WAL would grow, as processes end without closing
            database.execute("PRAGMA mmap_size = 268435456")
        _prepare(database)
    except sqlite3.Error:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    if "state" in tables:
        row = database.execute("SELECT value FROM state WHERE key = 'version'").fetchone()
        if row and row[0] == _VERSION:
            return
        raise sqlite3.DatabaseError("made by another version")
    database.execute("BEGIN IMMEDIATE")
    if not {row[0] for row in database.execute("SELECT name FROM sqlite_master")}:  # nobody was faster
        for statement in _TABLES.strip().split(";\n"):
            database.execute(statement.rstrip(";"))
        database.execute("INSERT INTO state VALUES ('version', ?)", (_VERSION,))
    database.execute("COMMIT")


def _terms(record: Record) -> str:
    return " ".join([record.id, *record.tags, *record.code_refs, *record.aliases, record.section or ""])
