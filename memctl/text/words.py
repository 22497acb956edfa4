"""Split a text and its identifiers into words, as search and the ranking of files compare them.

The module does in Python what `unicode61` does, a tokenizer of SQLite's text search FTS5. A word is a run of letters
and digits, in lower case and without diacritics. So `snake_case`, `kebab-case`, `dotted.names` and `paths/of/files` are
split.

Three kinds of words that unicode61 leaves whole are split, too: `camelCase`, letters followed by digits, and runs of
scripts without spaces between words: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese and others. Such a run is
split into pairs of characters, the usual way to search it without a dictionary; vowel signs and tone marks, at which
unicode61 would break words, do not count as characters. Words keep their endings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memctl.text.lazy_regex import lazy_regex

# English words that do not say what a query is about.
_STOP_WORDS = """
a about am an and any are as at be been before being but by can could d did do does doing don for from get gets had has
have he her hers him his how i if in into is it its ll m many me more much my no not of often on or our re s she should
so some t than that the their them then there these they this to too up us ve very was we were what when where which
while who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_STEM = 6  # first letters in which equal words agree: "connection" and "connected", but not "connect" and "contact"
_WORD = lazy_regex(r"[^\W_]+")
_ASCII_PART = lazy_regex("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # HTTPServer2 is HTTP, Server, 2
_NOT_ASCII = lazy_regex("[^\\x00-\\x7f]+")
_SPACED = bytes(byte if byte > 127 or chr(byte).isalnum() else 32 for byte in range(256))
# Patterns of such ranges take 4 ms to compile, so they are compiled when they are first needed.
_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u1b00-\u1b7f"  # Thai to Burmese, Khmer, Tai, Balinese
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\ua4cf"  # kana, Bopomofo, Han, Yi
    "\ua980-\ua9ff\uaa60-\uaadf\uac00-\ud7af\uf900-\ufaff\uff66-\uffdc"  # Javanese, Burmese, Hangul, Han, half width
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"  # kana and Han beyond the first plane
)
_FIRST_UNSPACED = "\u0e00"
# Letters that Unicode does not take apart, as they are written where a keyboard lacks them; the sigmas are one.
_LETTERS = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "\u03c2": "\u03c3", "\u03a3": "\u03c3", "\u0131": "i", "ø": "o", "Ø": "O"}
    | {"ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
    | {"ð": "d", "Ð": "D", "þ": "th", "Þ": "TH"}
)
_DIACRITICS = lazy_regex("[\u0300-\u036f]+")
_RUNS = lazy_regex(f"([{_UNSPACED}]+)|([^{_UNSPACED}]+)")  # of unspaced script, and others


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order; a compound word is followed by its parts.

    `CardClient.pay_all` gives cardclient, card, client, pay, all.
    """
    return [each for word in whole_words(text) for each in (word.lower(), *parts_of(word))]


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words such as "the".

    The stem of a word is its first six letters: "connection" and "connected" have one stem.
    """
    return frozenset(word[:_STEM] for word in words_of(text) if word not in STOP_WORDS)


def whole_words(text: str) -> list[str]:
    """Return the words of a text in their order, without diacritics; case is kept, and identifiers are not split."""
    return _WORD.findall(fold_diacritics(text))


def beginning(text: str, most: int) -> str:
    """Return as much of the beginning of a text as has about `most` different words.

    Stop words such as "the" do not count, but parts of identifiers count as words.
    """
    seen: set[str] = set()
    for match in _WORD.finditer(text):
        if len(seen) >= most:
            return text[: match.start()]
        seen.update({match[0].lower(), *parts_of(match[0])} - STOP_WORDS)
    return text


