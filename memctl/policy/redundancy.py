"""Which of several texts say the same, and lines of one text that only say again.

What is the same but for times, or more than 85 % alike, is a duplicate, and the most recent one stays
(rules.md#compaction). Numbers are no noise: two runs of tests with another count of failures are two facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from zlib import crc32

SIMILARITY = 0.85  # above this, a duplicate; rules.md#compaction
_SKETCH = 8  # hashes by which texts that may be alike find each other: two that share none are never compared
_RUN = 3  # words
_LONG = 400  # characters; longer texts are compared word by word, which takes a hundredth of the time
_LEAST = 3  # equal lines in a row that are worth a count

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NUMBER = re.compile(r"\d+")


def normalised(text: str) -> str:
    """A text without what differs between two that say the same: times, UUIDs, the width of space, case."""
    return " ".join(_UUID.sub("", _TIME.sub("", text)).casefold().split())


def similarity(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1; short ones by characters, long ones by words.

    Of texts that are no duplicates it is an upper bound, which takes less time.
    """
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
    return tuple(sorted({crc32(run.encode(errors="surrogatepass")) for run in _runs(words)})[:_SKETCH])


def _runs(words: Sequence[str]) -> Iterator[str]:
    if len(words) <= _RUN:
        yield from words
    for start in range(len(words) - _RUN + 1):
        yield " ".join(words[start : start + _RUN])
