"""How alike texts are: which of several say the same, which lines of one only say again, and by which words.

What is the same but for times, or more than 85 % alike, is a duplicate, and the most recent one stays
(rules.md#compaction). Numbers are no noise: two runs of tests with another count of failures are two facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from zlib import crc32

from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS

SIMILARITY = 0.85  # above this, a duplicate; rules.md#compaction
_SKETCH = 8  # hashes by which texts that may be alike find each other: two that share none are never compared
_RUN = 3  # words
_LONG = 400  # characters; longer texts are compared word by word, which takes a hundredth of the time
_SHORT = 8  # words: what is shorter recurs without being repetition
_LEAST = 3  # equal lines in a row that are worth a count

# What says nothing of a task either, though in a question it may.
_TASK_WORDS = """
after all also because being just make most must need needs one only other out over please such use used using work
"""
_TASK_STOP_WORDS = STOP_WORDS.union(_TASK_WORDS.split()).difference(("get", "gets", "i", "me", "my", "us"))
_ENDINGS = ("ations", "ation", "ings", "ing", "ments", "ment", "ies", "ied", "ers", "ed", "es", "er", "ly", "s", "e")
_TERM, _HUMP = lazy_regex(r"[^\W\d_]+|\d{2,}"), lazy_regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLAIN = lazy_regex(r"[^\W_]+")
_TIME = lazy_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_UUID = lazy_regex(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NUMBER = lazy_regex(r"\d+")
_WORD = lazy_regex(r"\w+")


def normalised(text: str) -> str:
    """A text without what differs between two that say the same: times, UUIDs, the width of space, case."""
    return " ".join(_UUID.sub("", _TIME.sub("", text)).casefold().split())


def similarity(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1; short ones by characters, long ones by words.

    Of texts that are no duplicates it is an upper bound, which takes less time.
    """
    from difflib import SequenceMatcher  # 2 ms, which hooks that compare words need not take

    is_long = len(one) > _LONG and len(other) > _LONG
    first, second = (one.split(), other.split()) if is_long else (one, other)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if min(matcher.real_quick_ratio(), matcher.quick_ratio()) <= SIMILARITY:
        return min(matcher.real_quick_ratio(), matcher.quick_ratio())
    return matcher.ratio()


def duplicates(texts: Sequence[str]) -> dict[int, int]:
    """Of texts in the order of time, the numbers of those that a later one says again, each with the number of that.

    Texts with other numbers in them are only duplicates if they are equal.
    """
    plain = [normalised(text) for text in texts]
    exact: dict[str, int] = {}
    by_sketch: dict[int, list[int]] = {}
    found: dict[int, int] = {}
    for number in reversed(range(len(texts))):
        text = plain[number]
        if not text:
            continue
        sketch = _sketch(text)
        later = exact.get(text, -1)
        candidates = sorted({other for mark in sketch for other in by_sketch.get(mark, ())}, reverse=True)
        if later < 0:
            later = next((other for other in candidates if _alike(text, plain[other])), -1)
        if later >= 0:
            found[number] = later
            continue
        exact[text] = number
        for mark in sketch:
            by_sketch.setdefault(mark, []).append(number)
    return found


def consolidated(text: str) -> str:
    """A text in which lines that come again right away, or differ in times alone, stand once with their count."""
    lines = []
    for _, group in groupby(text.split("\n"), key=lambda line: normalised(line) or line):
        same = list(group)
        if len(same) < _LEAST or not same[0].strip():
            lines += same
        else:
            lines.append(f"{same[-1]} ({len(same)} times)")
    return "\n".join(lines)


def _alike(one: str, other: str) -> bool:
    return _NUMBER.findall(one) == _NUMBER.findall(other) and similarity(one, other) > SIMILARITY


def _sketch(text: str) -> tuple[int, ...]:
    """The smallest hashes of a text's runs of words: texts that are alike have some in common."""
    words = text.split()
    return tuple(sorted({*_runs(words), *(map(_hash, words) if len(words) <= _RUN else ())})[:_SKETCH])


def shingles(text: str) -> frozenset[int]:
    """The runs of three words in a text, as numbers; none of a text that is very short."""
    words = _WORD.findall(text.casefold())
    return frozenset(_runs(words)) if len(words) >= _SHORT else frozenset()


def _runs(words: Sequence[str]) -> Iterator[int]:
    yield from (_hash(" ".join(words[start : start + _RUN])) for start in range(len(words) - _RUN + 1))


def _hash(text: str) -> int:
    return crc32(text.encode(errors="replace"))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors, 0 for what has no direction or not the same number of dimensions."""
    if len(one) != len(other):
        return 0.0
    lengths = math.hypot(*one) * math.hypot(*other)
    if not lengths or not math.isfinite(lengths):
        return 0.0
    return max(-1.0, min(1.0, sum(x * y for x, y in zip(one, other, strict=True)) / lengths))


def terms(text: str) -> set[str]:
    """The words of a text that carry meaning, without their endings; camelCase and snake_case are taken apart."""
    found = (
        part for word in _TERM.findall(text) for part in (_HUMP.findall(word) if word.isascii() else ()) or (word,)
    )
    return {_stem(word) for word in map(str.lower, found) if len(word) > 1 and word not in _TASK_STOP_WORDS}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, with their diacritics; identifiers stay whole but for `_`."""
    return _PLAIN.findall(text.lower())


def comparable(text: str) -> str:
    """What is the same in a text with Markdown's marks and without: its words, one space apart."""
    return " ".join(plain_words(text))
