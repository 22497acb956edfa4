"""Words of texts and identifiers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.words import InnerWords, fold_diacritics, parts_of, whole_words, words_of
from tests.conftest import Memctl


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


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("ฐานข้อมูลเชื่อมต่อหมด", "ข้อมูล"),  # Thai: a word inside of a title
        ("ការភ្ជាប់មូលដ្ឋានទិន្នន័យអស់ហើយ", "មូលដ្ឋានទិន្នន័យ"),  # Khmer
        ("ຖານຂໍ້ມູນເຊື່ອມຕໍ່ໝົດ", "ຂໍ້ມູນ"),  # Lao
        ("ဒေတာဘေ့စ်ချိတ်ဆက်မှုကုန်သွားသည်", "ချိတ်ဆက်မှု"),  # Burmese
        ("佐々木さんの人々", "人々"),  # with the mark of repetition
        ("ﾃﾞｰﾀﾍﾞｰｽ接続", "ﾍﾞｰｽ"),  # of half width
        ("𠮷野家𠮷田", "𠮷田"),  # beyond the first plane
        ("ꦥꦫꦧꦺꦴꦤ꧀ꦢꦠ", "ꦧꦺꦴꦤ꧀ꦢꦠ"),  # Javanese
        ("Straße sperren", "strasse"),
        ("Łódź serwer", "lodz"),
        ("λόγος καθυστέρησης", "ΛΌΓΟΣ"),
        ("مُحَمَّد قاعدة", "محمد"),  # with vowel signs
        ("שָׁלוֹם עולם", "שלום"),
        ("\uff21\uff22\uff23 widget", "abc"),  # of full width
        ("o\ufb03ce", "office"),  # with a ligature
    ],
)
def test_word_within_a_text_without_spaces_is_found(memctl: Memctl, text: str, query: str) -> None:
    found = memctl("learn", text, "--lesson", "x").id
    memctl("learn", "Another lesson", "--lesson", "y")
    assert [result["id"] for result in memctl("search", query, "--json").data["results"]] == [found]
    assert set(words_of(query)[1:]) <= set(words_of(text))


@given(st.text(alphabet="ฐานข้อมูលភ្ជာပ်数据 aé"))
def test_signs_of_scripts_without_spaces_do_not_split_words(text: str) -> None:
    assert set(words_of(fold_diacritics(text))) == set(words_of(text))
