"""The shared slice, working sets, debt, bursts, and the description file."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.window.policy import contexts
from memctl.window.policy.contexts import ContextState, Slice
from memctl.window.policy.rules import Facts
from memctl.window.policy.staleness import Over
from tests.window.policy.texts import context, measured, parsed, words

MISSION = "## Mission\n\nSell lanterns online.\n\n"


def test_the_shared_slice_is_what_all_contexts_have() -> None:
    one, two = parsed(f"{MISSION}## Notes\n\n{words(10)}\n"), parsed(f"## Other\n\n{words(9, 50)}\n\n{MISSION}")
    found = contexts.shared_slice([one, two])
    assert (found.tokens, found.source) == (5, contexts.COMMON)
    assert [block.title for block in found.blocks] == ["Mission"]
    assert contexts.shared_slice([one, two, parsed("Nothing of it.")]).tokens == 0


def test_layout_and_case_make_no_difference_to_what_is_shared() -> None:
    one, two = parsed("## Mission\n\nSell lanterns\nonline.\n"), parsed("# MISSION\n\n> sell **lanterns** online\n")
    assert contexts.shared_slice([one, two]).tokens > 0


def test_identical_contexts_share_everything() -> None:
    text = parsed(f"{MISSION}{words(100)}\n\n{words(100)}")
    assert contexts.shared_slice([text, text]).tokens == text.tokens


def test_the_slice_of_one_context_is_extracted_by_its_titles() -> None:
    text = parsed(
        "## Mission\n\nSell.\n\n## Diary\n\nMuch happened.\n\n## Current phase\n\nTwo of three.\n\n"
        "## Open risks\n\n- One.\n\n## Decisions\n\n### Adopt PostgreSQL\n\nBecause.\n\n"
        "## Pending decisions\n\nWhich mail.\n\n## Anchors\n\n§2.1\n"
    )
    found = contexts.shared_slice([text])
    assert found.source == contexts.EXTRACTED
    titles = [block.title for block in found.blocks]
    assert titles == ["Mission", "Current phase", "Open risks", "Pending decisions", "Anchors"]


def test_an_element_around_everything_is_not_the_slice_for_its_name() -> None:
    text = f"<agent_context><state><mission>sell lanterns</mission><notes>{words(90)}</notes></state></agent_context>"
    found = contexts.shared_slice([parsed(text)])
    assert [block.title for block in found.blocks] == ["state"]
    assert found.tokens < 10


def test_no_contexts_share_nothing_and_a_given_slice_is_taken() -> None:
    assert contexts.shared_slice([]).tokens == 0
    assert contexts.shared_slice([], parsed("a b c")).source == contexts.GIVEN
    assert contexts.shared_slice([parsed("x")], parsed("a b c")).tokens == 3
    assert contexts.shared_slice([parsed(""), parsed("")]).tokens == 0


def test_debt_is_repeated_plans_and_superseded_reasoning() -> None:
    known = Over({"DEC-2025-01-01-001": "superseded"}, frozenset())
    plan, reasoning = words(10), f"As DEC-2025-01-01-001 says {words(7, 50)}"
    found = contexts.debt(measured(f"{plan}\n\n{plan}\n\n{reasoning}\n\n{words(10, 100)}", known=known))
    assert found.tokens == 20
    assert found.ratio == pytest.approx(20 / 40)
    assert [item.block.line for item in found.blocks] == [3, 5]
    assert contexts.debt(measured("")).ratio == 0.0


def test_a_plan_that_was_changed_a_little_is_a_version_of_it() -> None:
    plan = words(40)
    found = contexts.debt(measured(f"{plan}\n\n{plan} and done.\n"))
    assert found.tokens >= 38


@pytest.mark.parametrize(("planned", "is_burst"), [(149, False), (150, False), (151, True)])
def test_a_burst_is_growth_of_more_than_15_percent(planned: int, is_burst: bool) -> None:
    found = contexts.burst(planned, 1_000, 5_000)
    assert found.is_burst is is_burst
    assert found.over == planned - 5_000


def test_anything_is_a_burst_for_an_empty_window() -> None:
    assert contexts.burst(1, 0, 10).is_burst
    assert not contexts.burst(0, 0, 10).is_burst


def test_growth_needs_the_size_before() -> None:
    def growth(before: int | None, tokens: int) -> float | None:
        return Facts([context(words(tokens))], Slice(0, [], ""), 2_000, ContextState(aws_before=before)).growth

    assert growth(None, 5) is None
    assert growth(100, 110) == 0.1
    assert growth(0, 1) == 1.0
    assert growth(0, 0) == 0.0


def test_a_description_is_yaml_or_json() -> None:
    found = contexts.parse("threshold: 1500\nunresolved_dependencies:\n- schema first\nevent_schema: true\n", "s.yaml")
    assert (found.threshold, found.unresolved_dependencies, found.event_schema) == (1_500, ["schema first"], True)
    assert contexts.parse('{"scs_history": [1, 2]}', "s.json").scs_history == [1, 2]
    assert contexts.parse("", "s.yaml") == contexts.ContextState()
    assert contexts.parse("---\nevents: 3\n", "s.yaml").events == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("evnts: 3\n", "evnts"),
        ("events: many\n", "events: Expected `int"),
        ("events: -1\n", "events"),
        ("threshold: 0\n", "threshold"),
        ("scs_history: [1, x]\n", "scs_history"),
        ("events: 1\nevents: 2\n", r"s.yaml:2.*`events`"),
        ('{"events": "x"}', "events"),
        ('{"events": ', "not JSON"),
        ("- a\n- b\n", "list"),
        ("events: no\n", "s.yaml:1"),
    ],
)
def test_a_wrong_description_is_refused_by_the_key(text: str, complaint: str) -> None:
    with pytest.raises(MemctlError, match=complaint) as caught:
        contexts.parse(text, "s.yaml")
    assert "parallel_denials" in str(caught.value.hint)


def test_every_key_of_the_description_is_documented() -> None:
    assert [key for key in contexts.ContextState.__struct_fields__ if f"    {key}: " not in str(contexts.__doc__)] == []
