"""The nine triggers at their limits, the smallest summary that does, the ways to reduce, and whom to ask."""

from __future__ import annotations

import pytest

from memctl.window.policy import contexts, rules
from memctl.window.policy.contexts import GIVEN, Context, ContextState, Debt, Slice, burst
from memctl.window.policy.rules import Facts, Judgement
from tests.window.policy.texts import context, count, measured, parsed, words

EVENT = """<event><mission>sell</mission><inputs>the schema</inputs><expected_outputs>a report</expected_outputs>
<constraints>none</constraints></event>"""
LOOSE = (
    "<event><mission>sell</mission><expected_outputs>a report</expected_outputs><constraints>no</constraints></event>"
)


def situation(**given: object) -> Facts:
    values: dict[str, object] = {"contexts": [context(EVENT)], "shared": Slice(100, [], GIVEN), "threshold": 2_000}
    return Facts(**{**values, **given})  # type: ignore[arg-type]


def fired(**given: object) -> list[int]:
    return [one.number for one in rules.judge(rules.TRIGGERS, situation(**given)) if one.exceeded]


def one(number: int, **given: object) -> Judgement:
    return rules.judge(rules.TRIGGERS, situation(**given))[number - 1]


def escalated(**given: object) -> list[Judgement]:
    return [one for one in rules.judge(rules.ESCALATIONS, situation(**given)) if one.exceeded]


def sized(tokens: int) -> list[Context]:
    return [context(words(tokens))]


def test_there_are_nine_and_a_quiet_context_fires_none() -> None:
    assert [rule.number for rule in rules.TRIGGERS] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert fired() == []


def test_the_end_of_a_phase_always_fires() -> None:
    assert fired(state=ContextState(phase_boundary=True)) == [1]


@pytest.mark.parametrize(("tokens", "found"), [(1_400, []), (1_401, [2]), (2_000, [2]), (2_001, [2, 7])])
def test_the_slice_fires_above_70_percent_and_is_an_emergency_above_all(tokens: int, found: list[int]) -> None:
    assert fired(shared=Slice(tokens, [], GIVEN)) == found


def test_trigger_reports_by_how_much_it_is_exceeded() -> None:
    trigger = one(2, shared=Slice(1_500, [], GIVEN))
    assert (trigger.measured, trigger.limit, trigger.over) == ("1,500", "> 1,400", "100")
    assert "12 %" in trigger.help


@pytest.mark.parametrize(("ratio", "found"), [(0.24, []), (0.25, [3])])
def test_a_quarter_of_debt_fires(ratio: float, found: list[int]) -> None:
    assert fired(debt=Debt(1, ratio, [])) == found


@pytest.mark.parametrize(("planned", "found"), [(15, []), (16, [4])])
def test_growth_beyond_15_percent_fires_before_it_happens(planned: int, found: list[int]) -> None:
    assert fired(burst=burst(planned, 100, 1_000)) == found


@pytest.mark.parametrize(
    ("batches", "growth", "found"), [(2, 0.5, []), (3, 0.10, []), (3, 0.101, [5]), (7, 0.2, [5]), (3, -0.5, [])]
)
def test_three_batches_and_growth_beyond_10_percent_fire(batches: int, growth: float, found: list[int]) -> None:
    state = ContextState(batches_since_compression=batches, aws_before=1_000)
    assert fired(state=state, contexts=sized(round(1_000 * (1 + growth)))) == found


def test_three_batches_of_unknown_growth_are_not_known() -> None:
    trigger = one(5, state=ContextState(batches_since_compression=3))
    assert trigger.exceeded is None
    assert "aws_before" in trigger.help


@pytest.mark.parametrize(("tokens", "found"), [(8_000, []), (8_001, [6])])
def test_a_working_set_beyond_8000_needs_a_macro_summary(tokens: int, found: list[int]) -> None:
    assert fired(contexts=sized(tokens)) == found
    assert contexts.choose(Slice(100, [], GIVEN), tokens, count).name == ("macro" if found else "micro")


def test_a_slice_that_would_grow_beyond_the_threshold_is_an_emergency() -> None:
    trigger = one(7, shared=Slice(1_300, [], GIVEN), state=ContextState(next_phase_scs=701))
    assert (trigger.exceeded, trigger.over) == (True, "1")
    assert trigger.help.startswith("emergency: prune stale references, then remove duplicate plans, replace reasoning")
    assert not one(7, shared=Slice(1_300, [], GIVEN), state=ContextState(delta_payload=700)).exceeded


@pytest.mark.parametrize(("events", "found"), [(50, []), (51, [8])])
def test_more_than_50_events_overflow(events: int, found: list[int]) -> None:
    assert fired(events=events) == found


def test_events_are_counted_in_a_context() -> None:
    assert rules.count_events(context("<e>" + "<event>x</event>" * 51 + "</e>")) == 51
    assert rules.count_events(context("No events.")) == 0


def test_an_agent_that_cannot_resume_forces_a_rebuild() -> None:
    assert fired(contexts=[context(LOOSE)]) == [9]
    assert one(9, contexts=[context(LOOSE)]).help == "rebuild the context: agent lacks its inputs"
    assert fired(state=ContextState(resumable=False)) == [9]
    assert fired(contexts=[context(LOOSE)], state=ContextState(resumable=True)) == []


