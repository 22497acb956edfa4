"""Learning a factor."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.store.cache import Cache
from memctl.store.token_samples import TokenSample
from memctl.tokens.count import LEAST, MOST, RATE, Calibration, Counter, Tokenizer, calibrate, digest_of, name_of
from memctl.tokens.families import FAMILIES

FAMILY = FAMILIES["claude-4.5"]
counts = st.integers(50, 100_000)


def seen(estimate: int, reported: int, kinds: str = "prose") -> TokenSample:
    return TokenSample(b"", kinds, estimate, reported)


def learnt(found: list[TokenSample]) -> Calibration:
    result = calibrate("claude-sonnet-4-5", found, FAMILY)
    assert result is not None
    return result


def test_without_observations_there_is_no_calibration() -> None:
    assert calibrate("claude-sonnet-4-5", [], FAMILY) is None


def test_each_observation_moves_the_ratio_by_the_rate() -> None:
    assert learnt([seen(100, 150)]).ratio == pytest.approx(1 + RATE * 0.5)
    assert learnt([seen(100, 150)] * 2).ratio == pytest.approx(1.1 + RATE * 0.4)


def test_many_equal_observations_yield_their_ratio() -> None:
    taught = learnt([seen(100, 130)] * 40)
    assert taught.ratio == pytest.approx(1.3, abs=0.001)
    assert taught.before == pytest.approx(1 - 100 / 130, abs=0.001)
    assert taught.after < 0.001


@given(st.lists(st.builds(seen, counts, counts), min_size=1, max_size=60))
def test_a_ratio_stays_within_its_bounds(found: list[TokenSample]) -> None:
    assert LEAST <= learnt(found).ratio <= MOST


def test_single_outlier_moves_the_ratio_by_one_step_only() -> None:
    assert learnt([*[seen(100, 100)] * 20, seen(100, 100_000)]).ratio == pytest.approx(1 + RATE)


@given(st.lists(st.builds(seen, counts, counts), min_size=10, max_size=60))
def test_the_medians_are_those_of_the_absolute_errors_and_nine_in_ten_are_in_the_band(found: list[TokenSample]) -> None:
    taught = learnt(found)
    errors = [abs(one.estimate * taught.ratio / one.reported - 1) for one in found]
    assert taught.before == pytest.approx(median(abs(one.estimate / one.reported - 1) for one in found), abs=1e-4)
    assert taught.after == pytest.approx(median(errors), abs=1e-4)
    assert sum(error <= taught.error + 1e-3 for error in errors) >= 0.9 * len(errors)


def test_a_few_observations_do_not_narrow_the_band() -> None:
    assert learnt([seen(100, 100)] * 9).error == FAMILY.error
    assert learnt([seen(100, 100)] * 10).error == 0.01


def test_the_band_of_a_kind_that_was_not_observed_is_no_narrower_than_the_familys() -> None:
    taught = learnt([seen(100, 100, "json prose")] * 10)
    assert [taught.error_of(kind, FAMILY) for kind in ("json", "prose", "diff")] == [0.01, 0.01, FAMILY.error]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        (" Claude-Sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-4.6", "claude-opus-4.6"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("claude", "claude"),
        ("gpt-4o", "gpt-4o"),
    ],
)
def test_model_names_are_normalized(model: str, name: str) -> None:
    assert name_of(model) == name


TEXT = "The orders of a shop must not be lost when a worker dies. " * 10
RATIO = Calibration(
    model="claude-sonnet-4-5",
    ratio=1.04,
    observations=37,
    error=0.03,
    before=0.05,
    after=0.02,
    kinds=frozenset({"prose"}),
)


def test_a_calibration_is_applied_and_named_in_the_source() -> None:
    plain, taught = Counter(FAMILY).count(TEXT, "prose"), Counter(FAMILY, calibration=RATIO).count(TEXT, "prose")
    assert taught.source == "o200k x 1.17 x calibration 1.04 (37 observations)"
    assert taught.tokens == pytest.approx(plain.tokens * 1.04, abs=1)
    assert (plain.error, taught.error) == (0.1, 0.03)
    assert Counter(FAMILY, calibration=RATIO).count(TEXT, "json").error == FAMILY.error


def test_count_reported_by_the_model_overrides_all_others() -> None:
    stand_in = Tokenizer("ctok 3.0", len)
    taught = learnt([TokenSample(digest_of(TEXT), "prose", 100, 4711)])
    counter = Counter(FAMILY, Cache.open(None), calibration=taught, tokenizer=stand_in)
    count = counter.count(TEXT, "prose")
    assert (count.tokens, count.source, count.error) == (4711, "reported by claude-sonnet-4-5", 0.0)
    assert counter.count(TEXT + "x").source == "ctok 3.0"
    assert counter.is_within(TEXT, 4711, 4711)
    assert not counter.is_within(TEXT, 0, 4710)
