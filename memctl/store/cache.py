"""The cache of a worktree: parsed records, indexes over them, and token counts, in SQLite in the Git directory.

Everything in it can be computed from the files: deleting or damaging it costs only time. Two processes may use it at
once. Each row describes the file at one path. If the file was equal to HEAD at the cache's last update, the row
describes it as HEAD had it; otherwise, as it was on the disk, with a stamp of its times, size and inode.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from zlib import crc32

import msgspec

from memctl import __version__
from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.record.errors import Fault
from memctl.record.kinds import KINDS
from memctl.record.record import Record

FILE = "cache.db"  # in the folder of the worktree's memory
# Raise it when facts are read from the repository's files in another way: purposes, outlines.
_READING_VERSION = 3
T = TypeVar("T")
_TIMEOUT = 2  # seconds to wait for another process that writes
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_RULES = f"{_PACKAGE}/text/credentials/rules.txt"
# A digest of everything that decides which values are stored: tables, types, and how texts are parsed.
_RECORD = [
    f"record/{name}.py" for name in ("record", "record_form", "parser", "kinds", "mentions", "pages", "session_page")
]
_SOURCES = (*_RECORD, "text/named_files.py", "store/schema.py", "store/cache_update.py")


@lru_cache(maxsize=1)
def _schema(rules: str) -> str:
    """The version is a digest of the modules' files, which takes 0.1 ms; importing the modules would take 2 ms."""
    checksum = crc32(repr((_READING_VERSION, list(KINDS))).encode())
    for file in (rules, *(f"{_PACKAGE}/{source}" for source in _SOURCES)):
        with open(file, "rb") as text:
            checksum = crc32(text.read(), checksum)
    return f"{__version__}/{checksum:08x}"


def contents_version() -> str:
    """Return the version of a cache's contents; rows that were stored under another version have to be made anew.

    It changes with the code that parses records, the tables of the cache, and the rules that find credentials.
    """
    return _schema(_RULES)


class Undecodable(MemctlError, sqlite3.DatabaseError):
    """Raised if a row of a cache can't be decoded."""


def decoder(database: sqlite3.Connection, form: type[T]) -> Callable[[bytes], T]:
    """Return a function that decodes values of a cache; it raises Undecodable, and deletes the cache's file then.

    `database` is the open connection to the cache. A cache in memory has no file to delete.
    """
    decode = msgspec.msgpack.Decoder(form).decode

    def checked(packed: bytes) -> T:
        try:
            return decode(packed)
        except msgspec.MsgspecError:
            if file := database.execute("PRAGMA database_list").fetchone()[2]:
                discard(Path(file))
            raise Undecodable(
                "memctl's cache of the memory was damaged; it is deleted now, and the next command makes it again",
                "run the command again",
            ) from None

    return checked


class CacheState(msgspec.Struct, frozen=True):
    """What a cache knows of its worktree: how the worktree was when the cache was last updated.

    `head` is a pair: the commit of HEAD, and a stamp of the sparse checkout, which is a string that changes with the
    settings by which Git leaves files out of the worktree. `differing` maps the path of each file that differed from
    HEAD to a stamp of its times, size and inode.
    """

    head: tuple[str, str]
    differing: dict[str, str]  # stat by path


