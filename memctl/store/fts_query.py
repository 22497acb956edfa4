"""Translation of a query that a person typed into queries of FTS5, SQLite's text index.

A quoted phrase must occur; of all other words, the more occur, the better. `begin*` stands for all words that begin so.
But pasted messages often contain quotation marks. So if there are several other words, or if no text has the phrases, a
phrase need not occur, and each of its words counts by itself.

Of a long query only the first 400 different words are searched, and only the first 50 are corrected if misspelt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec

from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS, beginning, parts_of, whole_words

_BEGINNING = lazy_regex(r"[^*]+\*")  # `begin*`, and not **bold**
_POSSESSIVE = lazy_regex(r"(?<=\w)['\u2019]s\b")  # Caroline's is caroline
_CHUNK = lazy_regex(r'"[^"]*"|\S+')
# Words beside its phrases from which on a query is taken for a pasted message. Chosen on one half of bench/labelled.
_PASTED = 5
# Different words of a query that are looked for, here and in files: who pastes more says first what it is about, and
# among 10,000 records 400 take 0.3 s. To look for what is spelled like one that occurs nowhere takes 15 ms.
MOST_WORDS, _MOST_GUESSED = 400, 50
_MOST_CHARACTERS = 50 * MOST_WORDS  # stop words do not count as words, and a "word" may be a whole file
_LONGEST_NUMBER = 4  # digits
# What a query for a decision says besides its subject: "why did we choose PostgreSQL".
_ASKING = STOP_WORDS | {"choose", "chose", "chosen", "decide", "decided"}
Substitutes = Callable[[str], tuple[str, ...]]  # returns the words to search in place of one that occurs nowhere


class FtsQuery(msgspec.Struct, frozen=True):
    """A query in FTS5's language, in two forms: `without_phrases` is used if no text matches `any_of_it`.

    `any_of_it` demands all quoted phrases, unless the query has many other words; `without_phrases` demands no phrase.
    Both are "" for an empty query. `substitutes` maps each word that no text contains to its corrected spellings.
    `words` are all words and phrases that `without_phrases` searches for. `pairs` are words next to each other in the
    query: a text in which they are next to each other, too, matches better. There are no pairs if a phrase is demanded.
    """

    any_of_it: str
    without_phrases: str
    substitutes: dict[str, tuple[str, ...]]  # by words that occur nowhere
    words: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()


def parse(query: str, substitutes: Substitutes) -> FtsQuery:
    """Translate a query that a person typed into FTS5's language.

    `substitutes` is called with a word and returns its corrected spellings, () if some text contains the word as it is.
    """
    phrases: list[str] = []
    quoted: list[str] = []  # the words of phrases
    beside = 0  # words beside the phrases
    wanted: list[str] = []
    guessed: dict[str, tuple[str, ...]] = {}

    def once(word: str) -> tuple[str, ...]:
        if word not in guessed:
            guessed[word] = substitutes(word) if len(guessed) < _MOST_GUESSED else ()
        return guessed[word]

    query = beginning(query[:_MOST_CHARACTERS], MOST_WORDS)
    if "'s" in query or "\u2019s" in query:
        query = _POSSESSIVE.sub("", query)
    chunks = _CHUNK.findall(query) if '"' in query else query.split()
    for chunk in _without_stop_words(chunks):
        words = whole_words(chunk)
        if chunk.startswith('"'):
            phrases += [_quoted(words)] if words else []
            quoted += filter(_is_telling, words)
        elif words and chunk.endswith("*") and _BEGINNING.fullmatch(chunk):
            beside += 1
            wanted.append(_quoted(words) + "*")
        else:
            if len(words) > 1:  # the parts of an identifier or path: together they are more specific
                wanted.append(_quoted(words))
            for word in words:
                if len(words) == 1 or _is_telling(word):
                    beside += 1
                    wanted += _alternatives(word, once)
    is_exact = phrases and beside < _PASTED
    if not is_exact:
        wanted += [each for word in quoted for each in _alternatives(word, once)]
    known = dict.fromkeys([*phrases, *wanted])
    anything = " OR ".join(known)
    required = [*phrases, f"({anything})"] if wanted else phrases  # phrases alone are not looked for twice
    any_of_it = " AND ".join(required) if is_exact else anything
    replaced = {word: others for word, others in guessed.items() if others}
    pairs = () if is_exact else tuple(pair for pair in _pairs(query) if pair not in known)
    return FtsQuery(any_of_it, anything if wanted else "", replaced, tuple(known), pairs)


def _pairs(query: str) -> Iterable[str]:
    """Pairs have no stop word, and one word of each is looked for by itself."""
    pairs = (pair for pair in pairwise(whole_words(query)) if STOP_WORDS.isdisjoint(map(str.lower, pair)))
    return dict.fromkeys(_quoted([*pair]) for pair in pairs if any(map(_is_telling, pair)))


def _is_telling(word: str) -> bool:
    """Return whether a word of several in a phrase, a path or an address is looked for by itself, too.

    A stop word is not, nor a short number such as 10, 4, 1 and 8080 of `10.4.1.7:8080`, which other texts have by
    chance: on the first half of bench/labelled recall for error texts rises from .971 to 1, and on titles of issues of
    two real trackers MRR from .664 to .667.
    """
    return word.lower() not in STOP_WORDS and not (word.isdigit() and len(word) <= _LONGEST_NUMBER)


def _without_stop_words(chunks: list[str]) -> list[str]:
    return [chunk for chunk in chunks if not set(map(str.lower, whole_words(chunk))) <= _ASKING] or chunks


def _alternatives(word: str, substitutes: Substitutes) -> list[str]:
    parts = parts_of(word)
    if not parts:
        return _spellings(word.lower(), substitutes)
    spelled = {part: _spellings(part, substitutes) for part in parts}
    wanted = [each for part, spellings in spelled.items() if part not in STOP_WORDS for each in spellings]
    return [_quoted([word.lower()]), *wanted]


def _spellings(word: str, substitutes: Substitutes) -> list[str]:
    return [_quoted([other]) for other in substitutes(word) or (word,)]


def _quoted(words: list[str]) -> str:
    return '"' + " ".join(words) + '"'
