"""The budget manager, with the numbers of rules.md#window-budget."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.window.budget.profiles import DEFAULT, PROFILES, BudgetComponent, limits_of, profile
from memctl.window.budget.token_budget import ComponentBudget, TokenBudgetManager

SYSTEM, TOOLS, HISTORY, RESULTS, MEMORY, OUTPUT = BudgetComponent


def example_manager(**options: object) -> TokenBudgetManager:
    """A manager of 128,000 tokens, of which 53,000 are used."""
    manager = TokenBudgetManager(128_000, **options)  # type: ignore[arg-type]
    manager.track(SYSTEM, 5_000)
    manager.track(TOOLS, 3_000)
    manager.track(HISTORY, 45_000)
    return manager


def test_default_allocations_of_128000_match_the_table_of_the_rules() -> None:
    limits = limits_of(128_000, profile(DEFAULT).allocations)
    assert list(limits.values()) == [7_680, 5_120, 83_200, 15_360, 10_240, 6_400]


@pytest.mark.parametrize("name", [name for name, one in PROFILES.items() if one.is_of_components])
def test_each_profile_is_the_whole(name: str) -> None:
    assert sum(profile(name).allocations.values()) == pytest.approx(1)
    assert sum(limits_of(127_999, profile(name).allocations).values()) == 127_999


@pytest.mark.parametrize(
    ("name", "percents"),
    [
        (DEFAULT, (6, 4, 65, 12, 8, 5)),
        ("code review", (6, 5, 60, 18, 6, 5)),
        ("research", (5, 5, 55, 15, 15, 5)),
        ("Customer-Support", (8, 3, 70, 8, 6, 5)),
    ],
)
def test_profiles_have_the_shares_of_the_rules(name: str, percents: tuple[int, ...]) -> None:
    """In the order of the table in rules.md#window-budget."""
    assert [round(100 * profile(name).allocations[part]) for part in BudgetComponent] == [*percents]


def test_a_profile_that_is_not_known_is_named_with_the_nearest() -> None:
    with pytest.raises(MemctlError) as caught:
        profile("reserch")
    assert caught.value.hint == "did you mean research?"


def test_component_names_are_known_in_either_case() -> None:
    """Configurations have lower case, and other programs the names of the enum."""
    assert BudgetComponent("message_history") is HISTORY
    assert BudgetComponent("MESSAGE_HISTORY") is HISTORY
    assert BudgetComponent("tool-results") is RESULTS
    with pytest.raises(ValueError, match="history"):
        BudgetComponent("history")


def test_the_example_may_add_8000_tokens_of_a_result() -> None:
    verdict = example_manager().check_before_add(RESULTS, 8_000)
    assert verdict.allowed
    assert (verdict.warning, verdict.reason, verdict.projected, verdict.limit) == ("", "", 8_000, 15_360)


def test_the_example_burns_3320_tokens_a_turn() -> None:
    manager = example_manager()
    for tokens in (2_000, 3_500, 2_800, 5_200, 3_100):
        manager.record_turn(tokens)
    assert manager.burn_rate == 3_320
    assert manager.total_utilization == pytest.approx(0.414, abs=0.001)
    # 128,000 less 5 % margin, less 6,400 for the answer, less 53,000 used
    assert manager.turns_until_exhausted() == pytest.approx((121_600 - 6_400 - 53_000) / 3_320)
    assert manager.urgency() == "normal"


def test_soft_limits_warn_and_hard_limits_refuse() -> None:
    warned: list[int] = []
    refused: list[int] = []
    manager = example_manager(
        on_soft_warning=lambda part, budget, projected: warned.append(projected),
        on_hard_violation=lambda part, budget, projected: refused.append(projected),
    )
    assert manager.check_before_add(RESULTS, 12_287).warning == ""
    soft = manager.check_before_add(RESULTS, 12_288)
    assert soft.allowed
    assert soft.warning == "the component tool_results reaches its soft limit: 12,288 of 15,360 tokens"
    assert soft.utilization_after == 0.8
    hard = manager.check_before_add(RESULTS, 15_361)
    assert not hard.allowed
    assert hard.excess == 1
    assert "15,361" in hard.reason
    assert (warned, refused) == ([12_288], [15_361])
    assert manager.budgets[RESULTS].used == 0  # the gate counts nothing


def test_a_budget_can_be_filled_exactly() -> None:
    """The last token of a budget may be used."""
    manager = example_manager()
    assert manager.check_before_add(RESULTS, 15_360).allowed
    manager.track(RESULTS, 15_360)
    assert not manager.budgets[RESULTS].is_hard_exceeded
    manager.track(RESULTS, 1)
    assert manager.budgets[RESULTS].is_hard_exceeded


def test_evicted_tokens_are_given_back_to_the_budget() -> None:
    """Otherwise budgets would only ever fill."""
    manager = example_manager()
    manager.track(RESULTS, 15_000)
    assert not manager.check_before_add(RESULTS, 1_000).allowed
    assert manager.release(RESULTS, 9_000) == 9_000
    assert manager.check_before_add(RESULTS, 1_000).allowed
    assert manager.release(RESULTS, 99_000) == 6_000
    assert manager.budgets[RESULTS].used == 0


def test_the_reserve_for_the_answer_is_never_below_4000_tokens() -> None:
    limits = limits_of(32_000, profile(DEFAULT).allocations)
    assert limits[OUTPUT] == 4_000  # 5 % would be 1,600
    assert limits[HISTORY] == 20_800 - 2_400
    assert sum(limits.values()) == 32_000


