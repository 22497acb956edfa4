"""Counting: o200k exactly, other families by measured factors, and never a figure without its source."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import msgspec

from memctl.store.cache import Cache, digest
from memctl.tokens import pieces
from memctl.tokens.families import Family

_ENCODING = "o200k_base"
_LONG_WORD = 60  # characters; paths are shorter


class Count(msgspec.Struct, frozen=True):
    """A number of tokens, where it comes from, and how far the truth may be from it (a fraction)."""

    tokens: int
    source: str
    error: float


class Counter:
    """Counts the tokens of one model family; counts of o200k are kept in a cache if there is one."""

    def __init__(self, family: Family, cache: Cache | None = None) -> None:
        self.family = family
        self._cache = cache

    def count(self, text: str, kind: str = "markdown") -> Count:
        """The tokens of a text of a kind (one of `families.KINDS`)."""
        factor = self.family.factors[kind]
        exact = self._exact(text)
        if exact is None:
            error = self.family.error + pieces.ERROR[kind]
            return Count(math.ceil(pieces.estimate(text, kind) * factor), f"pieces x {factor:g}", round(error, 2))
        source = "o200k" if factor == 1 else f"o200k x {factor:g}"
        return Count(math.ceil(exact * factor), source, self.family.error)

    def tokens(self, text: str, kind: str = "markdown") -> int:
        """Just the number."""
        return self.count(text, kind).tokens

    def is_within(self, text: str, least: int, most: int, kind: str = "markdown") -> bool:
        """Whether a text has from `least` to `most` tokens; counted only if cheap bounds do not tell."""
        key = digest(text, f"{self.family.name} {kind} {least}-{most}")
        if self._cache is not None and (known := self._cache.token_count(key)) is not None:
            return known == 1
        is_within = self._is_surely_within(text, least, most, kind) or least <= self.tokens(text, kind) <= most
        if self._cache is not None:
            self._cache.keep_token_count(key, int(is_within))
        return is_within

    def _is_surely_within(self, text: str, least: int, most: int, kind: str) -> bool:
        words, factor = text.split(), self.family.factors[kind]
        if not words or len(words) * factor < least:  # no token spans two words
            return False
        # Long words may be keys or digests, which have many tokens; letters of other scripts have up to one a byte.
        about = pieces.estimate(text, kind) + len(text.encode(errors="replace")) - len(text)
        return max(map(len, words)) <= _LONG_WORD and about * factor * (1 + 2 * pieces.ERROR[kind]) <= most

    def _exact(self, text: str) -> int | None:
        if self._cache is not None:
            key = digest(text, _ENCODING)
            known = self._cache.token_count(key)
            if known is not None:
                return known
        encoder = _tokenizer()
        if encoder is None:
            return None
        # encode_ordinary: `encode` would read <|endoftext|> in a record as an end of text
        number = len(encoder.encode_ordinary(text))
        if self._cache is not None:
            self._cache.keep_token_count(key, number)
        return number


@cache
def _tokenizer() -> Any:
    try:
        from splintr import Tokenizer
    except ImportError:  # no wheel for this platform
        return None
    return Tokenizer.from_pretrained(_ENCODING)
