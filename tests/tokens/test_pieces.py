"""The estimate that needs no tokenizer."""

from __future__ import annotations

import pytest

from memctl.tokens import families
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES, KINDS

SAMPLES = {
    "prose": "The orders of a shop must not be lost when a worker dies, so every order is written down before the "
    "payment is asked for. We looked at three ways to do that. The simplest one won, because nobody had to learn "
    "a new tool for it, and because it can be taken out again within a day if it turns out to be too slow. ",
    "markdown": "## Decision\n\nUse **PostgreSQL** for orders.\n\n- `orders` keeps one row per order\n- see "
    "[the guide](docs/guide.md)\n\n## Rationale\n\nTransactions are needed, and the team knows the tool well.\n\n",
    "python": "def total(lines: list[Line]) -> Money:\n    result = Money(0)\n    for line in lines:\n        "
    "result += line.price * line.quantity\n    return result\n\n\n",
    "json": '{"id": 4711, "name": "Ada", "tags": ["a", "b"], "paid": true, "total": 12.5, "lines": [{"sku": "x-1"}]}\n',
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_estimate_is_near_the_exact_count(kind: str) -> None:
    text = SAMPLES[kind] * 5
    exact = Counter(FAMILIES["gpt"]).tokens(text)
    assert families.estimate(text, kind) == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_factor_and_an_error_band(kind: str) -> None:
    assert 0 < families.ERROR[kind] < 0.2
    assert families.estimate("word", kind) >= 1


def test_an_empty_text_has_no_tokens() -> None:
    assert families.estimate("", "prose") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_more_text_has_no_fewer_tokens(kind: str) -> None:
    text = "Größe: 12345 (ok) 日本語 😀\n\tx"
    counts = [families.estimate(text[:length], kind) for length in range(len(text) + 1)]
    assert counts == sorted(counts)


@pytest.mark.parametrize("text", ["日" * 30, "😀" * 30, "é" * 30])
def test_letters_outside_of_ascii_count_as_tokens(text: str) -> None:
    assert families.estimate(text, "prose") >= 20