def test_context_without_an_event_is_not_validated() -> None:
    trigger = one(9, contexts=[context("Plain text.")])
    assert (trigger.exceeded, trigger.measured) == (None, "none of the contexts is an event")


@pytest.mark.parametrize(
    ("outcome", "name"), [(1, "micro"), (50, "micro"), (51, "phase"), (300, "phase"), (301, "macro"), (800, "macro")]
)
def test_the_smallest_summary_that_holds_the_outcomes_is_chosen(outcome: int, name: str) -> None:
    """A paragraph's outcome is its first sentence, here one word of each."""
    shared = parsed("\n\n".join(f"Gone{number}. More is {words(30, number * 40)}." for number in range(outcome)))
    tier = contexts.choose(Slice(shared.tokens, shared.blocks, GIVEN), 0, count)
    assert (tier.name, tier.needs) == (name, outcome)
    assert tier.is_enough


def test_a_summary_must_take_12_percent_off_the_slice() -> None:
    shared = parsed(f"Done. More {words(11)}\n\n- {words(87, 100)}")
    assert shared.tokens == 101
    saved = contexts.choose(Slice(101, shared.blocks[:1], GIVEN), 0, count)
    assert saved.reduction == pytest.approx(12 / 101)
    assert not saved.is_enough
    assert contexts.choose(Slice(100, shared.blocks[:1], GIVEN), 0, count).is_enough


def test_outcomes_beyond_a_macro_summary_are_reported_as_too_many() -> None:
    shared = parsed("\n\n".join(f"Gone{n}. More {words(3, n * 4)}." for n in range(801)))
    tier = contexts.choose(Slice(shared.tokens, shared.blocks, GIVEN), 0, count)
    assert (tier.name, tier.most, tier.needs) == ("macro", 800, 801)
    assert "more than a summary may have" in tier.why


def test_the_ways_to_reduce_come_in_the_order_of_preference_with_what_they_save() -> None:
    plan = words(20)
    code = "```py\n" + "\n".join(f"x{n} = {n};" for n in range(100)) + "\n```"
    secret = "```py\n" + "\n".join(f"password{n} = {n};" for n in range(100)) + "\n```"
    text = (
        f"{plan}\n\n{plan}\n\nShort outcome. More {words(69, 100)}\n\n"
        f"This plan is obsolete now, all of it.\n\n{code}\n\n{secret}\n"
    )
    found = {way.number: way for way in contexts.strategies(measured(text), count)}
    assert [way.number for way in contexts.strategies(measured(text), count)] == [1, 2, 3, 4, 5, 6]
    assert (found[1].saves, found[1].lines) == (20, [3])
    assert (found[2].saves, found[2].lines) == (70, [5])
    assert found[5].lines == [7]
    assert found[6].lines == [9]  # what bears on security is kept as it is
    assert found[6].saves == 302 - 25


def test_paths_that_recur_can_become_anchors() -> None:
    def long(text: str, kind: str) -> int:
        return len(text) // 4

    path = "src/payment/providers/card_payment_of_some_length.py"
    way = contexts.strategies(measured("\n\n".join(f"In {path} line {n}." for n in range(5))), long)[2]
    assert (way.number, way.lines) == (3, [1, 3, 5, 7, 9])
    assert way.saves == 4 * (len(path) // 4) - 15


def test_a_high_slice_twice_in_four_batches_goes_to_the_context_agent() -> None:
    def asked(history: list[int], now: int) -> list[str]:
        return [item.name for item in escalated(shared=Slice(now, [], GIVEN), state=ContextState(scs_history=history))]

    assert asked([1_700, 100, 100], 1_601) == ["context agent"]
    assert asked([1_700, 100, 100, 100], 1_601) == []  # the first is five batches ago
    assert asked([1_700, 100, 100], 1_600) == []  # 80 % is not above 80 %


@pytest.mark.parametrize(("added", "asked"), [(499, []), (500, ["context agent"])])
def test_a_phase_that_adds_half_a_slice_goes_to_the_context_agent(added: int, asked: list[str]) -> None:
    found = escalated(shared=Slice(1_000, [], GIVEN), state=ContextState(next_phase_scs=added))
    assert [item.name for item in found] == asked


@pytest.mark.parametrize(
    ("denials", "ratio", "asked"), [(3, 0.31, ["alpha"]), (2, 0.9, []), (3, 0.30, []), (5, 0.4, ["alpha"])]
)
def test_three_refusals_for_debt_go_to_alpha(denials: int, ratio: float, asked: list[str]) -> None:
    found = escalated(debt=Debt(1, ratio, []), state=ContextState(parallel_denials=denials))
    assert [item.name for item in found] == asked


def test_only_a_loss_goes_to_the_user() -> None:
    found = escalated(state=ContextState(unresolved_details=["which VAT rate"]))
    assert [(item.name, "which VAT rate" in item.help) for item in found] == [("user", True)]


def test_summary_tiers_match_the_rules() -> None:
    assert contexts.TIERS == (("micro", 50), ("phase", 300), ("macro", 800))
    assert contexts.REDUCTION == 0.12
