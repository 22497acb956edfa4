"""Credentials with characters that nobody sees, in full width, and behind names of passwords in other scripts."""

from __future__ import annotations

import re

import pytest

from memctl.text import credentials
from memctl.text.credentials.normalization import normalize
from tests.text.secrets import normalized


@pytest.mark.parametrize("line", [*normalized("door"), *normalized("strict")])
def test_secret_is_found_at_its_place(line: str) -> None:
    secret = re.findall("«(.+)»", line)[0]
    text = re.sub("[«»]", "", line)
    is_strict = line in normalized("strict")
    for around in (text, f"Ünder\u200b «a» line.\n- {text}.\n再见\n"):
        found = credentials.find(around, strict=is_strict)
        assert any(secret in around[span.start : span.end] for span in found)
        assert credentials.is_in(around) is not is_strict
        assert secret not in credentials.redact(around)
        assert "再见" in credentials.redact(around) or around == text


@pytest.mark.parametrize("line", normalized("harmless"))
def test_sentence_without_a_secret_is_kept(line: str) -> None:
    assert credentials.find(line, strict=True) == []


def test_normalized_text_has_the_place_of_each_of_its_characters() -> None:
    flat, plain, places = normalize("a\u200b\uff1aключ Éö\u200be\u0301 ß٣语—")
    assert (flat, plain) == ("a:oooo Eoe s3 ?", "a:ключ Eoe s3语—")
    assert list(places) == [0, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 14, 15, 16, 17]
    assert normalize("plain") == ("plain", "plain", range(5))


def test_long_text_is_normalized_in_linear_time() -> None:  # else this test does not end
    assert not list(credentials.find("пароль и код доступа " * 50_000, strict=True))