class Cache:
    """An open cache. `Cache.open(None)` opens an empty one in memory."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    @classmethod
    def open(cls, file: Path | None) -> Cache:
        """Open the cache in `file`; create it if it is missing, replace it if it is damaged or of another version.

        Returns an empty cache in memory if `file` is None, if the file can't be used, or if another process has locked
        it.
        """
        if file is not None:
            for _ in range(2):
                try:
                    private_files.make_file(file)
                    return cls(connect(file, _prepare))
                except sqlite3.DatabaseError as error:
                    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                        break
                    discard(file)
                except OSError:
                    break
        return cls(connect(None, _prepare))

    def view(self, *, only_open: bool = False) -> tuple[CacheState, tuple[list[Record], list[Fault]]]:
        """Return the cache's records (all, or only the open ones) and the faults of invalid files at one moment.

        Both are in the order of paths. Before them comes how the worktree was at the cache's last update. Raises
        Undecodable if they can't be decoded; the cache's file is deleted then.
        """
        with self.transaction("BEGIN"):
            state, changes = self._state()
            faults = self.database.execute("SELECT faults FROM records WHERE faults NOT NULL ORDER BY path").fetchall()
            row = self.database.execute("SELECT records FROM packed WHERE only_open = ?", (only_open,)).fetchone()
            packed = row[0] if row else self._pack_rows(only_open)
        if row is None:
            self._store_packed(packed, changes, only_open)
        decode = decoder(self.database, list[Fault])
        records = decoder(self.database, list[Record])(packed)
        return state, (records, [fault for row in faults for fault in decode(row[0])])

    def state(self) -> CacheState:
        """Return what the cache knows of the worktree: HEAD's commit, and the files that differed from it."""
        with self.transaction("BEGIN"):
            return self._state()[0]

    def _state(self) -> tuple[CacheState, str]:
        state = dict(self.database.execute("SELECT key, value FROM state").fetchall())
        differing = dict(self.database.execute("SELECT path, stat FROM records WHERE stat <> ''").fetchall())
        return CacheState((state.get("commit", ""), state.get("sparse", "")), differing), state.get("changes", "0")

    def token(self) -> str:
        """Return a string that changes whenever a file in the cache changes; two caches never have an equal one."""
        state = dict(self.database.execute("SELECT key, value FROM state WHERE key IN ('id', 'updates')").fetchall())
        return f"{state['id']}:{state.get('updates', '0')}"

    def blobs(self) -> dict[str, str]:
        """Return the blob ids of all files in the cache that have a text to search, by path."""
        return dict(self.database.execute("SELECT path, blob FROM records WHERE blob <> ''").fetchall())

    def blobs_since(self, token: str) -> dict[str, str] | None:
        """Return the blob ids of the files that changed in the cache since an earlier moment, by path.

        `token` is what the method `token` returned at that moment. The blob id is "" for a file that was deleted or
        became invalid. Returns None if the cache has no list of changes that reaches back so far.
        """
        state = dict(self.database.execute("SELECT key, value FROM state").fetchall())
        identifier, _, number = token.partition(":")
        if identifier != state["id"] or int(number) < int(state.get("logged_from", "0")):
            return None
        changed = "SELECT path, blob FROM updates WHERE number > ? ORDER BY number"
        return dict(self.database.execute(changed, (int(number),)).fetchall())

    def records_at(self, paths: Iterable[str]) -> dict[str, Record]:
        """Return the records at some paths, by path; paths without a valid record are left out."""
        decode = decoder(self.database, Record)
        find = "SELECT record FROM records WHERE path = ? AND record NOT NULL"
        rows = ((path, self.database.execute(find, (path,)).fetchone()) for path in paths)
        return {path: decode(row[0]) for path, row in rows if row}

    def paths(self) -> set[str]:
        """Return the paths of all files in the cache."""
        return {row[0] for row in self.database.execute("SELECT path FROM records")}

    @contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """Run the block in a transaction; an exception rolls everything back.

        `begin` is the SQL statement that starts the transaction: "BEGIN" or "BEGIN IMMEDIATE".
        """
        self.database.execute(begin)
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")

    def _pack_rows(self, only_open: bool) -> bytes:
        """One msgpack array decodes four times as fast as single rows."""
        which = "is_open" if only_open else "record NOT NULL"
        rows = self.database.execute(f"SELECT record FROM records WHERE {which} ORDER BY path").fetchall()
        return b"\xdd" + len(rows).to_bytes(4, "big") + b"".join([row[0] for row in rows])

    def _store_packed(self, packed: bytes, changes: str, only_open: bool) -> None:
        """Store the array of records until a record changes; it is read in half the time of the rows."""
        # If another process is writing, a later read stores it.
        with suppress(sqlite3.OperationalError), self.transaction("BEGIN IMMEDIATE"):
            row = self.database.execute("SELECT value FROM state WHERE key = 'changes'").fetchone()
            if (row[0] if row else "0") == changes:
                self.database.execute("INSERT OR REPLACE INTO packed VALUES (?, ?)", (only_open, packed))

    def copy(self) -> Cache:
        """Return a copy of this cache in memory, without a file."""
        copied = sqlite3.connect(":memory:", isolation_level=None)
        self.database.backup(copied)
        copied.execute("UPDATE state SET value = ? WHERE key = 'id'", (os.urandom(8).hex(),))
        return Cache(copied)

    def token_count(self, key: bytes) -> int | None:
        """Return the token count stored under `key`, which `digest` computes from a text; None if there is none."""
        row = self.database.execute("SELECT count FROM tokens WHERE digest = ?", (key,)).fetchone()
        return row[0] if row else None

    def keep_token_count(self, key: bytes, count: int) -> None:
        """Store the number of tokens of a text under the key `key`, which `digest` computes from the text.

        Nothing is stored if another process is writing: the tokens are counted again next time.
        """
        with suppress(sqlite3.Error):  # another process is writing; the tokens are counted again next time
            self.database.execute("INSERT OR IGNORE INTO tokens VALUES (?, ?)", (key, count))


def digest(text: str, encoding: str) -> bytes:
    """Return the key under which the token count of a text is stored.

    It depends on the text and on `encoding`, the name of the tokenizer.
    """
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

    key = blake2b(encoding.encode(), digest_size=16).digest()
    return blake2b(text.encode(), digest_size=16, key=key).digest()


def discard(file: Path) -> None:
    """Delete a database file, and SQLite's files beside it, so that none of its texts is left. Raises OSError."""
    for suffix in ("-journal", ""):
        Path(str(file) + suffix).unlink(missing_ok=True)


def connect(file: Path | None, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    """Open the SQLite database in `file`, or a new one in memory if `file` is None, and return the connection.

    The database is disposable: its contents can be computed again. `prepare` gets the connection, makes the tables of a
    new database, and raises an error if the database can't be used, such as sqlite3.DatabaseError. The connection is
    closed before the error is raised to the caller.
    """
    database = sqlite3.connect(":memory:" if file is None else file, timeout=_TIMEOUT, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA secure_delete = ON")  # no free page keeps text that was removed
        if file is not None:
            database.execute("PRAGMA journal_mode = TRUNCATE")  # WAL would grow, as processes end without closing
            database.execute("PRAGMA mmap_size = 268435456")
        prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    if "state" in tables:
        row = database.execute("SELECT value FROM state WHERE key = 'version'").fetchone()
        if row and row[0] == _schema(_RULES):
            return
        raise sqlite3.DatabaseError("the cache has another version")
    database.execute("BEGIN IMMEDIATE")
    # Unless another process has made the tables meanwhile.
    if not {row[0] for row in database.execute("SELECT name FROM sqlite_master")}:
        from memctl.store import schema  # a cache is made once

        schema.create_tables(database)
        made = {"version": _schema(_RULES), "id": os.urandom(8).hex()}
        database.executemany("INSERT INTO state VALUES (?, ?)", made.items())
    database.execute("COMMIT")
