"""What a statement is about: the names in it, or else its words, by which two statements are known for one.

A name is what looks like an identifier, a path, a number or something in code: `parse_all`, retryLimit, pool.py, T-12.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import stems

_LOOKED_AT = 2_000  # characters
_NAMES, _WORDS = 2, 3  # that both have at least
_SHARE, _SHARE_OF_WORDS = 0.5, 0.6  # of the fewer names, or words
_CODE = lazy_regex(r"`([^`\n]{2,60})`")
_TOKEN = lazy_regex(r"[A-Za-z0-9_][\w./:#-]*\w")
_NAME = lazy_regex(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]|\w/\w|[a-z]\.[a-z]{2,4}\b|\d{3,}|[A-Za-z]-?\d|\d[a-z]|[A-Z]{3,}")


class Topic(msgspec.Struct, frozen=True):
    """The names in a text, in small letters, and the beginnings of its words."""

    names: frozenset[str]
    words: frozenset[str]

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(text: str) -> Topic:
        text = text[:_LOOKED_AT]
        code = [token for span in _CODE.findall(text) for token in _TOKEN.findall(span)]
        names = [*code, *(token for token in _TOKEN.findall(text) if _NAME.search(token))]
        return Topic(frozenset(name.strip(".:#-/").lower() for name in names), stems(text))

    def is_same(self, other: Topic) -> bool:
        """Whether two texts are about one thing: half of the names of the one are names of the other."""
        fewer = min(len(self.names), len(other.names))
        if fewer >= _NAMES:
            return len(self.names & other.names) >= max(_NAMES, _SHARE * fewer)
        fewer = min(len(self.words), len(other.words))
        return fewer >= _WORDS and len(self.words & other.words) >= _SHARE_OF_WORDS * fewer
