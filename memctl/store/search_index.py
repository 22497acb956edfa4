"""The search index of everything recorded: `index.db` in the Git directory that all worktrees share.

Everything in it but `near_pairs` can be computed from the files and Git: deleting or damaging it costs little but time.
Each text is stored once, by its blob id; views list which entries belong to a worktree, an index or a revision
(`search_views`). If the file can't be used, an index in memory takes its place, and `remark` says why.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from memctl.git import private_files
from memctl.store.cache import connect, discard
from memctl.store.memory import Memory

NAME = "index.db"
# Raise it with every change of the tables, or of what is put into them: an older memctl then leaves the file alone.
FORM = 10
TOKENIZER = "tokenize = 'porter unicode61 remove_diacritics 2'"
# Its texts are split in Python, so that the words that are asked for are the indexed ones. No phrases are asked for.
_WORDS = "path_words, words, names, imports, content = '', columnsize = 0, detail = column, tokenize = 'ascii'"
TEXTS = f"CREATE VIRTUAL TABLE texts USING fts5(title, body, terms, parts, {TOKENIZER})"
# The repository's files have an index of their own: their words must not count among those of records. A row of `files`
# is a file with one content. `listed` says which files a list has (`file_list`), and `why` a text is refused; a file
# that is not `named` is never shown. `reason` is why a text is not in `file_texts`.
FILE_TABLES = (
    "CREATE TABLE files"
    " (number INTEGER PRIMARY KEY, path TEXT, blob TEXT, size INTEGER, reason TEXT, stem TEXT, facts BLOB)",
    "CREATE UNIQUE INDEX files_at ON files (path, blob)",
    "CREATE INDEX files_called ON files (stem)",
    "CREATE INDEX files_apart ON files (number) WHERE reason <> ''",
    "CREATE TABLE lists (list INTEGER PRIMARY KEY, name TEXT UNIQUE, state BLOB)",
    "CREATE TABLE listed"
    " (list INTEGER, number INTEGER, named INTEGER, why TEXT, PRIMARY KEY (list, number)) WITHOUT ROWID",
    "CREATE INDEX listed_apart ON listed (list) WHERE why <> ''",
    f"CREATE VIRTUAL TABLE file_texts USING fts5(path, body, parts, content = '', {TOKENIZER})",
    f"CREATE VIRTUAL TABLE file_words USING fts5({_WORDS})",
)
_TABLES = (
    "CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE views (view INTEGER PRIMARY KEY, name TEXT UNIQUE, token TEXT)",
    # An entry is a record, a heading of a page, a section of a session's page, a checkpoint: a piece of a file's text,
    # known by the id of that text. Its number is that of its row in `texts`. Entries of one `thread` belong together,
    # in the order of `place`, then of `number`; `links` has the keys of others, and of the page that it belongs to.
    "CREATE TABLE entries"
    " (number INTEGER PRIMARY KEY AUTOINCREMENT, blob TEXT, kind TEXT, key TEXT, thread TEXT, place TEXT)",
    "CREATE INDEX entries_of ON entries (blob)",
    "CREATE INDEX entries_in ON entries (thread, place) WHERE thread <> ''",
    "CREATE TABLE links (number INTEGER, key TEXT, PRIMARY KEY (number, key)) WITHOUT ROWID",
    "CREATE TABLE live (view INTEGER, number INTEGER, path TEXT, PRIMARY KEY (view, number, path)) WITHOUT ROWID",
    "CREATE INDEX live_at ON live (view, path)",
    TEXTS,
    "CREATE TABLE vocabulary (word TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE embeddings (digest BLOB PRIMARY KEY, vector BLOB)",
    "CREATE TABLE near_pairs (new TEXT, old TEXT, may_contradict INTEGER, PRIMARY KEY (new, old)) WITHOUT ROWID",
    *FILE_TABLES,
)
_MADE = f"{crc32(repr(_TABLES).encode()):08x}"
_IN_MEMORY = 1 << 40  # the number after which entries of an index in memory are numbered
_CACHE = 64 * 1024  # KiB that a transaction may change before readers have to wait for its end


class SearchIndex:
    """An open index. If it is in memory because its file can't be used, `remark` says why; otherwise `remark` is ""."""

    def __init__(self, database: sqlite3.Connection, remark: str = "", file: Path | None = None) -> None:
        self.database = database
        self.remark = remark
        self.file = file  # None if the index is in memory; SQLite can't name one whose path is not UTF-8

    @classmethod
    def open(cls, memory: Memory) -> SearchIndex:
        """Open the search index of a memory; create its file anew if it is missing, damaged or of an older version."""
        file = memory.repository.shared / NAME
        try:
            for _ in range(2):
                private_files.make_file(file)
                try:
                    return cls(connect(file, _prepare), file=file)
                except _Newer:
                    return cls.in_memory(f"the search index {file} was written by a newer version of memctl")
                except sqlite3.DatabaseError as error:
                    if any(word in str(error) for word in ("locked", "readonly", "unable to open")):
                        return cls.in_memory(f"the search index {file} can't be opened ({error})")
                    discard(file)
        except OSError as error:
            return cls.in_memory(f"the search index {file} can't be written ({error.strerror})")
        return cls.in_memory(f"the search index {file} can't be opened")

    @classmethod
    def in_memory(cls, remark: str) -> SearchIndex:
        """Return an empty index in memory, used in place of a file; `remark` says why the file can't be used.

        Its entries have numbers above 2**40, so that no entry has the number of an entry in the file.
        """
        database = connect(None, _prepare)
        database.execute("INSERT INTO sqlite_sequence VALUES ('entries', ?)", (_IN_MEMORY,))
        return cls(database, remark)

    def wait(self, seconds: float) -> None:
        """Set how many seconds each later SQL statement waits at most while another process writes to the index."""
        self.database.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the `with` block in a transaction; raises sqlite3.OperationalError if another process is writing."""
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.database.execute("COMMIT")
        except BaseException:
            if self.database.in_transaction:
                self.database.execute("ROLLBACK")
            raise


class _Newer(Exception):
    """The index is of a form that this memctl does not know yet."""


def _prepare(database: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for an index of another form, and _Newer."""
    database.execute(f"PRAGMA cache_size = -{_CACHE}")
    form = database.execute("PRAGMA user_version").fetchone()[0]
    if form > FORM:
        raise _Newer
    if form == FORM:
        row = database.execute("SELECT value FROM state WHERE key = 'made'").fetchone()
        if row and row[0] == _MADE:
            return
        raise sqlite3.DatabaseError("of another form")
    database.execute("BEGIN IMMEDIATE")
    if database.execute("PRAGMA user_version").fetchone()[0] == FORM:  # another process was faster
        database.execute("COMMIT")
        return
    if database.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise sqlite3.DatabaseError("of another form")
    for statement in _TABLES:
        database.execute(statement)
    database.execute("INSERT INTO state VALUES ('made', ?)", (_MADE,))
    database.execute(f"PRAGMA user_version = {FORM}")
    database.execute("COMMIT")
