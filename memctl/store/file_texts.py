"""The texts of the repository's own files in the search index, where each text is stored by path and blob id.

The first query indexes all files that the index does not have: 1,600 files of 13 MB take 0.5 s, and 4 MB on the disk.
The index stores words and not whole texts, so a single text can't be removed from it: rows of old texts stay in it. As
soon as they are more than twice as many as those that a worktree still uses, all rows are made anew.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from heapq import nlargest, nsmallest
from pathlib import Path
from typing import Protocol

import msgspec

from memctl.store.cache import discard
from memctl.store.fts_query import MOST_WORDS
from memctl.store.memory import Memory
from memctl.store.search_index import FILE_TABLES, SearchIndex
from memctl.text import sensitive_files
from memctl.text.words import STOP_WORDS, InnerWords, beginning, whole_words, words_of

Progress = Callable[[int, int], None]
LARGEST, MOST = 256 * 1024, 200_000_000  # bytes of a file that is indexed, and of all of them
TOO_LARGE = f"it has more than {LARGEST // 1024} KB"
NO_ROOM = f"the smaller files have {MOST // 1_000_000} MB already"
# What a word counts in the path, the text, and the parts of identifiers. Of `bench.file_ranking` hardly anything
# changes with them: with 5, 1 and .5, or 3, 1 and 0, recall@10 is within .01.
_WEIGHTS = "10, 1, 0.5"
_AT_ONCE = 8_000_000  # bytes that are put in within one transaction, which takes 0.2 s
_SPARE = 200  # rows that no longer count, beside twice the number of those that do
_FILES_OF = "files of "  # with the Git directory of a worktree, a key of `state`: how many files it has
_OVERHEAD = 500  # bytes that a row takes beside its text
_SCORES = f"SELECT rowid, -bm25(file_texts, {_WEIGHTS}) FROM file_texts WHERE file_texts MATCH ?"
_HAVING = "SELECT rowid FROM file_texts WHERE file_texts MATCH ?"
_ENOUGH = 0.5  # the share of a query's weight below which even the best file does not match well
_COUNT = "SELECT count(*) FROM file_texts WHERE file_texts MATCH ?"
_MANY = 5_000  # files; a word of more, and of more than half of all, finds no file by itself
_BEST, _MOST_WORDS = 100, 40  # the most files, and words, for which it is listed which file has which word


class FileReader(Protocol):
    """A reader of repository files: of the worktree, the index or a revision.

    `record.source.Files` describes `read`.
    """

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]: ...


_Row = tuple[int, str, int, str]  # number, path, size, why it is not indexed


class FileMatches(msgspec.Struct, frozen=True):
    """The files that match a query, and how well each does.

    - `shares` maps the path of each file to a number up to 1, which is the higher the better the file matches. It is
      the file's BM25 score divided by the best file's score. If even the best file lacks more than half of the query's
      words, weighted by how rare they are, all numbers are lowered by one factor.
    - `words` maps the path of each of the best files to the words of the query that the file contains.
    - `left_out` maps the path of each file that is not indexed to the reason.
    - `is_old` says that another process was writing the index, so that new files may be missing.
    """

    shares: dict[str, float]
    words: dict[str, list[str]]
    left_out: dict[str, str]
    is_old: bool = False

    @property
    def best(self) -> Collection[str]:
        """The paths of the files that match best, at most 5,000."""
        shares = self.shares
        return nlargest(_MANY, shares, key=shares.__getitem__) if len(shares) > _MANY else shares.keys()


def matches(
    memory: Memory,
    files: FileReader,
    blobs: Mapping[str, str],
    query: str,
    *,
    secret: Collection[str] = (),
    progress: Progress | None = None,
) -> FileMatches:
    """Add new files to the index, and return those of the files in `blobs` that match a query.

    `blobs` maps the path of each file to search to its blob id, and `files` reads the files. A file matches if it
    contains a word of the query; if the query has quoted phrases, it must contain all of them. Binary files are not
    indexed. `secret` are the paths of files that contain credentials; these are taken out of their text before it is
    indexed. If the index on the disk can't be used, an index in memory takes its place, and the memory's remarks say
    why.
    """
    texts = IndexedFiles(files, blobs, frozenset(secret), memory.repository.top, memory.repository.git_dir)
    index = SearchIndex.open(memory)
    file = index.file
    try:
        with closing(index.database):
            file_matches = _matches(index, texts, query, progress)
    except sqlite3.DatabaseError as error:
        if file is None:
            raise
        if not isinstance(error, sqlite3.OperationalError):
            with suppress(OSError):  # a remark says so in any case
                discard(file)
        index = SearchIndex.in_memory(f"{file} can't be used ({error})")
        with closing(index.database):
            file_matches = _matches(index, texts, query, progress)
    if index.remark:
        memory.remarks.append(f"{index.remark}: the files were read for this answer alone")
    elif file_matches.is_old:
        memory.remarks.append("another process is writing to the index: what is new in files is not found yet")
    return file_matches


class IndexedFiles(msgspec.Struct, frozen=True):
    """The files that a search needs in the index.

    `files` reads them, `blobs` has their blob ids by path, and `secret` the paths of those that may contain
    credentials. `top` is the worktree's folder, `git_dir` its Git directory.
    """

    files: FileReader
    blobs: Mapping[str, str]
    secret: frozenset[str]
    top: Path
    git_dir: Path

    def size(self, path: str) -> int:
        """Return the size of a file in the worktree, in bytes; 0 if it does not exist."""
        try:
            return os.lstat(self.top / path).st_size
        except OSError:
            return 0


def _matches(index: SearchIndex, texts: IndexedFiles, query: str, progress: Progress | None) -> FileMatches:
    database = index.database
    is_old = False
    live = _live(database, texts)
    room = _room(live)
    fitting = {row for row in live if row[3] == NO_ROOM and row[2] <= room}  # files that were left out and fit in now
    remaining = [row for row in live if row not in fitting]
    if missing := texts.blobs.keys() - {path for _, path, _, _ in remaining}:
        try:
            with index.transaction():
                database.executemany("DELETE FROM files WHERE number = ?", [row[:1] for row in fitting])
            _bring_up_to_date(index, texts, remaining, missing, progress)
        except sqlite3.OperationalError as error:
            is_old = "locked" in str(error) and bool(live)
            if not is_old:
                raise
        live = _live(database, texts)
    numbers = {number: path for number, path, _, reason in live if not reason}
    left_out = {path: reason for _, path, _, reason in live if reason and reason != sensitive_files.BINARY}
    words, phrases = _words(query)
    found = _Scores(database, numbers.keys())
    found.take(phrases or words, is_needed=bool(phrases))
    scores = found.scores
    best_files = nsmallest(_BEST, scores, key=lambda number: (-scores[number], numbers[number]))
    having: dict[int, list[str]] = {number: [] for number in best_files}
    weights = {}
    for word in words[:_MOST_WORDS] if best_files else ():
        weights[word] = math.log(1 + len(numbers) / (1 + found.count(word)))
        for number in found.having(word, best_files):
            having[number].append(word)
    best, scale = 1.0, 1.0
    if best_files:
        covered = sum(weights[word] for word in having[best_files[0]]) / (sum(weights.values()) or 1.0)
        best, scale = scores[best_files[0]] or 1.0, min(covered / _ENOUGH, 1.0)
    return FileMatches(
        {numbers[number]: scale * score / best for number, score in scores.items()},
        {numbers[number]: words for number, words in having.items()},
        left_out,
        is_old,
    )


class _Scores:
    """BM25 of some files, by their numbers, as if the index had no others.

    FTS5 counts all rows: a file that was indexed in a hundred versions would make its words frequent, and be the last
    to be found by them. So each term is asked for by itself, and its inverse document frequency is put right.
    """

    def __init__(self, database: sqlite3.Connection, numbers: Collection[int]) -> None:
        self._database = database
        self._numbers = numbers
        self._rows = database.execute("SELECT count(*) FROM files WHERE reason = ''").fetchone()[0]
        self._having: dict[str, frozenset[int]] = {}
        self.scores: dict[int, float] = {}

    def take(self, terms: Sequence[str], *, is_needed: bool) -> None:
        """Add the scores of the files that have one of some terms, or all of them if they are needed.

        A term that more than half of the files have scores nothing in BM25. If these are more than 5,000 files, it is
        passed over, unless no other term is found.
        """
        most = max(len(self._numbers) / 2, _MANY)
        telling = [term for term in terms if 0 < self.count(term) <= most]
        if is_needed and terms:
            every = frozenset.intersection(*map(self._all_having, terms))
            self.scores = dict.fromkeys(every, 0.0)
        for term in terms if is_needed or not telling else telling:
            self._add(term, only_known=is_needed)

    def _add(self, term: str, *, only_known: bool) -> None:
        rows = self._database.execute(_SCORES, (f'"{term}"',)).fetchall()
        live = [(number, score) for number, score in rows if number in self._numbers]
        right = _frequency(len(self._numbers), len(live)) / _frequency(self._rows, len(rows))
        for number, score in live:
            if not only_known or number in self.scores:
                self.scores[number] = self.scores.get(number, 0.0) + score * right

    def count(self, term: str) -> int:
        """Return how many files have a term; of one that more than half have, the least number that is possible."""
        if term not in self._having:
            rows = self._database.execute(_COUNT, (f'"{term}"',)).fetchone()[0]
            least: int = rows - (self._rows - len(self._numbers))  # if all rows that are not of these files have it
            if least > len(self._numbers) / 2:
                return least
        return len(self._all_having(term))

    def having(self, term: str, among: Collection[int]) -> Collection[int]:
        """Return those of the files `among` that have a term."""
        if term in self._having:
            return self._having[term].intersection(among)
        rows = self._database.execute(f"{_HAVING} AND rowid BETWEEN ? AND ?", (f'"{term}"', min(among), max(among)))
        return {row[0] for row in rows}.intersection(among)

    def _all_having(self, term: str) -> frozenset[int]:
        if term not in self._having:
            rows = self._database.execute(_HAVING, (f'"{term}"',))
            self._having[term] = frozenset(row[0] for row in rows).intersection(self._numbers)
        return self._having[term]


def _frequency(rows: int, having: int) -> float:
    """Return the inverse document frequency of a term as FTS5 has it (fts5_aux.c)."""
    return max(math.log((max(rows - having, 0) + 0.5) / (having + 0.5)), 1e-6)


def _words(query: str) -> tuple[list[str], list[str]]:
    """Return the words of a query, any of which may occur, and its phrases in quotation marks, all of which must."""
    query = beginning(query, MOST_WORDS)
    words = [word for word in dict.fromkeys(words_of(query)) if word not in STOP_WORDS and len(word) > 1]
    phrases = [" ".join(found) for part in re.findall(r'"([^"]*)"', query) if (found := whole_words(part))]
    return words, list(dict.fromkeys(phrases))


def _live(database: sqlite3.Connection, texts: IndexedFiles) -> list[_Row]:
    """Number, path, size and reason of the rows that some files have."""
    rows = database.execute("SELECT number, blob, path, size, reason FROM files")
    return [(number, path, size, why) for number, blob, path, size, why in rows if texts.blobs.get(path) == blob]


def _room(live: Iterable[_Row]) -> int:
    """Return the bytes that there is room for beside some rows."""
    return MOST - sum(size for _, _, size, reason in live if not reason)


def _bring_up_to_date(
    index: SearchIndex,
    texts: IndexedFiles,
    live: Sequence[_Row],
    missing: Collection[str],
    progress: Progress | None,
) -> None:
    """Index what is new."""
    known = index.database.execute("SELECT count(*) FROM files").fetchone()[0]
    counted = len(live) + _counted_elsewhere(index, texts)
    if known - counted > 2 * counted + _SPARE:
        _make_anew(index)
        live, missing = (), texts.blobs.keys()
    room = _room(live)
    done = 0
    # If there is no room, the largest are left out.
    for some in _portions(texts, sorted(missing, key=lambda path: (texts.size(path), path))):
        if progress:
            progress(done, len(missing))
        room -= _add(index, texts, some, room)
        done += len(some)
    if progress:
        progress(len(missing), len(missing))


def _counted_elsewhere(index: SearchIndex, texts: IndexedFiles) -> int:
    """Return how many files the other worktrees had when each last put some in, and note how many this one has.

    What two have alike counts twice: rows that no longer count then stay for longer.
    """
    here = f"{_FILES_OF}{texts.git_dir}"
    with index.transaction():
        index.database.execute("REPLACE INTO state VALUES (?, ?)", (here, str(len(texts.blobs))))
        noted = dict(index.database.execute("SELECT key, value FROM state WHERE key GLOB ?", (f"{_FILES_OF}*",)))
        gone = [key for key in noted if not Path(key.removeprefix(_FILES_OF)).is_dir()]
        index.database.executemany("DELETE FROM state WHERE key = ?", [(key,) for key in gone])
    return sum(int(value) for key, value in noted.items() if key != here and key not in gone)


def _portions(texts: IndexedFiles, paths: Iterable[str]) -> Iterator[list[tuple[str, bytes | None]]]:
    """Yield files with their contents, as many at once as are put in within one transaction; None for one too large."""
    some: list[tuple[str, bytes | None]] = []
    size = 0
    for path in paths:
        try:
            content = texts.files.read([path], LARGEST).get(path)
        except OSError:  # gone, or nobody may read it: the next run tries again
            continue
        some.append((path, content))
        size += len(content or b"") + _OVERHEAD
        if size > _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def _add(index: SearchIndex, texts: IndexedFiles, some: Sequence[tuple[str, bytes | None]], room: int) -> int:
    """Put some files in, as long as there is room; returns the bytes that they have."""
    parts = InnerWords()
    rows: list[tuple[str, str, int, str]] = []
    bodies: list[str] = []
    taken = 0
    for path, content in some:
        reason, body = "", ""
        if content is None:
            reason = TOO_LARGE
        elif sensitive_files.is_binary(content):
            reason = sensitive_files.BINARY
        elif len(content) > room - taken:
            reason = NO_ROOM
        else:
            taken += len(content)
            body = content.decode(errors="replace")
            if path in texts.secret:
                body = sensitive_files.without_credentials(body)
        rows.append((texts.blobs[path], path, len(content or b""), reason))
        bodies.append(body)
    database = index.database
    with index.transaction():
        for row, body in zip(rows, bodies, strict=True):
            added = database.execute("INSERT OR IGNORE INTO files (blob, path, size, reason) VALUES (?, ?, ?, ?)", row)
            if added.rowcount and not row[3]:  # another process may have been faster
                path = row[1]
                database.execute(
                    "INSERT INTO file_texts (rowid, path, body, parts) VALUES (?, ?, ?, ?)",
                    (added.lastrowid, f"{path} {parts.of(path)}", body, parts.of(body)),
                )
    return taken


def _make_anew(index: SearchIndex) -> None:
    with index.transaction():
        index.database.execute("DROP TABLE files")
        index.database.execute("DROP TABLE file_texts")
        for statement in FILE_TABLES:
            index.database.execute(statement)
