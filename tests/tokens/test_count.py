"""Counting tokens."""

from __future__ import annotations

import math

import pytest

from memctl.store.cache import Cache, digest
from memctl.tokens.count import Count, Counter
from memctl.tokens.families import FAMILIES, KINDS, Family

TEXT = "The quick brown fox jumps over the lazy dog.\n"


def test_o200k_is_counted_exactly() -> None:
    assert Counter(FAMILIES["gpt"]).count(TEXT) == Count(10, "o200k", 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_other_families_are_counted_with_a_factor_named_in_the_source(kind: str) -> None:
    family = FAMILIES["claude"]
    exact = Counter(FAMILIES["gpt"]).tokens(TEXT)
    factor = family.factors[kind]
    assert Counter(family).count(TEXT, kind) == Count(math.ceil(exact * factor), f"o200k x {factor:g}", family.error)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_an_empty_text_has_no_tokens(family: Family) -> None:
    assert Counter(family).tokens("") == 0


def test_special_token_in_a_text_is_counted_as_text() -> None:
    """Else a record could end the text of its pack."""
    assert Counter(FAMILIES["gpt"]).tokens("<|endoftext|>") > 1


@pytest.mark.parametrize("text", ["😀" * 50, "\x00\x1b\u2028", "日本語", " " * 5000, "a" * 5000, "\ufeff"])
def test_any_text_can_be_counted(text: str) -> None:
    assert Counter(FAMILIES["claude"]).tokens(text) >= 1


def test_counts_are_kept_in_the_cache_and_taken_from_it() -> None:
    cache = Cache.open(None)
    counter = Counter(FAMILIES["gpt"], cache)
    exact = counter.tokens(TEXT)
    assert cache.token_count(digest(TEXT, "o200k_base")) == exact
    cache.keep_token_count(digest("something else", "o200k_base"), 12345)
    assert counter.tokens("something else") == 12345


def test_families_share_cached_counts() -> None:
    cache = Cache.open(None)
    Counter(FAMILIES["gpt"], cache).tokens(TEXT)
    assert Counter(FAMILIES["claude"], cache).tokens(TEXT) == Counter(FAMILIES["claude"]).tokens(TEXT)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
@pytest.mark.parametrize(
    "text", [TEXT * 7, "größe §2.1 日本語 `a_b.c` — ok\n" * 30, '{"a": [1, 2.5, "x y"]}\n' * 40, "\n" * 300]
)
def test_limit_check_agrees_with_the_count(family: Family, text: str) -> None:
    number = Counter(family).tokens(text)
    for least, most in ((0, number), (number, number), (number + 1, 10**6), (0, number - 1), (0, 10**6)):
        cache = Cache.open(None)
        for _ in range(2):  # the second time, what the first has kept
            counter = Counter(family, cache)
            assert counter.is_within(text, least, most) == (least <= number <= most), (least, most)


def test_cached_limit_checks_are_kept_apart() -> None:
    cache = Cache.open(None)
    counter = Counter(FAMILIES["claude-4.5"], cache)
    number = counter.tokens(TEXT * 100)
    assert counter.is_within(TEXT * 100, 0, number)
    assert not counter.is_within(TEXT * 100, number + 1, number + 2)
