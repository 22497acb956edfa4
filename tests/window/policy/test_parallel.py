"""The seven criteria for parallel work, each at its limit and just beyond it."""

from __future__ import annotations

import pytest

from memctl.window.policy import contexts, rules
from memctl.window.policy.contexts import Context, ContextState, Slice
from memctl.window.policy.rules import Facts, Judgement
from tests.window.policy.texts import context, parsed

EVENT = """<agent_context><mission>sell lanterns</mission><inputs>the schema</inputs>
<expected_outputs>a report</expected_outputs><constraints>no new packages</constraints><own>{}</own></agent_context>"""
TWO = [context(EVENT.format("one"), "a.xml"), context(EVENT.format("two"), "b.xml")]


def slice_of(tokens: int) -> Slice:
    return Slice(tokens, [], contexts.GIVEN)


def facts(of: list[Context], shared: Slice, state: ContextState, threshold: int = 2_000) -> Facts:
    return Facts(of, shared, threshold, state)


def judge(tokens: int = 500, threshold: int = 2_000, **said: object) -> dict[int, Judgement]:
    state = ContextState(**{"delta_payload": 0, **said})  # type: ignore[arg-type]
    return {one.number: one for one in rules.judge(rules.PARALLEL, facts(TWO, slice_of(tokens), state, threshold))}


def refused(of: list[Context], shared: Slice, state: ContextState) -> list[int]:
    return [one.number for one in rules.judge(rules.PARALLEL, facts(of, shared, state)) if one.exceeded]


def criterion(number: int, of: list[Context], state: ContextState) -> Judgement:
    return rules.judge(rules.PARALLEL, facts(of, slice_of(0), state))[number - 1]


def test_all_seven_are_granted_to_two_events() -> None:
    assert list(judge(delta_payload=600)) == [1, 2, 3, 4, 5, 6, 7, 0]
    assert refused(TWO, slice_of(500), ContextState(delta_payload=600)) == []


def test_the_slice_may_fill_the_threshold_and_no_more() -> None:
    assert not judge(2_000)[1].exceeded
    found = judge(2_001)[1]
    assert (found.exceeded, found.measured, found.limit, found.over) == (True, "2,001", "<= 2,000", "1")
    assert found.help


@pytest.mark.parametrize(("delta", "passed"), [(400, True), (401, False)])
def test_the_branches_may_bring_40_percent_of_what_remains(delta: int, passed: bool) -> None:
    assert judge(1_000, delta_payload=delta)[2].exceeded is not passed


def test_unknown_size_of_the_branches_is_assumed_as_300_tokens_each() -> None:
    given = facts(TWO, slice_of(1_000), ContextState())
    assert (given.delta, given.is_delta_assumed) == (600, True)
    assert refused(TWO, slice_of(1_000), ContextState()) == [2]
    assert "assumed: 300 tokens for each of 2 contexts" in rules.judge(rules.PARALLEL, given)[1].help


def test_dependencies_and_escalations_refuse_by_name() -> None:
    found = judge(unresolved_dependencies=["schema first"], pending_escalations=["security review", "legacy"])
    assert (found[3].exceeded, found[3].measured, found[3].over) == (True, "schema first", "1")
    assert (found[4].exceeded, found[4].measured, found[4].over) == (True, "security review; legacy", "2")
    assert not judge()[3].exceeded
    assert not judge()[4].exceeded


@pytest.mark.parametrize(("deferred", "passed"), [(0, True), (1, True), (2, False), (3, False)])
def test_no_more_than_one_compression_may_be_put_off(deferred: int, passed: bool) -> None:
    assert judge(deferred_compressions=deferred)[5].exceeded is not passed


def test_every_context_must_be_an_event_or_be_declared_to_be_one() -> None:
    loose = [*TWO, context("# Mission\n\nPlain text.", "c.md")]
    found = criterion(6, loose, ContextState())
    assert (found.exceeded, found.measured, found.over) == (True, "2 of 3", "1")
    assert "c.md" in found.help
    assert not criterion(6, loose, ContextState(event_schema=True)).exceeded
    assert criterion(6, TWO, ContextState(event_schema=False)).exceeded


def test_a_context_must_say_all_that_its_agent_needs() -> None:
    lacking = context("<a><mission>x</mission><constraints>y</constraints></a>", "c.xml")
    found = criterion(7, [*TWO, lacking], ContextState())
    assert (found.exceeded, found.measured) == (True, "2 of 3")
    assert found.help == "c.xml lacks its inputs, its outputs"


def test_reference_to_an_earlier_conversation_is_hidden_state() -> None:
    text = EVENT.format("Do it as discussed above, in three steps.")
    assert rules.lacks(parsed(text)) == ["what line 2 means by 'as discussed above'"]
    assert rules.lacks(parsed(EVENT.format("Do it in three steps."))) == []


def test_a_fan_out_is_broken_off_if_the_merge_would_fill_90_percent() -> None:
    assert not judge(1_500, delta_payload=300)[0].exceeded
    found = judge(1_501, delta_payload=300)[0]
    assert (found.exceeded, found.limit, found.over) == (True, "<= 1,800", "1")


def test_the_threshold_can_be_another() -> None:
    assert not judge(2_500, threshold=3_000)[1].exceeded
    assert judge(2, threshold=1)[1].exceeded


def test_a_single_or_empty_context_is_judged_too() -> None:
    empty = context("", "empty.md")
    assert refused([empty], contexts.shared_slice([empty.measures.parsed]), ContextState()) == [6, 7]
