"""Compare texts: find duplicates, repeated lines, and shared words.

Two texts are duplicates if they differ only in times, or are more than 85 % similar. Of two duplicates the more recent
one is kept (rules.md#compaction). Texts with different numbers are no duplicates: two test runs with different counts
of failures are two facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from zlib import crc32

from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS

SIMILARITY = 0.85  # above this, a duplicate; rules.md#compaction
_SKETCH = 8  # hashes of a text; only texts that share one of them are compared
_RUN = 3  # words in a run
_LONG = 400  # characters; longer texts are compared word by word, which takes a hundredth of the time
_SHORT = 8  # words; shorter texts often recur by chance
_LEAST = 3  # equal lines in a row from which on they are replaced by one and their number

# Further words without meaning in the description of a task; in a question they may have one.
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


def normalise(text: str) -> str:
    """Return a text without everything in which duplicates may differ, so that they can be compared.

    Times and UUIDs are removed, letters become lower case, and each run of white space becomes one space.
    """
    return " ".join(_UUID.sub("", _TIME.sub("", text)).casefold().split())


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, from 0 to 1: short texts are compared by characters, long ones by words.

    A result of at most 0.85 says that the texts are no duplicates. Such a result is only estimated, and the true value
    may be smaller.
    """
    from difflib import SequenceMatcher  # 2 ms, which hooks that compare words need not take

    is_long = len(one) > _LONG and len(other) > _LONG
    first, second = (one.split(), other.split()) if is_long else (one, other)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    most = min(matcher.real_quick_ratio(), matcher.quick_ratio())
    return matcher.ratio() if most > SIMILARITY else most


def duplicates(texts: Sequence[str]) -> dict[int, int]:
    """Return which texts have a later duplicate: index of a text -> index of the duplicate that is kept instead of it.

    `texts` are in the order of time, the oldest first: ["a", "b", "a"] gives {0: 2}. Texts with different numbers in
    them are no duplicates.
    """
    plain = [normalise(text) for text in texts]
    exact: dict[str, int] = {}
    by_sketch: dict[int, list[int]] = {}
    copies: dict[int, int] = {}
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
            copies[number] = later
            continue
        exact[text] = number
        for mark in sketch:
            by_sketch.setdefault(mark, []).append(number)
    return copies


def consolidate(text: str) -> str:
    """Return a text in which each group of repeated lines is one line, such as "line (3 times)".

    Lines are repeated if three or more of them follow each other and differ only in times. The last of them is kept.
    """
    lines = []
    for _, group in groupby(text.split("\n"), key=lambda line: normalise(line) or line):
        same = list(group)
        if len(same) < _LEAST or not same[0].strip():
            lines += same
        else:
            lines.append(f"{same[-1]} ({len(same)} times)")
    return "\n".join(lines)


def _alike(one: str, other: str) -> bool:
    return _NUMBER.findall(one) == _NUMBER.findall(other) and similarity(one, other) > SIMILARITY


def _sketch(text: str) -> tuple[int, ...]:
    words = text.split()
    return tuple(sorted({*_runs(words), *(map(_hash, words) if len(words) <= _RUN else ())})[:_SKETCH])


def shingles(text: str) -> frozenset[int]:
    """Return a hash of each run of three neighbouring words in a text.

    Two texts with many hashes in common have passages in common. The result is empty for a text of fewer than eight
    words, since such texts are often equal by chance.
    """
    words = _WORD.findall(text.casefold())
    return frozenset(_runs(words)) if len(words) >= _SHORT else frozenset()


def _runs(words: Sequence[str]) -> Iterator[int]:
    yield from (_hash(" ".join(words[start : start + _RUN])) for start in range(len(words) - _RUN + 1))


def _hash(text: str) -> int:
    return crc32(text.encode(errors="replace"))


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors; 0 if one is zero or their dimensions differ."""
    if len(one) != len(other):
        return 0.0
    lengths = math.hypot(*one) * math.hypot(*other)
    if not lengths or not math.isfinite(lengths):
        return 0.0
    return max(-1.0, min(1.0, sum(x * y for x, y in zip(one, other, strict=True)) / lengths))


def terms(text: str) -> set[str]:
    """Return the meaningful words of a text without their endings; camelCase and snake_case are split into words."""
    terms_found = (
        part for word in _TERM.findall(text) for part in (_HUMP.findall(word) if word.isascii() else ()) or (word,)
    )
    return {_stem(word) for word in map(str.lower, terms_found) if len(word) > 1 and word not in _TASK_STOP_WORDS}


def _stem(word: str) -> str:
    fitting = (ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= 3)
    return word.removesuffix(next(fitting, ""))


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with their accents; identifiers are split only at `_`."""
    return _PLAIN.findall(text.lower())


def comparable(text: str) -> str:
    """Return the words of a text joined by spaces: texts that differ only in Markdown's marks become equal."""
    return " ".join(plain_words(text))