class InnerWords:
    """Finds the parts of identifiers in many texts, for a text search that does not split identifiers itself.

    It is five times as fast as `words_of`, since it splits bytes and not characters, and splits each different word
    only once.
    """

    def __init__(self) -> None:
        self._plain: set[bytes] = set()  # the words so far that have no parts
        self._parts: dict[bytes, str] = {}  # the parts of all other words so far, joined by spaces

    def of(self, text: str) -> str:
        """Return the parts of the compound words in a text, joined by spaces: `getUser` has the parts "get user"."""
        words = set(text.encode().translate(_SPACED).split()) - self._plain
        parts = [self._parts.get(word) or self._split_word(word) for word in sorted(words)]
        return " ".join(filter(None, parts))

    def all_words(self) -> set[str]:
        """Return all words that were in the texts given so far, and the parts of compound words, in lower case."""
        odd = [word for word in self._plain if not word.isascii()] + list(self._parts)
        words = {each for word in odd for each in words_of(word.decode())}
        return words.union(b" ".join(self._plain.difference(odd)).decode().lower().split())

    def _split_word(self, word: bytes) -> str:
        text = word.decode()
        indexed = text if text.isascii() else _as_sqlite_indexes(text)
        parts: list[str] = []
        for whole in whole_words(text):
            parts += parts_of(whole)
            parts += [] if whole in indexed else [whole.lower()]
        if parts:
            self._parts[word] = " ".join(parts)
        else:
            self._plain.add(word)
        return " ".join(parts)


def parts_of(word: str) -> list[str]:
    """Return the parts of a compound word in lower case, without single letters; [] for a simple word."""
    if word.isascii():
        if word.isalpha() and word[1:].islower():  # most words
            return []
        parts = _ASCII_PART.findall(word)
        return [part.lower() for part in parts if len(part) > 1] if len(parts) > 1 else []
    if max(word) < _FIRST_UNSPACED:
        return []
    runs = _RUNS.findall(word)
    return [part for run in runs for part in _pairs(*run)] if any(unspaced for unspaced, _ in runs) else []


def fold_diacritics(text: str) -> str:
    """Return a text without diacritics and in plain letters: `é` becomes `e`, `ß` becomes `ss`.

    Of diacritics that is what SQLite's tokenizer `unicode61` does with the option `remove_diacritics 2`.
    """
    return text if text.isascii() else _NOT_ASCII.sub(_without_marks, text)


def _without_marks(run: re.Match[str]) -> str:
    """Return a run of characters beyond ASCII without combining marks, except those that make another kana.

    Of scripts without spaces, signs that combine with no other character's place are left out, too.
    """
    import unicodedata  # most texts are ASCII

    characters = [
        c
        for c in unicodedata.normalize("NFKD", run[0]).translate(_LETTERS)
        if c in "\u3099\u309a"
        or not (unicodedata.combining(c) or (c >= _FIRST_UNSPACED and unicodedata.category(c) in ("Mn", "Mc")))
    ]
    return unicodedata.normalize("NFC", "".join(characters))


def _as_sqlite_indexes(text: str) -> str:
    """Return a text as SQLite's tokenizer folds it, which breaks a word at other marks, such as vowel signs."""
    import unicodedata

    return unicodedata.normalize("NFC", _DIACRITICS.sub("", unicodedata.normalize("NFD", text)))


def _pairs(unspaced: str, other: str) -> Iterator[str]:
    if other:
        yield other.lower()
    else:
        yield from (unspaced[at : at + 2] for at in range(max(len(unspaced) - 1, 1)))


SHORTEST_GUESSED = 4  # letters; too many words are similar to a shorter one
_TWO_SLIPS = 8  # letters from which on two typing errors are allowed; on bench/labelled better than 6 and 7


def nearest(word: str, candidates: Iterable[str], changed: int = 1) -> list[str]:
    """Return those of the candidates that differ from a word by the fewest typing errors.

    At most one error is allowed, or two if the word has 8 letters or more; the result is [] if no candidate is that
    similar. A replaced letter counts as `changed` errors.
    """
    limit = 1 if len(word) < _TWO_SLIPS else 2
    result: list[str] = []
    for candidate in candidates:
        apart = distance(word, candidate, limit, changed)
        if apart < limit:
            limit, result = apart, []
        if apart == limit:
            result.append(candidate)
    return result


def distance(one: str, other: str, limit: int, changed: int = 1) -> int:
    """Return the number of typing errors between two words (their optimal string alignment distance).

    An error is a letter inserted, deleted, replaced, or swapped with the next one; a replaced letter counts as
    `changed` errors. If the number is above `limit`, the exact number is not needed, and `limit + 1` is returned at
    once.
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    far = limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [min(i, far)] + [far] * len(other)
        for j in range(max(1, i - limit), min(len(other), i + limit) + 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + changed * (letter != other[j - 1]))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == other[j - 1]:
                row[j] = min(row[j], last[j - 2] + 1)
        if min(row) > limit:
            return far
    return min(row[-1], far)
