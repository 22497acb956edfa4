"""Questions about the words of records, answered by the index of words in the cache."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from memctl.record.snapshot import Excerpt, Hit
from memctl.store import questions, texts, vocabulary
from memctl.store.cache import Cache
from memctl.store.memory import Memory
from memctl.store.questions import FtsQuery
from memctl.text.words import STOP_WORDS, words_of

# What a word counts in the title, the body, the terms (id, tags, code references, section) and the parts of
# identifiers. Chosen on one half of bench/labelled; near by, the other half differs by less than .01.
_WEIGHTS = "2, 1, 1.5, 0.5"
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # characters that Unicode keeps free
_EXCERPT_WORDS = 20
# FTS5 compares each match in a text with each: of a word on every line of 2 MB, that took minutes. A text longer than
# this is cut into pieces, and the excerpt is made of the piece that matches best.
_PIECE = 16 * 1024  # characters
_OVERLAP = 256  # characters that two pieces share, or a phrase across their border would be missed
_HEADING = re.compile(r"(?m)^#+ +(\S(?:.*\S)?)\s*$")
_JOINED = "FROM texts JOIN records ON records.number = texts.rowid"
_MATCH = (  # FTS5 gives the best match the smallest number; nothing is -0.0
    f"SELECT texts.rowid, path, 0 - bm25(texts, 1, 0, 0, 0), 0 - bm25(texts, {_WEIGHTS}) {_JOINED} WHERE texts MATCH ?"
)
# Not `rowid IN`: FTS5 would be asked anew for each of them. `+` keeps it to one pass, in which others are not scored.
_MATCH_WITHIN = f"{_MATCH} AND +texts.rowid IN (SELECT rowid FROM texts WHERE texts MATCH ?)"
_NUMBERS = "SELECT rowid FROM texts WHERE texts MATCH ?"
_SNIPPET = f"snippet(texts, 1, '{_OPEN}', '{_CLOSE}', '…', {_EXCERPT_WORDS})"
_EXCERPTS = (
    f"SELECT path, CASE WHEN length(body) <= {_PIECE} THEN {_SNIPPET} END {_JOINED}"
    " WHERE texts MATCH ? AND path IN ({})"
)
_BODY = f"SELECT body {_JOINED} WHERE path = ?"
_BEST_PIECE = (
    f"SELECT {_SNIPPET} FROM texts WHERE texts MATCH ?1 AND rowid ="
    " (SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank, rowid LIMIT 1)"
)
_AT_ONCE = 1_000  # paths
_COUNT = "SELECT count(*) FROM texts WHERE texts MATCH ?"
_TOTAL = "SELECT count(*) FROM texts_docsize"  # in which FTS5 has a row for each text, and a short one
# What bm25() of FTS5 gives for a word is never more than so many times its inverse document frequency, which is never
# less than the second number (fts5_aux.c: k1 + 1; a word that most texts have).
_MOST_OF_WORD, _LEAST_FREQUENCY = 2.2, 1e-6
_FREQUENT = 0.16  # of what all words of a query can give, that those may give by which no text is looked for
_TELLING_WORDS = 24  # of a record, to find others like it


class StoredTexts:
    """The texts of a cache that is up to date and has an index of words."""

    def __init__(self, database: sqlite3.Connection, memory: Memory) -> None:
        self._database = database
        self._memory = memory
        self._questions: dict[str, FtsQuery] = {}

    @property
    def semantic_model(self) -> str:
        return self._memory.semantic_model

    def remark(self, text: str) -> None:
        if text not in self._memory.remarks:
            self._memory.remarks.append(text)

    def match(self, query: str, most: int | None = None) -> list[Hit]:
        asked = self._asked(query)
        rows = self._best(asked, most) if most is not None and asked.any_of_it == asked.without_phrases else []
        rows = rows or self._rows(_MATCH, asked.any_of_it) or self._rows(_MATCH, asked.without_phrases)
        complete = {row[0] for row in self._rows(_NUMBERS, asked.all_of_it)} if rows else set()
        return [Hit(path, title, text, number in complete) for number, path, title, text in rows]

    def _best(self, asked: FtsQuery, most: int) -> list[Any]:
        """The rows of a match but for texts that have none of its rarer words; [] if one of those may be among the
        `most` best, or have the best title. To score 10,000 texts takes 40 ms, and a prompt mostly has a word that all
        of them have."""
        total = self._database.execute(_TOTAL).fetchone()[0]
        counts = {word: self._rows(_COUNT, word)[0][0] for word in asked.words}
        given = {word: _most_given(total, found) for word, found in counts.items()}
        rest, least, rarer = sum(given.values()), _FREQUENT * sum(given.values()), []
        for word in sorted(asked.words, key=counts.__getitem__):
            if rest <= least:
                break
            rarer.append(word)
            rest -= given[word]
        if not rarer or 2 * sum(counts[word] for word in rarer) > total:
            return []
        within = " OR ".join([*rarer, *([f"({asked.all_of_it})"] if asked.all_of_it else [])])
        rows = self._rows(_MATCH_WITHIN, asked.any_of_it, within)
        is_sure = len(rows) >= most and sorted(row[3] for row in rows)[-most] > rest
        return rows if is_sure and max(row[2] for row in rows) > rest else []

    def instead(self, query: str) -> dict[str, tuple[str, ...]]:
        return self._asked(query).instead

    def excerpts(self, query: str, paths: Sequence[str]) -> dict[str, Excerpt]:
        asked = self._asked(query)
        rows = self._marked(asked.any_of_it, paths) or self._marked(asked.without_phrases, paths)
        found = ((path, self._of_best_piece(path, asked) if marked is None else marked) for path, marked in rows)
        return {path: _excerpt(marked) for path, marked in found if _OPEN in marked}

    def _marked(self, expression: str, paths: Sequence[str]) -> list[tuple[str, str | None]]:
        """Excerpts with marks, None for those of long texts; some paths at once: a statement takes no more than 32,766
        values."""
        found: list[tuple[str, str | None]] = []
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            found += self._rows(_EXCERPTS.format(", ".join("?" * len(some))), expression, *some)
        return found

    def _of_best_piece(self, path: str, asked: FtsQuery) -> str:
        """The excerpt with marks of a long text, "" if no piece of it matches."""
        body: str = self._database.execute(_BODY, (path,)).fetchone()[0]
        with closing(sqlite3.connect(":memory:")) as database:
            texts.make_pieces(
                database, (body[start : start + _PIECE + _OVERLAP] for start in range(0, len(body), _PIECE))
            )
            for expression in filter(None, (asked.any_of_it, asked.without_phrases)):
                if row := database.execute(_BEST_PIECE, (expression,)).fetchone():
                    return str(row[0])
        return ""

    def alike(self, path: str) -> dict[str, float]:
        row = self._database.execute(f"SELECT texts.title, body {_JOINED} WHERE path = ?", (path,)).fetchone()
        telling = self._telling(f"{row[0]}\n{_HEADING.sub('', row[1])}") if row else []
        if not telling:
            return {}
        rows = self._database.execute(
            f"SELECT path, -bm25(texts, {_WEIGHTS}) {_JOINED} WHERE texts MATCH ?",
            (" OR ".join(f'"{word}"' for word in telling),),
        )
        scores = {other: max(score, 0.0) for other, score in rows}
        own = scores.pop(path, 0.0)
        return {other: min(score / own, 1.0) for other, score in scores.items()} if own else {}

    def everything(self) -> Iterable[tuple[str, str]]:
        return self._database.execute(
            f"SELECT path, texts.title || char(10) || body || char(10) || terms {_JOINED} ORDER BY path"
        )

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        find = "SELECT vector FROM embeddings WHERE digest = ?"
        found = ((key, self._database.execute(find, (key,)).fetchone()) for key in keys)
        return {key: row[0] for key, row in found if row}

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        with suppress(sqlite3.OperationalError):  # another process is writing; they are simply made again
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?)", values.items())
            self._database.execute("COMMIT")

    def without(self, paths: Collection[str]) -> StoredTexts:
        return StoredTexts(Cache(self._database).without(paths).database, self._memory) if paths else self

    def _telling(self, text: str) -> list[str]:
        """The words that tell a text from others: those that it has often and other records seldom (TF-IDF)."""
        words = Counter(word for word in words_of(text) if not word.isdigit() and word not in STOP_WORDS)
        total = self._database.execute("SELECT count(*) FROM texts").fetchone()[0]
        frequent = {word: vocabulary.count(self._database, word) for word in words}
        weights = {word: times * math.log(1 + total / max(frequent[word], 1)) for word, times in words.items()}
        return sorted(weights, key=lambda word: (-weights[word], word))[:_TELLING_WORDS]

    def _asked(self, query: str) -> FtsQuery:
        if query not in self._questions:
            self._questions[query] = questions.read(query, lambda word: vocabulary.instead(self._database, word))
        return self._questions[query]

    def _rows(self, statement: str, expression: str, *values: str) -> list[Any]:
        """What a statement gives for an expression of FTS5; nothing for an empty one."""
        return self._database.execute(statement, (expression, *values)).fetchall() if expression else []


def _most_given(total: int, count: int) -> float:
    """The most that a word which `count` of `total` texts have gives to the score of one."""
    return _MOST_OF_WORD * max(math.log((total - count + 0.5) / (count + 0.5)), _LEAST_FREQUENCY)


def _excerpt(marked: str) -> Excerpt:
    """Take the marks out of an excerpt, and its line ends; a heading is told from what follows by a colon."""
    marked = _HEADING.sub(r"\1:", marked)
    marked = " ".join(marked.split())
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    at = start = 0
    for part in re.split(f"([{_OPEN}{_CLOSE}])", marked):
        if part == _OPEN:
            start = at
        elif part == _CLOSE:
            marks.append((start, at))
        else:
            parts.append(part)
            at += len(part)
    return Excerpt("".join(parts), tuple(marks))
