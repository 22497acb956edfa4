"""Search for words in the texts of the memory, by the search index."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from memctl.record.kinds import KINDS
from memctl.record.source import Excerpt, Hit
from memctl.store import fts_query, search_views, vocabulary
from memctl.store.fts_query import FtsQuery
from memctl.store.memory import Memory
from memctl.store.search_index import TEXTS, SearchIndex
from memctl.store.search_views import SearchSource
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS, beginning, words_of

# A word counts twice in the title, and once in the body, the terms (id, tags, code references, section) and the parts
# of identifiers: with titles that count once, MRR on the first half of bench/labelled is .864 and not .875.
_WEIGHTS = "2"
# What two words next to each other in the query count that are so in a text, too: with them MRR on the first half of
# bench/labelled is .875, not .869, on that of imported.jsonl .833, not .816; from .25 to .5 hardly anything changes.
_PAIR = 0.5
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # characters that Unicode keeps free
_EXCERPT_WORDS = 20
# FTS5 compares each match in a text with each: of a word on every line of 2 MB, that took minutes. A text longer than
# this is cut into pieces, and the excerpt is made of the piece that matches best.
_PIECE = 16 * 1024  # characters
_OVERLAP = 256  # characters that two pieces share, or a phrase across their border would be missed
_HEADING = lazy_regex(r"(?m)^#+ +(\S(?:.*\S)?)\s*$")
# `CROSS JOIN` keeps SQLite to this order: what matches is looked up in the view, one by one.
_LIVE = "FROM texts CROSS JOIN {live} AS live ON live.number = texts.rowid"
_JOINED = f"{_LIVE} CROSS JOIN entries ON entries.number = texts.rowid"
# bm25() counts the texts of other views, too (worktrees, revisions): with four dead versions of a tenth, or a third, of
# all texts the first half of bench/labelled loses .005 or .002 of recall and nothing of MRR.
# The best of all that match, before they are looked up: of 7,600 that takes a quarter of the time. FTS5 gives the best
# match the smallest number; nothing is -0.0.
# The share of a query's words that a text has is no factor, since long texts have more of them: with its root, MRR on
# half of imported.jsonl is .795 and not .813 (BM25 .807), on half of bench/conversations.py .528, not .494 (.359).
_BEST = f"SELECT rowid, {{}} * (0 - bm25(texts, {_WEIGHTS})) AS score FROM texts WHERE texts MATCH ?"
_SUM = "SELECT rowid, sum(score) AS score FROM ({}) GROUP BY rowid"
# Not `rowid IN`: FTS5 would be asked anew for each of them. `+` keeps it to one pass, in which others are not scored.
_WITHIN = " AND +rowid IN (SELECT rowid FROM texts WHERE texts MATCH ?)"
_MATCH = (
    "SELECT best.rowid, path, score, kind, key, thread FROM ({best} ORDER BY score DESC LIMIT ?) AS best"
    " CROSS JOIN {live} AS live ON live.number = best.rowid CROSS JOIN entries ON entries.number = best.rowid"
    " WHERE kind IN ({kinds})"
)
_PATHS = f"SELECT path {_LIVE} WHERE texts MATCH ? LIMIT ?"
_LINKS = "SELECT number, key FROM links WHERE number IN (SELECT value FROM json_each(?))"
_THREADS = (
    "SELECT entries.number, path, kind, key, thread FROM entries CROSS JOIN {live} AS live USING (number)"
    " WHERE thread IN (SELECT thread FROM entries CROSS JOIN {live} USING (number)"
    " WHERE thread IN (SELECT value FROM json_each(?)) AND thread <> ''"
    " GROUP BY thread HAVING count(*) <= ?) AND thread <> '' ORDER BY thread, place, entries.number"
)
_SNIPPET = f"snippet(texts, 1, '{_OPEN}', '{_CLOSE}', '…', {_EXCERPT_WORDS})"
_EXCERPTS = (
    f"SELECT rowid, CASE WHEN length(body) <= {_PIECE} THEN {_SNIPPET} END FROM texts"
    " WHERE texts MATCH ? AND {}rowid IN (SELECT value FROM json_each(?))"
)
# Words to look up for the excerpts of as many rows as are mostly shown: of 100,000 texts that takes 1 ms, and one pass
# over all that match 2 to 24 ms. Of more it takes longer, and so it does of a prefix, which is many words.
_SEEKS = 400
_BEST_PIECE = (
    f"SELECT {_SNIPPET} FROM texts WHERE texts MATCH ?1 AND rowid ="
    " (SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rank, rowid LIMIT 1)"
)
_EACH = "FROM {live} AS live CROSS JOIN texts ON texts.rowid = live.number"
# Times as many as are asked for are looked up, and how many at least: some may be of other views or kinds, and others
# move up by their thread. On bench/labelled the first ten are found as well as among all that match; in the
# first half of bench/conversations.py 200 give a recall of .550, 400 one of .561, and all one of .564.
_SPARE, _LEAST = 4, 400
_COUNT = "SELECT count(*) FROM texts WHERE texts MATCH ?"
_COUNT_LIVE = f"SELECT count(*) FROM (SELECT 1 {_LIVE} WHERE texts MATCH ? LIMIT ?)"
_OF_RECORDS = f"kind IN ({', '.join(map(repr, KINDS))})"
_TOTAL = "SELECT count(*) FROM texts_docsize"  # in which FTS5 has a row for each text, and a short one
# What bm25() of FTS5 gives for a word is never more than so many times its inverse document frequency, which is never
# less than the second number (fts5_aux.c: k1 + 1; a word that most texts have).
_MOST_OF_WORD, _LEAST_FREQUENCY = 2.2, 1e-6
# Of what all words of a query can give, that those may give by which no text is looked for. In a large index half is
# tried first: of 100,000 texts that spares a third of the time, of 10,000 none if too few are certainly the best then.
_FREQUENT, _FREQUENT_FIRST, _LARGE = 0.16, 0.5, 20_000
_TELLING_WORDS = 24  # of a record, to find others like it


class StoredTexts:
    """The texts of a memory, for searching. They are read from the search index, which is updated first.

    `searched` are the files to search, and `hidden` the paths of files that no answer may contain.
    `record.source.Texts` describes the methods.
    """

    def __init__(self, memory: Memory, searched: SearchSource, hidden: frozenset[str] = frozenset()) -> None:
        self._memory = memory
        self._searched = searched
        self._hidden = hidden
        self._questions: dict[str, FtsQuery] = {}
        self._use(*search_views.open_view(memory, searched))

    def _use(self, index: SearchIndex, view: int) -> None:
        self._index = index
        self._counts: dict[str, int] = {}
        self._live = f"(SELECT number, path FROM live WHERE view = {view:d})"
        if self._hidden:
            index.database.execute("CREATE TEMP TABLE hidden (path TEXT PRIMARY KEY)")
            index.database.executemany("INSERT INTO hidden VALUES (?)", [(path,) for path in self._hidden])
            self._live = self._live.replace(")", " AND path NOT IN (SELECT path FROM hidden))")

    @property
    def semantic_model(self) -> str:
        return self._memory.semantic_model

    def remark(self, text: str) -> None:
        if text not in self._memory.remarks:
            self._memory.remarks.append(text)

    def match(self, query: str, most: int | None = None, kinds: Collection[str] = tuple(KINDS)) -> list[Hit]:
        parsed_query = self._fts_query(query)
        expressions = parsed_query.any_of_it, parsed_query.without_phrases
        are_some = expressions[0] == expressions[1] and " OR " in expressions[0]
        rows = self._best(parsed_query, most, kinds) if most is not None and are_some else []
        for expression in filter(None, expressions):
            rows = rows or self._matching(expression, parsed_query.pairs, kinds, most)
        return [Hit(path, text, kind, key, number, thread) for number, path, text, kind, key, thread in rows]

    def frequencies(self, words: Iterable[str]) -> dict[str, int]:
        return {"": self._count("")} | {word: self._count(f'"{word}"') for word in words}

    def alike(self, words: Collection[str], most: int) -> list[Hit]:
        statement = _MATCH.replace("{kinds}", ", ".join("?" * len(KINDS))).replace("{best}", _BEST.format(1))
        rows = self._rows(f"{statement} ORDER BY score DESC", " OR ".join(f'"{word}"' for word in words), most, *KINDS)
        return [Hit(path, text, kind, key, number, thread) for number, path, text, kind, key, thread in rows]

    def links(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        return self._rows(_LINKS, str(list(numbers)))  # which is JSON

    def threads(self, names: Collection[str], most: int) -> list[list[Hit]]:
        found: dict[str, list[Hit]] = {}
        for number, path, kind, key, thread in self._rows(_THREADS, json.dumps(list(names)), most):
            found.setdefault(thread, []).append(Hit(path, 0.0, kind, key, number, thread))
        return list(found.values())

    def paths(self, query: str, most: int | None = None) -> list[str]:
        return [row[0] for row in self._rows_matching(_PATHS, query, -1 if most is None else most)]

    def _matching(
        self, words: str, pairs: Sequence[str], kinds: Collection[str], most: int | None, rarer: str = ""
    ) -> list[Any]:
        asked = [(1, words)] * bool(words) + [(_PAIR, " OR ".join(pairs))] * bool(pairs)
        best = " UNION ALL ".join(_BEST.format(factor) + (_WITHIN if rarer else "") for factor, _ in asked)
        best = _SUM.format(best) if len(asked) > 1 else best
        statement = _MATCH.replace("{kinds}", ", ".join("?" * len(kinds))).replace("{best}", best)
        values = [value for _, expression in asked for value in (expression, rarer) if value]
        rows = self._rows(statement, *values, -1 if most is None else max(_SPARE * most, _LEAST), *kinds)
        if most is None or rarer or len(rows) >= most:
            return rows
        # Some of the best may be of other views or kinds, and the best of this one below them.
        return self._matching(words, pairs, kinds, None)

    def _best(self, query: FtsQuery, most: int, kinds: Collection[str]) -> list[Any]:
        """Return the rows of a match but for texts that have none of its rarer words and pairs of words; [] if one of
        those may be among the `most` best. To score 10,000 texts takes 40 ms, and a prompt mostly has a word that all
        of them have. What more than half of them have counts for next to nothing (`_LEAST_FREQUENCY`) and is not
        scored: that takes half of the time. A word that no text has gives nothing, and leaves no doubt."""
        total = self._count("")
        counts = {word: self._count(word) for word in query.words}
        scored = [word for word, number in counts.items() if 0 < 2 * number <= total]
        counts |= {pair: self._count(pair) for pair in query.pairs if scored}
        weights = {words: _most_given(total, number) for words, number in counts.items() if number}
        weights |= {pair: _PAIR * weights[pair] for pair in query.pairs if pair in weights}
        tries: list[tuple[str, float]] = []
        for share in (_FREQUENT_FIRST, _FREQUENT) if total > _LARGE else (_FREQUENT,):
            rarer, rest = _rarer(sorted(weights, key=counts.__getitem__), weights, share)
            if not set(scored) <= set(rarer) and 2 * sum(counts[words] for words in rarer) <= total:
                tries.append((" OR ".join(rarer), rest))
        frequent = weights.keys() - {*scored, *query.pairs}
        tries += [("", sum(weights[word] for word in frequent))] * bool(frequent and (scored or query.pairs))
        for within, rest in tries:
            rows = self._matching(" OR ".join(scored), query.pairs, kinds, most, within)
            if sum(score > rest for _, _, score, *_ in rows) >= most:
                return rows
        return []

    def substitutes(self, query: str) -> dict[str, tuple[str, ...]]:
        return self._fts_query(query).substitutes

    def titles(self, numbers: Sequence[int]) -> dict[int, str]:
        return self._column("title", numbers)

    def bodies(self, numbers: Sequence[int]) -> dict[int, str]:
        return self._column("body", numbers)

    def _column(self, name: str, numbers: Sequence[int]) -> dict[int, str]:
        statement = f"SELECT rowid, {name} FROM texts WHERE rowid IN (SELECT value FROM json_each(?))"
        return dict(self._rows(statement, str(list(numbers))))

    def excerpts(self, query: str, numbers: Sequence[int]) -> dict[int, Excerpt]:
        parsed_query = self._fts_query(query)
        seeks = len(numbers) * (1 + parsed_query.any_of_it.count(" OR "))
        is_pass = "*" in parsed_query.any_of_it or seeks > _SEEKS
        rows = self._rows_matching(_EXCERPTS.format("+" if is_pass else ""), query, str(list(numbers)))
        pairs = (
            (number, self._of_best_piece(number, parsed_query) if marked is None else marked) for number, marked in rows
        )
        return {number: _excerpt(marked) for number, marked in pairs if _OPEN in marked}

    def _of_best_piece(self, number: int, query: FtsQuery) -> str:
        body = self.bodies([number]).get(number, "")  # another process may have just deleted it
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(TEXTS)
            pieces = ((body[start : start + _PIECE + _OVERLAP],) for start in range(0, len(body), _PIECE))
            database.executemany("INSERT INTO texts (body) VALUES (?)", pieces)
            for expression in filter(None, (query.any_of_it, query.without_phrases)):
                if row := database.execute(_BEST_PIECE, (expression,)).fetchone():
                    return str(row[0])
        return ""

    def similar(self, path: str) -> dict[str, float]:
        rows = self._rows(f"SELECT title, body {_EACH} WHERE path = ?", path)
        telling = self._telling_words(f"{rows[0][0]}\n{_HEADING.sub('', rows[0][1])}") if rows else []
        if not telling:
            return {}
        similar_rows = self._rows(
            f"SELECT path, -bm25(texts, {_WEIGHTS}) {_JOINED} WHERE texts MATCH ? AND {_OF_RECORDS}",
            " OR ".join(f'"{word}"' for word in telling),
        )
        scores = {other: max(score, 0.0) for other, score in similar_rows}
        own = scores.pop(path, 0.0)
        return {other: min(score / own, 1.0) for other, score in scores.items()} if own else {}

    def all_texts(self) -> Iterable[tuple[str, str]]:
        texts = "texts.title || char(10) || body || char(10) || terms"
        return self._rows(f"SELECT path, {texts} {_EACH} JOIN entries USING (number) WHERE {_OF_RECORDS} ORDER BY path")

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        find = "SELECT vector FROM embeddings WHERE digest = ?"
        rows_by_key = ((key, self._rows(find, key)) for key in keys)
        return {key: rows[0][0] for key, rows in rows_by_key if rows}

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        with suppress(sqlite3.OperationalError), self._index.transaction():  # else they are computed again
            self._index.database.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?)", values.items())

    def without(self, paths: Collection[str]) -> StoredTexts:
        return StoredTexts(self._memory, self._searched, self._hidden.union(paths)) if paths else self

    def _telling_words(self, text: str) -> list[str]:
        """Return the words that this text has often and other records seldom (TF-IDF)."""
        words = Counter(word for word in words_of(text) if not word.isdigit() and word not in STOP_WORDS)
        total = self._count("")
        frequent = {word: self._count(f'"{word}"') for word in words}
        weights = {word: times * math.log(1 + total / max(frequent[word], 1)) for word, times in words.items()}
        return sorted(weights, key=lambda word: (-weights[word], word))[:_TELLING_WORDS]

    def _count(self, expression: str) -> int:
        if expression not in self._counts:
            rows = self._rows(_COUNT, expression) if expression else self._rows(_TOTAL)
            self._counts[expression] = rows[0][0]
        return self._counts[expression]

    def _fts_query(self, query: str) -> FtsQuery:
        if query not in self._questions:
            self._questions[query] = fts_query.parse(query, self._substitutes)
            if len(beginning(query, fts_query.MOST_WORDS)) < len(query):
                self.remark(
                    f"the search text is long: only its first {fts_query.MOST_WORDS} different words are searched for"
                )
        return self._questions[query]

    def _substitutes(self, word: str) -> tuple[str, ...]:
        def count(phrase: str, most: int) -> int:
            number: int = self._rows(_COUNT_LIVE, f'"{phrase}"', most)[0][0]
            return number

        return vocabulary.substitutes(self._index.database, word, count)

    def _rows_matching(self, statement: str, query: str, *values: str | int) -> list[Any]:
        parsed_query = self._fts_query(query)
        expressions = filter(None, (parsed_query.any_of_it, parsed_query.without_phrases))
        return next((rows for expression in expressions if (rows := self._rows(statement, expression, *values))), [])

    def _rows(self, statement: str, *values: str | bytes | int) -> list[Any]:
        """If the index turns out to be damaged, or is in use for long, another one takes its place."""
        try:
            return self._execute(statement, values)
        except sqlite3.DatabaseError as error:
            is_damaged = not isinstance(error, sqlite3.OperationalError)
            if not is_damaged and "locked" not in str(error):
                raise
            self._use(*search_views.replacement_index(self._memory, self._index, self._searched, is_damaged=is_damaged))
            return self._execute(statement, values)

    def _execute(self, statement: str, values: Sequence[str | bytes | int]) -> list[Any]:
        return self._index.database.execute(statement.replace("{live}", self._live), values).fetchall()


def _most_given(total: int, count: int) -> float:
    """Return the most that a word which `count` of `total` texts have gives to the score of one."""
    return _MOST_OF_WORD * max(math.log((total - count + 0.5) / (count + 0.5)), _LEAST_FREQUENCY)


def _rarer(words: Sequence[str], weights: Mapping[str, float], share: float) -> tuple[list[str], float]:
    """Return the first of some words, until the rest can give no more than a share of what all can; what the rest can
    give."""
    rest = sum(weights.values())
    least, rarer = share * rest, []
    for word in words:
        if rest <= least:
            break
        rarer.append(word)
        rest -= weights[word]
    return rarer, rest


def _excerpt(marked: str) -> Excerpt:
    marked = _HEADING.sub(r"\1:", marked) if "#" in marked else marked
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
