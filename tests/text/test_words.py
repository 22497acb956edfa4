"""Words of texts and identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.words import InnerWords, fold_diacritics, parts_of, whole_words, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Look at the pool", ["look", "at", "the", "pool"]),
        ("CardClient.pay_all", ["cardclient", "card", "client", "pay", "all"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("sha256 utf-8 v2", ["sha256", "sha", "256", "utf", "8", "v2"]),
        ("src/payment/card-client.ts", ["src", "payment", "card", "client", "ts"]),
        (r"src\sync\push.ts", ["src", "sync", "push", "ts"]),
        ("max.poll.interval", ["max", "poll", "interval"]),
        ("Café naïveBayes", ["cafe", "naivebayes", "naive", "bayes"]),
        ("数据库 pool", ["数据库", "数据", "据库", "pool"]),
        ("", []),
    ],
)
def test_words_are_followed_by_their_parts(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_simple_word_has_no_parts() -> None:
    for word in ("pool", "POOL", "Pool", "größe", "привет", "x"):
        assert parts_of(word) == []


@given(st.text() | st.text(alphabet="abcXYZ019_-. é数据"))
def test_inner_words_complete_the_split_words(text: str) -> None:
    whole = [word.lower() for word in whole_words(text)]
    inner = InnerWords()
    assert set(inner.of(text).split()) | set(whole) == set(words_of(text)) == inner.all_words()
    assert inner.of(text) == InnerWords().of(text)


@given(st.text())
def test_folding_diacritics_twice_equals_folding_once(text: str) -> None:
    assert fold_diacritics(fold_diacritics(text)) == fold_diacritics(text)
