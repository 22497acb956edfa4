"""Credentials with characters that nobody sees, in full width, and behind names of passwords in other scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memctl.text import credentials
from memctl.text.credentials.folding import fold

_FILE = Path(__file__).with_name("folded_secrets.txt")


def _lines(part: str) -> list[str]:
    text = re.sub(r"\\(u[0-9a-f]{4}|U[0-9a-f]{8})", lambda match: chr(int(match[1][1:], 16)), _FILE.read_text())
    return text.partition(f"[{part}]\n")[2].partition("\n[")[0].splitlines()


@pytest.mark.parametrize("line", [*_lines("door"), *_lines("strict")])
def test_secret_is_found_at_its_place(line: str) -> None:
    secret = re.findall("«(.+)»", line)[0]
    text = re.sub("[«»]", "", line)
    is_strict = line in _lines("strict")
    for around in (text, f"Ünder\u200b «a» line.\n- {text}.\n再见\n"):
        found = credentials.find(around, strict=is_strict)
        assert any(secret in around[span.start : span.end] for span in found)
        assert credentials.is_in(around) is not is_strict
        assert secret not in credentials.redact(around)
        assert "再见" in credentials.redact(around) or around == text


@pytest.mark.parametrize("line", _lines("harmless"))
def test_sentence_without_a_secret_is_kept(line: str) -> None:
    assert credentials.find(line, strict=True) == []


def test_folded_text_has_the_place_of_each_of_its_characters() -> None:
    flat, places = fold("a\u200b\uff1aключ é\u200b")
    assert (flat, list(places)) == ("a:???? ?", [0, 2, 3, 4, 5, 6, 7, 8])
    assert fold("plain") == ("plain", range(5))


def test_long_text_is_folded_in_linear_time() -> None:  # else this test does not end
    assert not list(credentials.find("пароль и код доступа " * 50_000, strict=True))