def test_a_window_too_small_for_an_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="no room for 4,000") as caught:
        TokenBudgetManager(5_000)
    least = int(str(caught.value).rpartition("give a window of at least ")[2].split()[0].replace(",", ""))
    assert 5_000 < least < 6_000
    assert TokenBudgetManager(least).budgets[OUTPUT].hard_limit_tokens == 4_000
    with pytest.raises(ValueError, match=f"at least {least:,}"):
        TokenBudgetManager(least - 5)


def test_the_window_is_full_before_the_reserve_and_the_margin_are_touched() -> None:
    manager = TokenBudgetManager(100_000)
    manager.track(HISTORY, 89_000)  # far over its own limit, as tracking never refuses
    assert manager.output_room == 95_000 - 5_000 - 89_000
    verdict = manager.check_before_add(MEMORY, 1_001)
    assert not verdict.allowed
    assert verdict.reason == "1,001 tokens don't fit: beside the reserve for the answer the window has room for 1,000"
    assert manager.check_before_add(MEMORY, 1_000).allowed
    assert not manager.needs_emergency_compaction
    manager.track(MEMORY, 2_001)
    assert manager.needs_emergency_compaction


def test_a_global_budget_warns_of_components_and_refuses_by_the_window() -> None:
    manager = TokenBudgetManager(100_000, enforce_components=False)
    verdict = manager.check_before_add(RESULTS, 40_000)
    assert verdict.allowed
    assert "hard limit" in verdict.warning
    refused = manager.check_before_add(RESULTS, 90_001)
    assert not refused.allowed
    assert refused.reason == "90,001 tokens don't fit: beside the reserve for the answer the window has room for 90,000"


def test_each_component_has_its_own_forecast() -> None:
    manager = example_manager()
    for _ in range(3):
        manager.record_turn({HISTORY: 1_000, RESULTS: 5_500})
    assert manager.burn_rate == 6_500
    assert manager.turns_until_exhausted(RESULTS) == pytest.approx(15_360 / 5_500)
    assert manager.turns_until_exhausted(HISTORY) == pytest.approx(38.2)
    assert manager.turns_until_exhausted(SYSTEM) is None
    assert [manager.urgency(part) for part in (RESULTS, HISTORY, SYSTEM)] == ["critical", "normal", "normal"]


@pytest.mark.parametrize(
    ("rate", "urgency"), [(35, "critical"), (30, "critical"), (29, "warning"), (9, "warning"), (8, "normal")]
)
def test_urgency_is_critical_under_three_turns_and_a_warning_under_ten(rate: int, urgency: str) -> None:
    manager = TokenBudgetManager(100_000)
    manager.track(HISTORY, 65_000 - 87)
    manager.record_turn({HISTORY: rate})
    assert manager.urgency(HISTORY) == urgency


def test_the_burn_rate_is_of_the_last_twenty_turns() -> None:
    manager = TokenBudgetManager()
    for tokens in [9_000] * 5 + [100] * 20:
        manager.record_turn(tokens)
    assert manager.burn_rate == 100
    assert manager.last_turn == 100


def test_budget_without_turns_has_no_forecast() -> None:
    manager = example_manager()
    assert manager.burn_rate == 0
    assert manager.last_turn is None
    assert manager.turns_until_exhausted() is None
    assert manager.urgency() == "normal"


def test_the_report_has_the_keys_of_the_rules() -> None:
    report = msgspec.to_builtins(example_manager().report())
    assert report["total_used"] == 53_000
    assert report["total_utilization"] == 0.41
    assert report["burn_rate_tokens_per_turn"] == 0
    assert report["turns_until_exhausted"] is None
    history = report["components"]["message_history"]
    assert history["used"] == 45_000
    assert history["remaining"] == 38_200
    assert history["utilization"] == 0.54
    assert history["soft_exceeded"] is False


@pytest.mark.parametrize("change", [{HISTORY: 0.66}, {HISTORY: 0.64}, {HISTORY: -0.05, RESULTS: 0.82}])
def test_allocations_sum_to_one(change: dict[BudgetComponent, float]) -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        TokenBudgetManager(allocations={**profile(DEFAULT).allocations, **change})


def test_an_allocation_for_every_component_is_needed() -> None:
    with pytest.raises(ValueError, match="all six"):
        TokenBudgetManager(allocations={HISTORY: 1.0})


def test_tokens_are_not_negative() -> None:
    manager = TokenBudgetManager()
    with pytest.raises(ValueError, match="release"):
        manager.track(HISTORY, -1)
    with pytest.raises(ValueError, match="negative"):
        manager.release(HISTORY, -1)


def test_an_empty_budget_divides_by_nothing() -> None:
    assert ComponentBudget().utilization == 0


@given(st.lists(st.tuples(st.sampled_from(list(BudgetComponent)), st.integers(-30_000, 30_000)), max_size=60))
def test_allowed_additions_never_exceed_a_limit(steps: list[tuple[BudgetComponent, int]]) -> None:
    manager = TokenBudgetManager(128_000)
    for part, tokens in steps:
        if tokens < 0:
            manager.release(part, -tokens)
        elif manager.check_before_add(part, tokens).allowed:
            manager.track(part, tokens)
        assert not any(budget.is_hard_exceeded for budget in manager.budgets.values())
        assert all(budget.used >= 0 for budget in manager.budgets.values())
        assert manager.total_used <= 128_000 * 0.95 - 6_400
        assert not manager.needs_emergency_compaction
