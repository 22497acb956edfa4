"""The seven criteria for parallel work, each at its limit and just beyond it."""

from __future__ import annotations

import pytest

from memctl.window.policy import contexts, parallel
from memctl.window.policy.contexts import ContextState, Slice
from memctl.window.policy.parallel import Criterion
from tests.window.policy.texts import context, parsed

EVENT = """<agent_context><mission>sell lanterns</mission><inputs>the schema</inputs>
<expected_outputs>a report</expected_outputs><constraints>no new packages</constraints><own>{}</own></agent_context>"""
TWO = [context(EVENT.format("one"), "a.xml"), context(EVENT.format("two"), "b.xml")]


def slice_of(tokens: int) -> Slice:
    return Slice(tokens, [], contexts.GIVEN)


def judge(tokens: int = 500, threshold: int = 2_000, **said: object) -> dict[int, Criterion]:
    state = ContextState(**{"delta_payload": 0, **said})  # type: ignore[arg-type]
    return {item.number: item for item in parallel.judge(TWO, slice_of(tokens), state, threshold).criteria}


def test_all_seven_are_granted_to_two_events() -> None:
    verdict = parallel.judge(TWO, slice_of(500), ContextState(delta_payload=600), 2_000)
    assert [item.number for item in verdict.criteria] == [1, 2, 3, 4, 5, 6, 7, 0]
    assert verdict.is_granted


def test_the_slice_may_fill_the_threshold_and_no_more() -> None:
    assert judge(2_000)[1].passed
    refused = judge(2_001)[1]
    assert (refused.passed, refused.measured, refused.limit, refused.over) == (False, "2,001", "<= 2,000", "1")
    assert refused.help


@pytest.mark.parametrize(("delta", "passed"), [(400, True), (401, False)])
def test_the_branches_may_bring_40_percent_of_what_remains(delta: int, passed: bool) -> None:
    assert judge(1_000, delta_payload=delta)[2].passed is passed


def test_what_the_branches_bring_is_guessed_on_the_safe_side() -> None:
    verdict = parallel.judge(TWO, slice_of(1_000), ContextState(), 2_000)
    assert (verdict.delta, verdict.is_delta_assumed) == (600, True)
    assert [item.number for item in verdict.criteria if not item.passed] == [2]
    assert "assumed: 300 for each of 2" in verdict.criteria[1].help


def test_dependencies_and_escalations_refuse_by_name() -> None:
    found = judge(unresolved_dependencies=["schema first"], pending_escalations=["security review", "legacy"])
    assert (found[3].passed, found[3].measured, found[3].over) == (False, "schema first", "1")
    assert (found[4].passed, found[4].measured, found[4].over) == (False, "security review; legacy", "2")
    assert judge()[3].passed
    assert judge()[4].passed


@pytest.mark.parametrize(("deferred", "passed"), [(0, True), (1, True), (2, False), (3, False)])
def test_no_more_than_one_compression_may_be_put_off(deferred: int, passed: bool) -> None:
    assert judge(deferred_compressions=deferred)[5].passed is passed


def test_every_context_must_be_an_event_or_be_declared_to_be_one() -> None:
    loose = [*TWO, context("# Mission\n\nPlain text.", "c.md")]
    found = parallel.judge(loose, slice_of(0), ContextState(), 2_000).criteria[5]
    assert (found.passed, found.measured, found.over) == (False, "2 of 3", "1")
    assert "c.md" in found.help
    assert parallel.judge(loose, slice_of(0), ContextState(event_schema=True), 2_000).criteria[5].passed
    assert not parallel.judge(TWO, slice_of(0), ContextState(event_schema=False), 2_000).criteria[5].passed


def test_a_context_must_say_all_that_its_agent_needs() -> None:
    lacking = context("<a><mission>x</mission><constraints>y</constraints></a>", "c.xml")
    found = parallel.judge([*TWO, lacking], slice_of(0), ContextState(), 2_000).criteria[6]
    assert (found.passed, found.measured) == (False, "2 of 3")
    assert found.help == "c.xml lacks its inputs, its outputs"


def test_what_only_an_earlier_conversation_would_tell_is_hidden_state() -> None:
    text = EVENT.format("Do it as discussed above, in three steps.")
    assert parallel.lacks(parsed(text)) == ["what line 2 refers to ('as discussed above')"]
    assert parallel.lacks(parsed(EVENT.format("Do it in three steps."))) == []


def test_a_fan_out_is_broken_off_if_the_merge_would_fill_90_percent() -> None:
    assert judge(1_500, delta_payload=300)[0].passed
    found = judge(1_501, delta_payload=300)[0]
    assert (found.passed, found.limit, found.over) == (False, "<= 1,800", "1")


def test_the_threshold_can_be_another() -> None:
    assert judge(2_500, threshold=3_000)[1].passed
    assert not judge(2, threshold=1)[1].passed


def test_a_single_or_empty_context_is_judged_too() -> None:
    empty = context("", "empty.md")
    verdict = parallel.judge([empty], contexts.shared_slice([empty.measures.parsed]), ContextState(), 2_000)
    assert [item.number for item in verdict.criteria if not item.passed] == [6, 7]
