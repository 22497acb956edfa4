"""Lists of the repository's own files, stored in the search index: one list for each worktree or revision.

A list answers questions about some of its files without reading the others. A file *may be named* if memctl may tell a
model its path; the text of such a file may still be refused, such as one with a credential. `sources.file_list_update`
brings a list up to date.
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
    """The files from which a list was made, and figures about the list.

    - `index` and `tree` identify the tracked files: they are the pair that `FilesOnDisk.tree` returns.
    - `differing` has the blob ids of the files that differ from Git's index, by path; "" for a file that is not in the
      list.
    - `ignored` are the texts of the `.memctlignore` files by path, and `folders` all folders that contain files.
    - `count` is the number of files that may be named, and `size` the number of bytes in all indexed texts.
    - `changes` is how often the list was changed.
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
    """A row to be added to the search index: a path with a content that the index does not have for this path.

    - `size` is in bytes, and `facts` are the content's `FileFacts` in msgpack.
    - `reason` says why the text is not indexed, "" if it is.
    - `body` is indexed for searches: the path, the text, and the parts of compound words in the text, such as "read
      card" for "readCard". All three are "" if the text is not indexed.
    - `words` are indexed even if the text is not, each as words separated by spaces: the words of the path, the words
      of the defined names and of the sentence on the file's purpose, the defined names, and the imports.
    """

    path: str
    blob: str
    size: int
    facts: bytes
    reason: str
    body: tuple[str, str, str]
    words: tuple[str, str, str, str]


class Outdated(Exception):
    """Raised if another process has changed the list meanwhile, or if all lists have to be made anew."""


