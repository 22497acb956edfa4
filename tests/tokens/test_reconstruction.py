"""ctok, where it is installed; where it is not, a stand-in shows what is made of its answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.tokens import count as tokens_count
from memctl.tokens.count import Calibration, Counter
from memctl.tokens.families import FAMILIES, family_of
from tests.tokens.test_pieces import SAMPLES

STAND_IN = """
def token_count(text, version="3.0"):
    return {"3.0": 7, "4.7": 11, "4.8": 6}[version] + (0 if not text else max(1, len(text) // 4))
"""
TEXT = "The orders of a shop must not be lost when a worker dies. " * 10


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "ctok.py").write_text(STAND_IN)
    real = sys.modules.pop("ctok", None)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        yield
    sys.modules.pop("ctok", None)
    if real is not None:
        sys.modules["ctok"] = real


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctok", None)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("model", "name"),
    [("claude-sonnet-4-5", "ctok 3.0"), ("claude-opus-4-7", "ctok 4.7"), ("claude-opus-4-8", "ctok 4.8")],
)
def test_a_model_is_counted_by_its_generation_without_the_frame_of_a_request(model: str, name: str) -> None:
    count = Counter(family_of(model), tokenizer=tokens_count.tokenizer_of(model)).count(TEXT)
    assert (count.tokens, count.source, count.error) == (len(TEXT) // 4, name, tokens_count.TOKENIZER_ERROR)
    assert Counter(family_of(model), tokenizer=tokens_count.tokenizer_of(model)).tokens("") == 0


@pytest.mark.usefixtures("stand_in")
def test_tokenizer_of_a_model_overrides_its_calibration() -> None:
    learnt = Calibration(model="claude", ratio=1.04, observations=37, error=0.03, before=0.05, after=0.02)
    counter = Counter(FAMILIES["claude"], calibration=learnt, tokenizer=tokens_count.tokenizer_of("claude"))
    assert counter.count(TEXT).source == "ctok 4.8"


@pytest.mark.usefixtures("stand_in")
def test_other_models_are_not_counted_by_claudes_tokenizer() -> None:
    assert tokens_count.tokenizer_of("gpt-5") is None


@pytest.mark.usefixtures("absent")
def test_without_the_tokenizer_factors_are_used() -> None:
    assert tokens_count.tokenizer_of("claude") is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="ctok needs Python 3.12")
def test_real_tokenizer_is_near_the_factors() -> None:
    pytest.importorskip("ctok")
    text = SAMPLES["markdown"] * 5
    for model in ("claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-4-8"):
        tokenizer = tokens_count.tokenizer_of(model)
        assert tokenizer is not None
        assert (tokenizer.count("a"), tokenizer.count("")) == (1, 0), "the frame of a request is not counted"
        assert Counter(family_of(model)).tokens(text, "markdown") == pytest.approx(tokenizer.count(text), rel=0.2)
