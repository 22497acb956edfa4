"""How well the texts of the repository's own files match a query, by the search index.

1,600 files of 13 MB are indexed in 0.5 s, and take 4 MB on the disk. The index stores words and not whole texts, so a
single text can't be removed from it: rows of old texts stay in it. As soon as there are more than twice as many old
rows as rows that are in a list, all rows are made anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from heapq import nlargest, nsmallest

import msgspec

from memctl.store.file_list import FileList
from memctl.store.fts_query import MOST_WORDS
from memctl.text import sensitive_files
from memctl.text.words import STOP_WORDS, beginning, whole_words, words_of

LARGEST, MOST = 256 * 1024, 200_000_000  # bytes of a file that is indexed, and of all of them
TOO_LARGE = f"it has more than {LARGEST // 1024} KB"
NO_ROOM = f"the search index holds at most {MOST // 1_000_000} MB of files, and smaller ones come first"
# What a word counts in the path, the text, and the parts of identifiers. Of `bench.file_ranking` hardly anything
# changes with them: with 5, 1 and .5, or 3, 1 and 0, recall@10 is within .01.
_WEIGHTS = "10, 1, 0.5"
_LISTED = (
    "FROM file_texts CROSS JOIN listed ON listed.list = ? AND listed.number = file_texts.rowid AND named"
    " WHERE file_texts MATCH ?"
)
_SCORES = f"SELECT file_texts.rowid, -bm25(file_texts, {_WEIGHTS}) {_LISTED}"
_IN_ROW = "SELECT 1 FROM file_texts WHERE file_texts MATCH ? AND rowid = ?"
_ENOUGH = 0.5  # the share of a query's weight below which even the best file does not match well
_COUNT = "SELECT count(*) FROM file_texts WHERE file_texts MATCH ?"
_MANY = 5_000  # files; a word of more, and of more than half of all, finds no file by itself
_BEST, _MOST_WORDS = 100, 40  # the most files, and words, for which it is listed which file has which word


class FileMatches(msgspec.Struct, frozen=True):
    """The files that match a query, and how well each does.

    - `shares` maps the path of each file to a number up to 1: the better the file matches, the higher it is. It is the
      file's BM25 score divided by the best file's score. If even the best file lacks more than half of the query's
      words, weighted by how rare they are, all numbers are multiplied by one factor below 1. At most 5,000 files are
      returned.
    - `words` maps the path of each of the 100 best files to the words of the query that the file contains.
    - `left_out` maps the path of each file that is not indexed to the reason.
    """

    shares: dict[str, float]
    words: dict[str, list[str]]
    left_out: dict[str, str]


def matches(files: FileList, query: str) -> FileMatches:
    """Return which of the listed files match a query, and how well.

    A file matches if it contains a word of the query; if the query has quoted phrases, it must contain all of them.
    """
    left_out = {path: why for path, why in files.left_out().items() if why != sensitive_files.BINARY}
    words, phrases = _words(query)
    found = _Scores(files, len(files) - len(left_out))
    found.take(phrases or words, is_needed=bool(phrases))
    scores = found.scores
    chosen = nlargest(_MANY, scores, key=scores.__getitem__) if len(scores) > _MANY else scores
    paths = files.load(chosen)
    best_files = nsmallest(_BEST, paths, key=lambda number: (-scores[number], paths[number]))
    having: dict[int, list[str]] = {number: [] for number in best_files}
    weights = {}
    for word in words[:_MOST_WORDS] if best_files else ():
        weights[word] = math.log(1 + found.files / (1 + found.count(word)))
        for number in found.having(word, best_files):
            having[number].append(word)
    best, scale = 1.0, 1.0
    if best_files:
        covered = sum(weights[word] for word in having[best_files[0]]) / (sum(weights.values()) or 1.0)
        best, scale = scores[best_files[0]] or 1.0, min(covered / _ENOUGH, 1.0)
    return FileMatches(
        {path: scale * scores[number] / best for number, path in paths.items()},
        {paths[number]: words for number, words in having.items()},
        left_out,
    )


class _Scores:
    """BM25 of the listed files, by their numbers, as if the index had no others.

    FTS5 counts all rows: a file that was indexed in a hundred versions would make its words frequent, and be the last
    to be found by them. So each term is asked for by itself, and its inverse document frequency is put right.
    """

    def __init__(self, files: FileList, indexed: int) -> None:
        self._database = files.index.database
        self._list = files.number
        self._rows: int = self._database.execute("SELECT count(*) FROM file_texts_docsize").fetchone()[0]
        self._counted: dict[str, int] = {}
        self._scored: dict[str, dict[int, float]] = {}
        self.files = indexed
        self.scores: dict[int, float] = {}

    def take(self, terms: Sequence[str], *, is_needed: bool) -> None:
        """Add the scores of the files that have one of some terms, or all of them if they are needed.

        A term that more than half of the files have scores nothing in BM25. If these are more than 5,000 files, it is
        passed over, unless no other term is found.
        """
        most = max(self.files / 2, _MANY)
        telling = [term for term in terms if 0 < self.count(term) <= most]
        if is_needed and terms:
            every = set.intersection(*(set(self._scores_of(term)) for term in terms))
            self.scores = dict.fromkeys(every, 0.0)
        for term in terms if is_needed or not telling else telling:
            self._add(term, only_known=is_needed)

    def _add(self, term: str, *, only_known: bool) -> None:
        scored = self._scores_of(term)
        right = _frequency(self.files, len(scored)) / _frequency(self._rows, self._count_rows(term))
        for number, score in scored.items():
            if not only_known or number in self.scores:
                self.scores[number] = self.scores.get(number, 0.0) + score * right

    def count(self, term: str) -> int:
        """Return how many files have a term; of one that more than half have, the least number that is possible."""
        if term not in self._scored:
            least = self._count_rows(term) - (self._rows - self.files)  # if all rows of other files have it
            if least > self.files / 2:
                return least
        return len(self._scores_of(term))

    def _count_rows(self, term: str) -> int:
        if term not in self._counted:
            self._counted[term] = self._database.execute(_COUNT, (f'"{term}"',)).fetchone()[0]
        return self._counted[term]

    def having(self, term: str, among: Collection[int]) -> Collection[int]:
        if term in self._scored:
            return self._scored[term].keys() & among
        return {number for number in among if self._database.execute(_IN_ROW, (f'"{term}"', number)).fetchone()}

    def _scores_of(self, term: str) -> dict[int, float]:
        if term not in self._scored:
            self._scored[term] = dict(self._database.execute(_SCORES, (self._list, f'"{term}"')).fetchall())
        return self._scored[term]


def _frequency(rows: int, having: int) -> float:
    """Return the inverse document frequency of a term as FTS5 has it (fts5_aux.c)."""
    return max(math.log((max(rows - having, 0) + 0.5) / (having + 0.5)), 1e-6)


def _words(query: str) -> tuple[list[str], list[str]]:
    """Return the words of a query, any of which may occur, and its phrases in quotation marks, all of which must."""
    query = beginning(query, MOST_WORDS)
    words = [word for word in dict.fromkeys(words_of(query)) if word not in STOP_WORDS and len(word) > 1]
    phrases = [" ".join(found) for part in re.findall(r'"([^"]*)"', query) if (found := whole_words(part))]
    return words, list(dict.fromkeys(phrases))
