"""The lists of the repository's own files in the search index: those of a worktree, or of a revision.

A question about some files is answered without reading the others. `sources.file_list_update` brings a list up to date.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from memctl.errors import MemctlError
from memctl.store.cache import discard
from memctl.store.memory import Memory
from memctl.store.search_index import FILE_TABLES, SearchIndex
from memctl.store.source_facts import Content
from memctl.text.words import fold_diacritics

_SPARE = 200  # rows that no list has, beside twice the number of those that one has
_LAST = "\U0010ffff"
_TOKEN = re.compile(r"[^\W_]+")
_PACKAGE = ("__init__.py", "__init__.pyi")
_ANY = "FROM files CROSS JOIN listed ON listed.list = ? AND listed.number = files.number"
_NAMED = f"{_ANY} AND named"
_ROW = "path, blob, facts"
_WITH_WORDS = (
    "FROM file_words CROSS JOIN listed ON listed.list = ? AND listed.number = file_words.rowid AND named"
    " CROSS JOIN files ON files.number = file_words.rowid WHERE file_words MATCH ?"
)
_LEFT_OUT = (
    "FROM files INDEXED BY files_apart CROSS JOIN listed ON listed.list = ? AND listed.number = files.number AND named"
    " WHERE reason <> ''"
)
_WITH_BLOB = "SELECT number, facts, reason, size FROM files WHERE path = ? AND blob = ?"
_INSERT_WORDS = "INSERT INTO file_words (rowid, path_words, words, names, imports) VALUES (?, ?, ?, ?, ?)"
_INSERT_TEXT = "INSERT INTO file_texts (rowid, path, body, parts) VALUES (?, ?, ?, ?)"
_NEW_LIST = "INSERT INTO lists (name, state) VALUES (?, '')"
_LOSE = "DELETE FROM listed WHERE list = ? AND number IN (SELECT number FROM files WHERE path = ?)"
_SUMS = (
    "SELECT ifnull(sum(named), 0), ifnull(sum(CASE WHEN reason = '' THEN size END), 0)"
    " FROM listed CROSS JOIN files ON files.number = listed.number WHERE list = ?"
)
Answer = TypeVar("Answer")
Unavailable = sqlite3.OperationalError  # raised if another process is writing, or the file can't be used


class ListState(msgspec.Struct, frozen=True):
    """What a list was made from, and its sums.

    - `index` and `tree` stand for the tracked files, as `FilesOnDisk.tree` describes.
    - `differing` has the blob ids of the files that differ from Git's index, by path; "" for one that is not listed.
    - `ignored` are the ignore files with their texts, `folders` all folders of the files.
    - `count` is the number of files that may be named, `size` the bytes of the indexed texts.
    - `changes` counts the changes of the list.
    """

    index: str
    tree: str
    differing: dict[str, str] = {}
    ignored: dict[str, str] = {}
    folders: tuple[str, ...] = ()
    count: int = 0
    size: int = 0
    changes: int = 0


class NewFile(msgspec.Struct, frozen=True):
    """A file with a content that the index does not have.

    `facts` are its encoded facts. `body` is the text to be indexed: path, text and the parts of its words; `reason`
    says why it is not indexed. `words` is what `file_words` has of it: the words of its path, those of its names and
    its purpose, its names, and its imports, separated by spaces.
    """

    path: str
    blob: str
    size: int
    facts: bytes
    reason: str
    body: tuple[str, str, str]
    words: tuple[str, str, str, str]


class Outdated(Exception):
    """Another process has changed the list meanwhile."""


class FileList(Mapping[str, Content]):
    """The contents of the files of a worktree or a revision that may be named, by path.

    `hidden` are files that are withheld from the reader, by path, with the reasons.
    """

    def __init__(self, index: SearchIndex, name: str, hidden: Mapping[str, str] = MappingProxyType({})) -> None:
        self.index = index
        self.hidden = hidden
        self._name = name
        self.reload()

    def reload(self) -> None:
        """Read the list's state."""
        found = self.index.database.execute("SELECT list, state FROM lists WHERE name = ?", (self._name,)).fetchone()
        self.number: int = found[0] if found else 0
        self.state = msgspec.msgpack.decode(found[1], type=ListState) if found else ListState("", "")
        self._rows: dict[str, Content | None] = {}

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._content(path) is not None

    def __getitem__(self, path: str) -> Content:
        if (content := self._content(path)) is None:
            raise KeyError(path)
        return content

    def _content(self, path: str) -> Content | None:
        if path not in self._rows:
            self._rows[path] = None
            self._remember(self._query(f"SELECT {_ROW} {_NAMED} WHERE path = ?", path))
        return self._rows[path]

    def __iter__(self) -> Iterator[str]:
        return self.below("")

    def __len__(self) -> int:
        hidden = (self._query(f"SELECT 1 {_NAMED} WHERE path = ?", path) for path in self.hidden)
        return self.state.count - sum(map(len, hidden))

    def below(self, start: str) -> Iterator[str]:
        """Yield the paths that begin with `start`, sorted."""
        end = f"{start[:-1]}0" if start.endswith("/") else f"{start}{_LAST}"
        query = f"SELECT path {_NAMED} WHERE path >= ? AND path < ? ORDER BY path"
        rows = self.index.database.execute(query, (self.number, start, end))
        return (path for (path,) in rows if path not in self.hidden)

    def load(self, numbers: Iterable[int] | None = None) -> dict[int, str]:
        """Read many files at once, those with some numbers or all; returns their paths by number."""
        chosen = "" if numbers is None else f"WHERE files.number IN ({', '.join(map(str, sorted(numbers)))})"
        found = self._query(f"SELECT {_ROW}, files.number {_NAMED} {chosen}")
        self._remember(row[:3] for row in found)
        return {number: path for path, _, _, number in found if path not in self.hidden}

    def _remember(self, found: Iterable[tuple[str, str, bytes]]) -> frozenset[str]:
        """Store rows for later questions, and return the paths of the files that are not hidden."""
        rows = {path: Content(blob, facts) for path, blob, facts in found if path not in self.hidden}
        self._rows |= rows
        return frozenset(rows)

    def called(self, stem: str) -> frozenset[str]:
        """Return the files with a stem, as `stem_of` returns it, in any case of letters."""
        return self._remember(self._query(f"SELECT {_ROW} {_NAMED} WHERE stem = ?", stem.lower()))

    def having(self, columns: str, words: Collection[str], most: int) -> frozenset[str] | None:
        """Return the files of which columns of `file_words` have one of some words; None if more than `most` have."""
        return self._matching(f"{columns} : ({' OR '.join(map(_quoted, words))})", most)

    def with_all(self, column: str, text: str, most: int) -> frozenset[str]:
        """Return the files of which a column has all words of a text, in any order; none if more than `most` have.

        Words with other letters than ASCII ones are passed over; if there are no others, all files are returned.
        """
        tokens = dict.fromkeys(word for word in _TOKEN.findall(fold_diacritics(text).lower()) if word.isascii())
        if not tokens:
            return frozenset(self)
        return self._matching(f"{column} : ({' AND '.join(map(_quoted, tokens))})", most) or frozenset()

    def frequency(self, columns: str, words: Collection[str]) -> int:
        """Return about how many files have one of some words in columns of `file_words`."""
        having = self._count("file_words WHERE file_words MATCH ?", f"{columns} : ({' OR '.join(map(_quoted, words))})")
        return max(round(having * min(len(self) / max(self._all_rows, 1), 1.0)), 1)

    def _matching(self, query: str, most: int) -> frozenset[str] | None:
        limit = most + self._all_rows - len(self) + 1  # a frequent word's rows are counted without the list
        if self._count("(SELECT 1 FROM file_words WHERE file_words MATCH ? LIMIT ?)", query, limit) >= limit:
            return None
        found = self._query(f"SELECT {_ROW} {_WITH_WORDS} LIMIT ?", query, most + 1)
        return self._remember(found) if len(found) <= most else None

    def refusals(self) -> dict[str, str]:
        """Return the files whose text never enters a model's context, by path, with the reasons.

        Those that seem to contain a credential may still be named.
        """
        found = self._query(
            "SELECT path, why FROM listed INDEXED BY listed_apart CROSS JOIN files ON files.number = listed.number"
            " WHERE list = ? AND why <> ''"
        )
        hidden = {
            path: why for path, why in self.hidden.items() if self._query(f"SELECT 1 {_ANY} WHERE path = ?", path)
        }
        return dict(found) | hidden

    def left_out(self) -> dict[str, str]:
        """Return the files that may be named and whose text is not indexed, by path, with the reasons."""
        found = self._query(f"SELECT path, reason {_LEFT_OUT}")
        return {path: reason for path, reason in found if path not in self.hidden}

    def blobs(self) -> dict[str, str]:
        """Return the blob id of each file, by path, also of those that may not be named."""
        return dict(self._query(f"SELECT path, blob {_ANY}"))

    def row_of(self, path: str, blob: str) -> tuple[int, bytes, str, int] | None:
        """Return the row of a file and its content: number, facts, why it is not indexed, size; None without one."""
        found: tuple[int, bytes, str, int] | None = self.index.database.execute(_WITH_BLOB, (path, blob)).fetchone()
        return found

    def waiting(self, reason: str, room: int) -> dict[str, str]:
        """Return the blob ids of files whose text is not indexed for a reason, and which fit into `room`, by path."""
        rows = self._query(f"SELECT path, blob, size {_LEFT_OUT} AND reason = ? ORDER BY size, path", reason)
        found = {}
        for path, blob, size in rows:
            room -= size
            if room >= 0:
                found[path] = blob
        return found

    def add(self, files: Iterable[NewFile]) -> None:
        """Put files into the index, and the texts of files that it has already without a text."""
        database = self.index.database
        with self.index.transaction():
            for one in files:
                known = self.row_of(one.path, one.blob)
                if known and (one.reason or not known[2]):  # another process was faster
                    continue
                row = (known and known[0], one.path, one.blob, one.size, one.reason, stem_of(one.path), one.facts)
                number = database.execute("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", row).lastrowid
                if not known:
                    database.execute(_INSERT_WORDS, (number, *one.words))
                if not one.reason:
                    database.execute(_INSERT_TEXT, (number, *one.body))

    def change(self, state: ListState, rows: Mapping[str, tuple[int, bool, str] | None]) -> None:
        """Store the list's next state, and its rows by path; None for a file that it does not have any more.

        A row is the file's number, whether it may be named, and why its text is refused. Raises Outdated.
        """
        database = self.index.database
        with self.index.transaction():
            found = database.execute("SELECT state FROM lists WHERE name = ?", (self._name,)).fetchone()
            if (msgspec.msgpack.decode(found[0], type=ListState).changes if found else 0) != self.state.changes:
                raise Outdated
            number = self.number or database.execute(_NEW_LIST, (self._name,)).lastrowid
            if self.number:
                database.executemany(_LOSE, ((number, path) for path in rows))
            there = ((number, *row) for row in rows.values() if row)
            database.executemany("REPLACE INTO listed VALUES (?, ?, ?, ?)", there)
            count, size = database.execute(_SUMS, (number,)).fetchone()
            state = msgspec.structs.replace(state, count=count, size=size, changes=self.state.changes + 1)
            database.execute("UPDATE lists SET state = ? WHERE list = ?", (msgspec.msgpack.encode(state), number))
        self.reload()

    def names(self) -> list[str]:
        """Return the names of all lists, the oldest first."""
        return [row[0] for row in self.index.database.execute("SELECT name FROM lists ORDER BY list")]

    def forget(self, names: Iterable[str]) -> None:
        """Delete the lists with some names; raises Outdated if most rows are in no list, and all are dropped."""
        database, gone = self.index.database, [(name,) for name in names]
        with self.index.transaction():
            database.executemany("DELETE FROM listed WHERE list = (SELECT list FROM lists WHERE name = ?)", gone)
            database.executemany("DELETE FROM lists WHERE name = ?", gone)
            counted = self._count("listed")
            if self._count("files") - counted <= 2 * counted + _SPARE:
                return
            database.execute("DELETE FROM state WHERE key = 'files'")
        raise Outdated

    def require(self, version: str) -> None:
        """Drop all lists and rows unless `version`, the version of what is read from files, has made them."""
        database, is_made = self.index.database, "SELECT 1 FROM state WHERE key = 'files' AND value = ?"
        if database.execute(is_made, (version,)).fetchone():
            return
        with self.index.transaction():
            if database.execute(is_made, (version,)).fetchone():  # another process was faster
                return
            for table in ("files", "lists", "listed", "file_texts", "file_words"):
                database.execute(f"DROP TABLE {table}")
            for statement in FILE_TABLES:
                database.execute(statement)
            database.execute("REPLACE INTO state VALUES ('files', ?)", (version,))
        self.reload()

    @cached_property
    def _all_rows(self) -> int:
        return self._count("files")

    def _count(self, what: str, *values: str | int) -> int:
        number: int = self.index.database.execute(f"SELECT count(*) FROM {what}", values).fetchone()[0]
        return number

    def _query(self, statement: str, *values: str | int) -> list[Any]:
        return self.index.database.execute(statement, (self.number, *values)).fetchall()


def with_index(memory: Memory, answer: Callable[[SearchIndex], Answer]) -> Answer:
    """Return what `answer` makes of the search index.

    If the index on the disk can't be used, an index in memory takes its place, and the memory's remarks say why.
    """
    index = SearchIndex.open(memory)
    while True:
        file = index.file
        try:
            with closing(index.database):
                found = answer(index)
            break
        except MemctlError:  # also of a damaged cache, which is no damage of the index
            raise
        except (sqlite3.DatabaseError, msgspec.MsgspecError) as error:
            if file is None:
                raise
            if not isinstance(error, sqlite3.OperationalError):
                with suppress(OSError):  # a remark says so in any case
                    discard(file)
            index = SearchIndex.in_memory(f"{file} can't be used ({error})")
    if index.remark:
        memory.remarks.append(f"{index.remark}: memctl read the files directly, which takes longer")
    return found


def stem_of(path: str) -> str:
    """Return a file's name in lower case up to the first dot inside it.

    For a Python package's `__init__.py` it is the name of the folder and a slash.
    """
    folder, _, name = path.rpartition("/")
    if name in _PACKAGE:
        return f"{folder.rpartition('/')[2]}/".lower()
    return (name.partition(".")[0] or name).lower()


def _quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'
