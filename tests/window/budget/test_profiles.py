"""Dividing a window: the numbers of rules.md#allocation, and that nothing is lost for any window."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.window.budget import profiles
from memctl.window.budget.profiles import DEFAULT_WINDOW, MULTI_AGENT, PROFILES, SHARES, Profile, allocate, divide, team

WINDOWS = st.integers(min_value=1, max_value=10_000_000)
# The profiles of rules.md#task-profiles, for a window of 200,000.
EXAMPLES = {
    "small-feature": {"system": 60_000, "active": 90_000, "session": 30_000, "buffer": 20_000},
    "multi-session": {"system": 70_000, "active": 85_000, "session": 25_000, "buffer": 20_000},
    "large-codebase": {"system": 65_000, "active": 95_000, "session": 25_000, "buffer": 15_000},
    "multi-agent": {"shared": 80_000, "system": 20_000, "active": 60_000, "session": 25_000, "buffer": 15_000},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_profile_has_the_token_numbers_of_the_rules(name: str) -> None:
    portions = allocate(DEFAULT_WINDOW, PROFILES[name])
    assert {portion.type: portion.soft_limit for portion in portions} == EXAMPLES[name]


def test_the_breakdown_of_a_small_feature() -> None:
    system, active, session, buffer = allocate(DEFAULT_WINDOW, PROFILES["small-feature"])
    assert [part.tokens for part in system.parts] == [5_000, 8_000, 12_000, 15_000, 20_000]
    assert [part.tokens for part in active.parts] == [
        1_000, 5_000, 10_000, 35_000, 15_000, 10_000, 2_000, 5_000, 7_000,
    ]  # fmt: skip
    assert [part.tokens for part in session.parts] == [8_000, 5_000, 7_000, 10_000]
    assert [part.tokens for part in buffer.parts] == [20_000]


def test_without_a_profile_every_type_gets_the_middle_of_its_range() -> None:
    portions = allocate(DEFAULT_WINDOW, PROFILES["balanced"])
    assert [portion.soft_limit for portion in portions] == [70_000, 90_000, 25_000, 15_000]
    for portion in portions:
        share = SHARES[portion.type]
        assert portion.soft_limit * 2_000 == DEFAULT_WINDOW * (share.least + share.most)


def test_the_hard_limits_are_the_upper_ends_of_the_ranges() -> None:
    hard = {portion.type: portion.hard_limit for portion in allocate(DEFAULT_WINDOW, PROFILES["balanced"])}
    assert hard == {"system": 80_000, "active": 100_000, "session": 30_000, "buffer": 20_000}
    assert {name: (share.least, share.most) for name, share in SHARES.items() if share.most} == {
        "system": (300, 400),
        "active": (400, 500),
        "session": (100, 150),
        "buffer": (50, 100),
        "shared": (0, 400),
    }


@given(WINDOWS, st.sampled_from([one for one in PROFILES.values() if not one.is_of_components]))
def test_portions_and_their_parts_sum_exactly_to_the_window(window: int, profile: Profile) -> None:
    portions = allocate(window, profile)
    assert sum(portion.soft_limit for portion in portions) == window
    for portion in portions:
        assert portion.hard_limit >= portion.soft_limit
        assert not portion.parts or sum(part.tokens for part in portion.parts) == portion.soft_limit


@given(st.integers(min_value=0, max_value=10_000), st.lists(st.integers(min_value=0, max_value=500), max_size=9))
def test_divided_number_has_non_negative_parts_and_the_same_sum(total: int, weights: list[int]) -> None:
    found = divide(total, weights)
    assert sum(found) == (total if sum(weights) else 0)
    assert all(number >= 0 for number in found)
    assert all(not number for number, weight in zip(found, weights, strict=True) if not weight)


def test_a_window_of_one_token_has_one_token_to_give() -> None:
    assert sorted(portion.soft_limit for portion in allocate(1, PROFILES["balanced"])) == [0, 0, 0, 1]


def test_five_agents_use_72_percent_of_a_million() -> None:
    found = team(DEFAULT_WINDOW)
    assert (found.available, found.shared, found.own, found.coordination) == (1_000_000, 80_000, 600_000, 40_000)
    assert found.effective == 720_000
    assert found.efficiency == 0.72
    assert [part.tokens for part in profiles.coordination(DEFAULT_WINDOW)] == [10_000, 10_000, 5_000, 15_000]


def test_the_advice_is_scaled_with_the_window() -> None:
    assert "25,000 tokens" in MULTI_AGENT.lines(DEFAULT_WINDOW)[0]
    assert "50,000 tokens: metadata 2,000" in MULTI_AGENT.lines(400_000)[0]
    line = "when 80 % of the window is filled, compact to 65 %, which frees 30,000 tokens"
    assert PROFILES["multi-session"].lines(DEFAULT_WINDOW)[0] == line


@pytest.mark.parametrize(
    ("used", "name"),
    [
        (0, "normal"), (158_000, "normal"), (159_999, "normal"),  # no hole from 79 to 80 %
        (160_000, "plan"), (178_000, "plan"), (179_999, "plan"),
        (180_000, "compact"), (188_000, "compact"), (189_999, "compact"),
        (190_000, "emergency"), (200_000, "emergency"), (250_000, "emergency"),
    ],
)  # fmt: skip
def test_levels_cover_every_use_without_gaps(used: int, name: str) -> None:
    assert profiles.level(used, DEFAULT_WINDOW).name == name


@given(WINDOWS, st.integers(min_value=0, max_value=20_000_000))
def test_every_use_of_every_window_has_a_level(window: int, used: int) -> None:
    found = profiles.level(used, window)
    assert used * 100 >= found.least * window
    assert not any(level.least > found.least and used * 100 >= level.least * window for level in profiles.LEVELS)


def test_tokens_reported_by_the_host_override_the_count() -> None:
    types = allocate(DEFAULT_WINDOW, PROFILES["balanced"], {"active": 50_000})
    found = profiles.occupancy(DEFAULT_WINDOW, types, 171_000)
    assert (found.used, found.counted, found.unattributed, found.capacity) == (171_000, 50_000, 121_000, "plan")
    counted = profiles.occupancy(DEFAULT_WINDOW, types, None)
    assert (counted.used, counted.unattributed, counted.capacity) == (50_000, 0, "normal")
    less = profiles.occupancy(DEFAULT_WINDOW, types, 40_000)
    assert (less.used, less.unattributed) == (40_000, 0)


def test_a_type_is_over_its_soft_and_its_hard_limit_by_so_much() -> None:
    types = allocate(DEFAULT_WINDOW, PROFILES["balanced"], {"session": 26_000, "system": 81_000})
    over = {budget.type: (budget.over_soft, budget.over_hard) for budget in types}
    assert over == {"system": (11_000, 1_000), "active": (0, 0), "session": (1_000, 0), "buffer": (0, 0)}
    measured = profiles.occupancy(DEFAULT_WINDOW, types, None)
    assert measured.capacity == "normal"
    budget = profiles.WindowBudget(DEFAULT_WINDOW, "balanced", types, measured, [], [], None, "claude")
    assert budget.is_alarming  # for the hard limit alone


def test_used_tokens_beyond_the_free_ones_are_missing_from_the_safety_margin() -> None:
    types = allocate(DEFAULT_WINDOW, PROFILES["balanced"])
    assert profiles.occupancy(DEFAULT_WINDOW, types, 190_000).margin_lacks == 0
    assert profiles.occupancy(DEFAULT_WINDOW, types, 191_000).margin_lacks == 1_000
    assert profiles.occupancy(DEFAULT_WINDOW, types, 210_000).free == -10_000