class FileList(Mapping[str, Content]):
    """The list with the name `name` in the search index: by path, the content of each file that may be named.

    `hidden` are files that the reading agent may not see, by path, with the reasons: they seem to be missing.
    """

    def __init__(self, index: SearchIndex, name: str, hidden: Mapping[str, str] = MappingProxyType({})) -> None:
        self.index = index
        self.hidden = hidden
        self._name = name
        self.reload()

    def reload(self) -> None:
        """Read the list's `ListState` from the search index again, and forget what was read of its files.

        `number`, by which other tables name the list, is read again, too; it is 0 if there is no such list yet.
        """
        row = self.index.database.execute("SELECT list, state FROM lists WHERE name = ?", (self._name,)).fetchone()
        self.number: int = row[0] if row else 0
        self.state = msgspec.msgpack.decode(row[1], type=ListState) if row else ListState("", "")
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
        """Read the contents of many files in one query, for later use, and return the files' paths by row number.

        `numbers` are the row numbers of the files in the search index; None stands for all files of the list.
        """
        chosen = "" if numbers is None else f"WHERE files.number IN ({', '.join(map(str, sorted(numbers)))})"
        rows = self._query(f"SELECT {_ROW}, files.number {_NAMED} {chosen}")
        self._remember(row[:3] for row in rows)
        return {number: path for path, _, _, number in rows if path not in self.hidden}

    def _remember(self, rows: Iterable[tuple[str, str, bytes]]) -> frozenset[str]:
        contents = {path: Content(blob, facts) for path, blob, facts in rows if path not in self.hidden}
        self._rows |= contents
        return frozenset(contents)

    def called(self, stem: str) -> frozenset[str]:
        """Return the paths of the files with the name `stem`, without regard to suffixes and case (`stem_of`)."""
        return self._remember(self._query(f"SELECT {_ROW} {_NAMED} WHERE stem = ?", stem.lower()))

    def having(self, columns: str, words: Collection[str], most: int) -> frozenset[str] | None:
        """Return the paths of the files that have one of `words` in some columns; None if more than `most` files have.

        `columns` is a column of the table `file_words`, such as "imports", or several in braces: "{path_words words}".
        """
        return self._matching(f"{columns} : ({' OR '.join(map(_quoted, words))})", most)

    def with_all(self, column: str, text: str, most: int) -> frozenset[str]:
        """Return the paths of the files that have all words of `text` in a column of `file_words`, in any order.

        The result is empty if more than `most` files have them. Words with letters outside of ASCII are passed over; if
        the text has only such words, or none, all files are returned.
        """
        tokens = dict.fromkeys(word for word in _TOKEN.findall(fold_diacritics(text).lower()) if word.isascii())
        if not tokens:
            return frozenset(self)
        return self._matching(f"{column} : ({' AND '.join(map(_quoted, tokens))})", most) or frozenset()

    def frequency(self, columns: str, words: Collection[str]) -> int:
        """Return about how many files of this list have one of `words` in some columns, at least 1.

        `columns` are given as for `having`.
        """
        having = self._count("file_words WHERE file_words MATCH ?", f"{columns} : ({' OR '.join(map(_quoted, words))})")
        return max(round(having * min(len(self) / max(self._all_rows, 1), 1.0)), 1)

    def _matching(self, query: str, most: int) -> frozenset[str] | None:
        limit = most + self._all_rows - len(self) + 1  # a frequent word's rows are counted without the list
        if self._count("(SELECT 1 FROM file_words WHERE file_words MATCH ? LIMIT ?)", query, limit) >= limit:
            return None
        rows = self._query(f"SELECT {_ROW} {_WITH_WORDS} LIMIT ?", query, most + 1)
        return self._remember(rows) if len(rows) <= most else None

    def refusals(self) -> dict[str, str]:
        """Return the reasons why the texts of some files never enter a model's context, by the files' paths.

        A file that seems to contain a credential is among them, although it may be named.
        """
        refused = self._query(
            "SELECT path, why FROM listed INDEXED BY listed_apart CROSS JOIN files ON files.number = listed.number"
            " WHERE list = ? AND why <> ''"
        )
        hidden = {
            path: why for path, why in self.hidden.items() if self._query(f"SELECT 1 {_ANY} WHERE path = ?", path)
        }
        return dict(refused) | hidden

    def left_out(self) -> dict[str, str]:
        """Return the reasons why the texts of some files that may be named are not indexed, by the files' paths."""
        rows = self._query(f"SELECT path, reason {_LEFT_OUT}")
        return {path: reason for path, reason in rows if path not in self.hidden}

    def blobs(self) -> dict[str, str]:
        """Return the blob ids, by path, of all files of the list.

        Files that may not be named are included, although the list has no content for them.
        """
        return dict(self._query(f"SELECT path, blob {_ANY}"))

    def row_of(self, path: str, blob: str) -> tuple[int, bytes, str, int] | None:
        """Return the search index's row for the file at `path` with the content `blob`, None if there is none.

        The file may be in another list, or in none. The result has the row's number, the facts in msgpack, the reason
        why the text is not indexed ("" if it is), and the size in bytes.
        """
        row: tuple[int, bytes, str, int] | None = self.index.database.execute(_WITH_BLOB, (path, blob)).fetchone()
        return row

    def waiting(self, reason: str, room: int) -> dict[str, str]:
        """Return the blob ids, by path, of files whose texts were left out of the search index, and fit into it now.

        `reason` is the reason that the index has for leaving them out, such as that it was full. `room` is how many
        bytes of text it can take now. The smallest files are returned, as many as fit into `room`.
        """
        rows = self._query(f"SELECT path, blob, size {_LEFT_OUT} AND reason = ? ORDER BY size, path", reason)
        blobs = {}
        for path, blob, size in rows:
            room -= size
            if room >= 0:
                blobs[path] = blob
        return blobs

    def add(self, files: Iterable[NewFile]) -> None:
        """Add rows to the search index, and the text to a row that is there already, but was not indexed so far."""
        database = self.index.database
        with self.index.transaction():
            for new in files:
                known = self.row_of(new.path, new.blob)
                if known and (new.reason or not known[2]):  # another process was faster
                    continue
                row = (known and known[0], new.path, new.blob, new.size, new.reason, stem_of(new.path), new.facts)
                number = database.execute("REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", row).lastrowid
                if not known:
                    database.execute(_INSERT_WORDS, (number, *new.words))
                if not new.reason:
                    database.execute(_INSERT_TEXT, (number, *new.body))

    def change(self, state: ListState, rows: Mapping[str, tuple[int, bool, str] | None]) -> None:
        """Change the list: store `state` as its state, and `rows` as its entries for some paths.

        An entry is the number of the file's row, whether the file may be named, and why its text never enters a model's
        context ("" if it may). None removes the path from the list. Raises Outdated if another process has changed the
        list meanwhile.
        """
        database = self.index.database
        with self.index.transaction():
            row = database.execute("SELECT state FROM lists WHERE name = ?", (self._name,)).fetchone()
            if (msgspec.msgpack.decode(row[0], type=ListState).changes if row else 0) != self.state.changes:
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
        """Delete the lists with some names.

        Raises Outdated if most rows of the search index are then in no list: all lists and rows have to be made anew.
        """
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
        """Delete all lists and rows if they were not made by `version`.

        `version` is a text that changes with memctl and with the installed parsers.
        """
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
    """Call `answer` with the memory's search index, and return its result.

    If the index on the disk can't be used, `answer` gets an empty index in memory, and a line in `memory.remarks` says
    why.
    """
    index = SearchIndex.open(memory)
    while True:
        file = index.file
        try:
            with closing(index.database):
                result = answer(index)
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
    return result


def stem_of(path: str) -> str:
    """Return a file's name in lower case without its suffixes: "card" for "src/Card.test.py".

    For a Python package's `__init__.py` it is the name of the folder with a slash: "shop/" for "src/shop/__init__.py".
    """
    folder, _, name = path.rpartition("/")
    if name in ("__init__.py", "__init__.pyi"):
        return f"{folder.rpartition('/')[2]}/".lower()
    return (name.partition(".")[0] or name).lower()


def _quoted(word: str) -> str:
    return '"' + word.replace('"', "") + '"'
