"""What queries become in FTS5's language."""

from __future__ import annotations

import sqlite3
from itertools import islice, product
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.store import fts_query


def nothing(_: str) -> tuple[str, ...]:
    return ()


def any_of(query: str) -> str:
    return fts_query.parse(query, nothing).any_of_it


def test_any_word_may_occur_but_for_stop_words() -> None:
    assert any_of("how do the retries work") == '"retries" OR "work"'


def test_a_query_of_stop_words_alone_asks_for_them() -> None:
    assert any_of("to be or not") == '"to" OR "be" OR "or" OR "not"'


def test_a_phrase_must_occur_and_a_beginning_may() -> None:
    assert any_of('"rate limit" auth*') == '"rate limit" AND ("rate limit" OR "auth"*)'
    assert any_of('"rate limit"') == '"rate limit"'
    assert fts_query.parse('"rate limit"', nothing).without_phrases == ""
    assert fts_query.parse('"rate limit" pool', nothing).without_phrases == '"rate limit" OR "pool"'


def test_bold_word_is_not_taken_for_a_prefix() -> None:
    assert any_of("**retry** pool**") == '"retry" OR "pool"'


def test_pasted_message_is_searched_by_each_word_of_its_phrase() -> None:
    assert any_of('probe failed: "rate limit" of pool, context exceeded') == (
        '"rate limit" OR "probe" OR "failed" OR "pool" OR "context" OR "exceeded" OR "rate" OR "limit"'
    )


def test_a_short_number_of_an_address_counts_only_in_it() -> None:
    assert any_of("probe 10.4.1.7:8080 404") == '"probe" OR "10 4 1 7 8080" OR "404"'
    assert any_of("bd-12345") == '"bd 12345" OR "bd" OR "12345"'


def test_an_identifier_is_looked_for_whole_and_in_parts() -> None:
    assert any_of("CardClient.payAll()") == (
        '"CardClient payAll" OR "cardclient" OR "card" OR "client" OR "payall" OR "pay" OR "all"'
    )
    assert any_of("src/db/pool.py") == '"src db pool py" OR "src" OR "db" OR "pool" OR "py"'


def test_words_next_to_each_other_are_pairs_unless_one_is_a_stop_word_or_both_are_short_numbers() -> None:
    asked = fts_query.parse("exit status 1 of rate-limit probe 10.4", nothing)
    assert asked.pairs == (
        '"exit status"',
        '"status 1"',
        '"limit probe"',
        '"probe 10"',
    )  # "rate limit" is searched anyway
    assert fts_query.parse('"rate limit" worker pool', nothing).pairs == ()


def test_a_word_is_replaced_by_what_is_like_it() -> None:
    asked = fts_query.parse("tiemout pool", lambda word: ("timeout", "time out") if word == "tiemout" else ())
    assert asked.any_of_it == '"timeout" OR "time out" OR "pool"'
    assert asked.substitutes == {"tiemout": ("timeout", "time out")}


def test_long_text_is_limited_in_searched_words_and_more_in_guesses() -> None:
    looked_up: list[str] = []

    def substitutes(word: str) -> tuple[str, ...]:
        looked_up.append(word)
        return (f"{word}x",)

    text = " ".join(f"pool, the ab{letters} tail" for letters in ascii_words(6_000))
    asked = fts_query.parse(text, substitutes)
    assert asked.words[:4] == ('"poolx"', '"abaaaax"', '"tailx"', '"abaaabx"')
    assert len(asked.words) == len(set(asked.words)) == fts_query.MOST_WORDS
    assert len(looked_up) == len(set(looked_up)) == len(asked.substitutes) == 50
    assert asked.words[50:52] == ('"abaabw"', '"abaabx"')


def ascii_words(many: int) -> list[str]:
    """So many different words of four letters."""
    return ["".join(letters) for letters in islice(product(ascii_lowercase, repeat=4), many)]


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "*", "()", '"?!"'])
def test_a_query_of_nothing_is_empty(query: str) -> None:
    assert any_of(query) == ""


@given(st.text() | st.text(alphabet='ab"*()-:^+ ANDORNEAR_é数'))
def test_any_query_is_valid_for_fts5(query: str) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    asked = fts_query.parse(query, nothing)
    for expression in (asked.any_of_it, asked.without_phrases, *asked.pairs):
        if expression:
            database.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (expression,)).fetchall()
    database.close()
