"""The words that occur in the memory, as they are written, from which misspelt words of a query are corrected."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from memctl.text.words import SHORTEST_GUESSED, nearest

_LONGEST = 40  # letters; nobody types longer words
_MANY = 1_000  # texts; words that occur in more than so many count as equally frequent
_MOST_SUBSTITUTES = 2  # nearest words that are searched in place of one
# The number of typing errors for which a changed letter counts. Most unknown words of a query are spelt correctly, and
# differ by one letter from another word (weak and week, reaper and reader). On the first half of bench/labelled MRR is
# .869, with 1 instead of 2 it is .866.
_CHANGED_LETTER_SLIPS = 2
_SHORTEST_BEGINNING = 5  # letters of a word that stands for the names which begin with it
_SAME_SOUND = str.maketrans("cz", "ss")  # licence and license, analyse and analyze

Count = Callable[[str, int], int]  # how many texts have a word or phrase, at most so many


def add(database: sqlite3.Connection, words: Iterable[str]) -> None:
    """Add words to the vocabulary; numbers, and very short or long words, are left out."""
    database.executemany("INSERT OR IGNORE INTO vocabulary VALUES (?)", [(word,) for word in _words_to_keep(words)])


def remove(database: sqlite3.Connection, words: Iterable[str]) -> None:
    """Remove from the vocabulary each of `words` that no text of the index contains any more.

    A word stays if a text contains another form of it with the same stem, such as its plural.
    """
    find = "SELECT 1 FROM texts WHERE texts MATCH ? LIMIT 1"
    gone = [(word,) for word in _words_to_keep(words) if not database.execute(find, (f'"{word}"',)).fetchone()]
    database.executemany("DELETE FROM vocabulary WHERE word = ?", gone)


def _words_to_keep(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if word.isalpha() and SHORTEST_GUESSED - 2 < len(word) <= _LONGEST})


def substitutes(database: sqlite3.Connection, word: str, count: Count) -> tuple[str, ...]:
    """Return the words to search for in place of the misspelt `word`, the most frequent first.

    The first rule that finds any word decides:

    - words that begin with `word`: ("postgresql",) for "postgres"
    - two words of which `word` is made: ("read timeout",) for "readtimeout"
    - words with a similar spelling that begin with the same letter, or with the second letter of `word`, since the
      first two may be swapped

    The result is () if `word` occurs in the memory, is a number, or resembles no other word. `count(text, most)`
    returns in how many texts a word or phrase occurs, at most `most`.
    """
    if len(word) < SHORTEST_GUESSED or len(word) > _LONGEST or word.isdigit() or count(word, 1):
        return ()
    if len(word) >= _SHORTEST_BEGINNING and (names := _most_frequent(_beginning_with(database, word), count)):
        return names
    split = [f"{word[:at]} {word[at:]}" for at in range(2, len(word) - 1)]
    together = [pair for pair in split if count(pair, 1)]
    if together or not word.isalpha():
        return tuple(together[:_MOST_SUBSTITUTES])
    candidates: list[str] = []
    # A shorter one that begins with the second letter is another word: who asks for away does not mean way.
    for first, shortest in {word[1]: len(word), word[0]: len(word) - 2}.items():
        candidates += _beginning_with(database, first, shortest, len(word) + 2)
    alike = [near for near in candidates if near.translate(_SAME_SOUND) == word.translate(_SAME_SOUND)]
    return _most_frequent(alike or nearest(word, candidates, _CHANGED_LETTER_SLIPS), count)


def _beginning_with(
    database: sqlite3.Connection, beginning: str, shortest: int = 0, longest: int = _LONGEST
) -> list[str]:
    rows = database.execute(
        "SELECT word FROM vocabulary WHERE word >= ? AND word < ? AND length(word) BETWEEN ? AND ?",
        (beginning, beginning[:-1] + chr(ord(beginning[-1]) + 1), shortest, longest),
    )
    return [row[0] for row in rows]


def _most_frequent(words: Iterable[str], count: Count) -> tuple[str, ...]:
    frequent = {word: number for word in words if (number := count(word, _MANY))}
    return tuple(sorted(frequent, key=lambda word: (-frequent[word], word))[:_MOST_SUBSTITUTES])
