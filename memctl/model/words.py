"""The words of a text and of the identifiers in it, as search and file ranking compare them.

The pure half of what FTS5's tokenizer `unicode61` does: a word is a run of letters and digits, in lower case, without
diacritics, so `snake_case`, `kebab-case`, `dotted.names` and `paths/of/files` fall apart by themselves. What unicode61
leaves whole is taken apart here: `camelCase`, letters from digits, and runs of Chinese, Japanese or Korean characters,
which are written without spaces, into pairs (the usual way to search them without a dictionary). Thai, Lao and Khmer
have no spaces either and stay whole. Words are not stemmed here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

# Words of English that say nothing of what a query is about.
_STOP_WORDS = """
a about an and any are as at be been before but by can could did do does for from get gets had has have how i if in into
is it its me more my no not of on or our should so some than that the their them then there these they this to up us was
we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_ASCII_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")  # HTTPServer2 is HTTP, Server, 2
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # kana, Han, Hangul
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_WITH_PAIRS = re.compile(f"[{_UNSPACED}]")


def words_of(text: str) -> list[str]:
    """The words of a text in their order; an identifier of several words is followed by each of them.

    `CardClient.pay_all` gives cardclient, card, client, pay, all.
    """
    return [each for word in whole_words(text) for each in (word.lower(), *parts_of(word))]


def whole_words(text: str) -> list[str]:
    """The words of a text as they are written, but for diacritics, in their order."""
    return _WORD.findall(folded(text))


def inner_words(words: Iterable[str]) -> list[str]:
    """The parts of those of the words that have any: what a tokenizer that knows no identifiers misses."""
    several = [word for word in words if not (word.isascii() and word.isalpha() and word[1:].islower())]
    return [part for word in several for part in parts_of(word)]


def parts_of(word: str) -> list[str]:
    """The words that one word is made of, in lower case, but for single letters; none if it is a single word."""
    if word.isascii():
        parts = _ASCII_PART.findall(word)
        return [part.lower() for part in parts if len(part) > 1] if len(parts) > 1 else []
    if _WITH_PAIRS.search(word) is None:
        return []
    return [part for run in _UNSPACED_RUN.findall(word) for part in _pairs(run)]


def folded(text: str) -> str:
    """A text without diacritics: `é` is `e`, as unicode61 has it with `remove_diacritics 2`."""
    if text.isascii():
        return text
    kept = [c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c) or c in "\u3099\u309a"]
    return unicodedata.normalize("NFC", "".join(kept))


def _pairs(run: str) -> Iterator[str]:
    """The pairs of characters that follow each other in a run of unspaced script; another run is itself."""
    if _WITH_PAIRS.match(run) is None:
        yield run.lower()
    else:
        yield from (run[at : at + 2] for at in range(max(len(run) - 1, 1)))
