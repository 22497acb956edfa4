"""Change control of the threshold: when it is raised, lowered, or kept."""

from __future__ import annotations

import json

import pytest

from memctl.errors import MemctlError
from memctl.record.event import ContextSizes, WorkflowEvent
from memctl.window.policy import observations
from memctl.window.policy.observations import Observation, Review, measure_state, merged


def log(*days: dict[str, object]) -> str:
    return "\n".join(json.dumps({"date": f"2025-11-{number:02d}", **day}) for number, day in enumerate(days, 1))


def review(*days: dict[str, object], limit: int = 2_000) -> Review:
    return observations.review(observations.parse(log(*days), "scs.jsonl"), limit)


def week(scs: int, **one: object) -> list[dict[str, object]]:
    """Seven days of the same slice, and something that happened on the first of them."""
    return [{"scs": scs, **(one if day == 0 else {})} for day in range(7)]


def test_a_full_slice_and_many_refusals_raise_it() -> None:
    found = review(*week(1_501, requests=10, denied=4))
    assert (found.decision, found.median, found.denial_rate) == ("raise", 0.7505, 0.4)
    assert found.proposal == 2_100


@pytest.mark.parametrize(("scs", "denied"), [(1_500, 4), (1_501, 3)])
def test_exactly_75_or_30_percent_keep_it(scs: int, denied: int) -> None:
    assert review(*week(scs, requests=10, denied=denied)).decision == "keep"


def test_an_empty_slice_and_idle_summaries_lower_it() -> None:
    found = review(*week(700, macro_summaries=4, no_ops=3))
    assert (found.decision, found.median, found.no_ops) == ("lower", 0.35, 3)
    assert found.proposal == 1_700


@pytest.mark.parametrize(("scs", "no_ops"), [(800, 3), (799, 2)])
def test_exactly_40_percent_or_two_idle_summaries_keep_it(scs: int, no_ops: int) -> None:
    found = review(*week(scs, macro_summaries=4, no_ops=no_ops))
    assert (found.decision, found.proposal) == ("keep", None)


def test_only_the_last_seven_days_count() -> None:
    early = [{"scs": 100}, {"scs": 100}]
    found = review(*early, *week(1_600, requests=1, denied=1))
    assert (found.observations, found.since[:10], found.until[:10]) == (7, "2025-11-03", "2025-11-09")
    assert found.decision == "raise"


def test_the_largest_change_is_between_neighbours_in_time() -> None:
    text = (
        '{"date": "2025-11-03", "scs": 900}\n\n{"date": "2025-11-01", "scs": 100}\n{"date": "2025-11-02", "scs": 800}\n'
    )
    found = observations.review(observations.parse(text, "x"), 2_000)
    assert found.largest_delta == 700


def test_an_observation_has_the_threshold_of_its_day() -> None:
    assert review({"scs": 900, "threshold": 1_000}).median == 0.9


def test_no_observations_keep_it() -> None:
    found = review()
    assert (found.observations, found.decision, found.median, found.proposal) == (0, "keep", None, None)


def test_full_without_any_request_keeps_it() -> None:
    assert "no parallel work" in review(*week(1_900)).why


def test_the_smallest_threshold_is_not_lowered_to_nothing() -> None:
    assert review(*week(0, macro_summaries=3, no_ops=3), limit=1).proposal is None
    assert review(*week(0, macro_summaries=3, no_ops=3)).proposal == 100


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "x:1: this is not JSON"),
        ('{"scs": 1}', "x:1: .*date"),
        ('{"date": "2025-11-01"}', "x:1: .*scs"),
        ('{"date": "yesterday", "scs": 1}', "x:1: date: 'yesterday'"),
        ('{"date": "2025-11-01", "scs": -1}', "x:1: scs: "),
        ('{"date": "2025-11-01", "scs": 1, "denied": 1}', "x:1: denied must not be larger than requests"),
        ('{"date": "2025-11-01", "scs": 1, "no_ops": 1}', "x:1: no_ops must not be larger"),
        ('{"date": "2025-11-01", "scs": 1, "other": 1}', "x:1: .*other"),
        ("[" * 100_000, "x:1: "),
    ],
)
def test_a_wrong_line_is_refused_by_line_and_key(line: str, complaint: str) -> None:
    with pytest.raises(MemctlError, match=complaint):
        observations.parse(line, "x")


def test_the_way_to_another_threshold_has_four_steps() -> None:
    assert [step.split()[0] for step in observations.STEPS] == ["propose", "pilot", "record", "adopt"]
    assert "at least 3 complex tasks" in observations.STEPS[1]


def event(number: int, type_: str, **fields: object) -> WorkflowEvent:
    values = {"event_id": f"e{number}", "sequence": number, "timestamp": f"2025-11-04T10:00:{number:02}Z"}
    return WorkflowEvent(event_type=type_, workflow_id="w", **values, **fields)  # type: ignore[arg-type]


def batch(number: int, scs: int, **fields: object) -> Observation:
    date = f"2025-11-04T10:00:{number:02}Z"
    return Observation(date, scs, 2_000, workflow="w", batch=str(number), **fields)  # type: ignore[arg-type]


def test_state_is_measured_from_a_log_and_events() -> None:
    log = [
        batch(1, 1_000, aws=4_000, requests=1),
        batch(2, 1_100, aws=5_000, fired=(2,)),
        batch(5, 1_300, aws=6_000, requests=1, denied=1, fired=(2, 3)),
        batch(6, 1_600, aws=7_000, requests=1, denied=1),
        batch(6, 1_600, aws=7_000, fired=(6,)),  # of the same contexts: the same batch
        Observation("2025-11-04T10:00:07Z", 9, workflow="another"),
    ]
    events = [
        event(1, "checkpoint", action_taken="x", checkpoint_id="c"),
        event(3, "compression", action_taken="summed up"),
        event(4, "escalation", action_taken="security review of the login", target_agent="alpha"),
        event(8, "phase_complete"),
    ]
    found = measure_state(merged(log), events, "w")
    assert found.known() == {
        "delta_payload": 200,  # the median of what the slice grew by: 100, 200, 300
        "pending_escalations": ["security review of the login"],
        "deferred_compressions": 2,  # triggers that fired in batches 5 and 6, since the compression
        "phase_boundary": True,
        "batches_since_compression": 2,
        "aws_before": 7_000,
        "events": 3,
        "scs_history": [1_100, 1_300, 1_600],
        "parallel_denials": 2,
    }
    assert measure_state([], [], "w").known() == {}


def test_compressions_and_those_that_saved_nothing_are_counted_from_the_events() -> None:
    events = [
        event(n, "compression", before_state=ContextSizes(aws_size=1_000), after_state=ContextSizes(aws_size=after))
        for n, after in enumerate((800, 999, 990), 1)
    ]
    found = observations.compressions(events, "w", "")
    assert (len(found), observations.no_ops(found)) == (3, 1)
    assert observations.compressions(events, "w", "2025-11-04T10:00:02Z") == events[2:]
    assert measure_state([batch(0, 9, aws=7)], events, "w").aws_before == 990  # what the last compression left
    assert measure_state([batch(4, 9, aws=7)], events, "w").aws_before == 7
