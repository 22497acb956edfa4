"""The metrics of a context: the targets of rules.md#quality, each just met and just missed, and what to change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.record.notices import NOTICES
from memctl.record.record import Record
from memctl.window.policy import quality, staleness
from memctl.window.policy.measures import Measures, stated_task
from memctl.window.policy.quality import QualityMetric
from memctl.window.policy.staleness import Over
from tests.window.policy.texts import NOW, measured, parsed, words

FIELD = "## Part {}\n\n{}\n\n"


def metric(found: Measures, name: str) -> QualityMetric:
    return next(item for item in quality.metrics(found) if item.name == name)


def fired(found: Measures) -> list[str]:
    return [signal.name for signal in quality.signals(found) if signal.fired]


def paragraphs(number: int, size: int, first: int = 0) -> str:
    """A text of paragraphs of so many words, none of which is said twice."""
    return "\n\n".join(words(size, first + size * place) for place in range(number))


def test_quality_targets_match_the_rules() -> None:
    found = {item.name: item.target for item in quality.metrics(measured("Text.", task="text"))}
    assert (found["relevance"], found["redundancy"], found["staleness"]) == (0.80, 0.15, 0.10)
    assert (found["density"], found["health"], found["block size"], found["placement"]) == (0.75, 0.80, 150, 0.25)


@pytest.mark.parametrize(
    ("tokens", "share"), [(1, 0.20), (499, 0.20), (500, 0.30), (2_000, 0.30), (2_001, 0.40), (90_000, 0.40)]
)
def test_tolerated_irrelevant_share_grows_with_the_length(tokens: int, share: float) -> None:
    assert quality.tolerance(tokens) == share


def test_without_a_task_relevance_is_not_measured_and_says_so() -> None:
    found = metric(measured("Anything at all."), "relevance")
    assert (found.value, found.is_met) == (None, None)
    assert "give the task" in found.how


def test_relevance_is_the_share_of_tokens_that_bear_on_the_task() -> None:
    text = f"Checkout times out {words(17)}\n\nThe checkout queue {words(57, 100)}\n\n{words(20, 300)}\n"
    found = measured(text, task="fix the checkout timeout")
    assert found.tokens == 100
    assert metric(found, "relevance").value == 0.80
    assert metric(found, "relevance").is_met is False  # more than 80 % are wanted
    assert metric(measured(text.replace("\n\nw", "\n\ncheckout w"), task="checkout"), "relevance").value == 1.0


def test_a_record_bears_on_a_task_as_a_whole() -> None:
    part = "### {}\n\n{} | accepted | importance 7/10\n\n#### Rationale\n\n{}\n\n"
    text = "# Memory\n\nIntro of it.\n\n## Decisions\n\n"
    text += part.format("Adopt PostgreSQL", "DEC-2025-11-04-001", "Payments need it.")
    text += part.format("Use Vue", "DEC-2025-11-04-002", "The team knows it.")
    found = measured(text, task="payments")
    bears = {item.block.line: item.is_relevant for item in found.blocks}
    assert bears == {1: False, 5: True, 7: True, 11: True, 15: False, 19: False}


def test_the_task_is_taken_from_the_text_if_it_states_one() -> None:
    assert stated_task(parsed("# Memory\n\nChosen for the task: fix it\n\nMore.\n")) == "fix it"
    assert stated_task(parsed("MISSION: build it\nPHASE: one\n")) == "build it"
    assert (
        stated_task(parsed("<a>\n<current_objective>sell lanterns</current_objective>\n<b>x</b>\n</a>"))
        == "sell lanterns"
    )
    assert stated_task(parsed("No task here.")) == ""
    record = "### Work\n\nSTA-2025-11-04-001 | active | importance 5/10\n\n#### Task\n\nIts own.\n"
    assert stated_task(parsed(record)) == ""


def test_critical_information_belongs_into_the_first_quarter() -> None:
    critical = "## Issue\n\nISS-2025-11-04-001 | open | severity critical | importance 9/10\n\n"
    late = measured(paragraphs(10, 10) + "\n\n" + critical)
    assert metric(late, "placement").is_met is False
    assert metric(late, "placement").value == pytest.approx(0.9, abs=0.02)
    assert [change.action for change in quality.advice(late) if change.metric == "placement"] == ["move the block up"]
    early = measured(f"{critical}## Rest\n\n{paragraphs(10, 10)}")
    assert metric(early, "placement").value == 0.0
    assert metric(early, "placement").is_met
    assert metric(measured(paragraphs(4, 10)), "placement").is_met is None


def test_more_critical_information_than_a_quarter_is_judged_by_what_fits() -> None:
    one = "## Issue\n\nISS-2025-11-04-00{} | open | severity critical | importance 9/10 | {}\n\n"
    text = "".join(one.format(number, words(10, number * 10)) for number in range(9))
    assert metric(measured(text), "placement").is_met


def test_redundancy_is_the_share_of_repeated_tokens() -> None:
    plan = words(20)
    found = measured(f"{plan}\n\n{words(60, 100)}\n\n{plan}\n")
    assert metric(found, "redundancy").value == 0.20
    assert metric(found, "redundancy").is_met is False
    (change,) = [item for item in quality.advice(found) if item.metric == "redundancy"]
    assert (change.line, change.saves, change.why) == (5, 20, "100% of the block repeats lines 1-1")
    assert metric(measured(paragraphs(5, 20)), "redundancy").value == 0.0


def test_an_overlap_counts_by_its_words() -> None:
    found = measured(f"{words(20)}\n\n{words(10)} {words(30, 200)}\n\n{words(40, 300)}\n")
    assert metric(found, "redundancy").value == 0.10
    assert metric(found, "redundancy").is_met


def test_similar_fact_lines_of_records_are_no_repetition() -> None:
    facts = "DEC-2025-11-04-00{} | accepted | importance 7/10 | 2025-11-04T14:32:00Z | by Ada | tags: payment"
    found = measured("\n\n".join(facts.format(number) for number in range(1, 9)))
    assert metric(found, "redundancy").value == 0.0


def test_a_list_of_records_by_title_repeats_nothing_though_titles_are_alike() -> None:
    for line in ("- {} {}", "{} {}", '<item id="{}">{}</item>'):
        listed = [line.format(f"ISS-2025-11-04-{number:03d}", "Check the limit of the patrol") for number in range(9)]
        found = measured("\n".join(listed))
        assert metric(found, "redundancy").value == 0.0
        assert quality.advice(found) == []


def test_closed_records_are_stale_where_they_are_shown_and_where_they_are_named_as_holding() -> None:
    known = Over(
        {"DEC-2025-01-01-001": "superseded", "ISS-2025-01-01-001": "resolved"}, frozenset({"DEC-2025-01-02-001"})
    )
    shown = "### Old\n\nDEC-2025-01-01-001 | superseded | importance 7/10\n\n#### Rationale\n\nBecause of it.\n"
    assert metric(measured(shown, known=known), "staleness").value == 1.0
    as_if = measured("We go by DEC-2025-01-01-001 here.", known=known)
    assert as_if.blocks[0].stale.why == "DEC-2025-01-01-001 is superseded"
    for text in (
        "It supersedes DEC-2025-01-01-001.",  # says itself that it is over
        "ISS-2025-01-01-001 was resolved in March.",
        "## Rationale\n\nThis came from ISS-2025-01-01-001.",  # tells of the past
        "We go by DEC-2025-01-02-001.",
        "We go by DEC-2025-01-03-009, which nobody knows.",
    ):
        assert metric(measured(text, known=known), "staleness").value == 0.0, text
    reason = measured("## Rationale\n\nThis rests on DEC-2025-01-01-001.", known=known)
    assert metric(reason, "staleness").value > 0  # type: ignore[operator]


def test_only_the_sentence_is_stale_that_names_what_is_over() -> None:
    known = Over({"DEC-2025-01-01-001": "archived"}, frozenset())
    found = measured(f"We go by DEC-2025-01-01-001 today. {words(90)}.", known=known)
    assert 0 < (metric(found, "staleness").value or 0) < 0.10
    assert [item.action for item in quality.advice(found) if item.metric == "staleness"] == [
        "bring the block up to date"
    ]


def test_plain_signs_of_staleness_need_no_memory() -> None:
    for text in ("This plan is obsolete.", "~~Use MySQL.~~ Gone.", "It is no longer valid.", "Deployed on 2025-08-05."):
        assert (metric(measured(text), "staleness").value or 0) > 0, text
    for text in ("Deployed on 2025-08-07.", "From 2025-01-01 until 2025-11-04.", "Nothing is wrong."):
        assert metric(measured(text), "staleness").value == 0.0, text
    assert staleness.OLD_DAYS == 90


def test_a_current_record_is_not_stale_for_its_age() -> None:
    known = Over({}, frozenset({"DEC-2024-01-01-001"}))
    facts = "DEC-2024-01-01-001 | accepted | importance 10/10 | 2024-01-01T00:00:00Z"
    text = f"### Old but true\n\n{facts}\n\nSince 2024-01-01.\n"
    assert metric(measured(text, known=known), "staleness").value == 0.0
    assert metric(measured(text), "staleness").value == 1.0


def test_records_that_are_over_are_closed_archived_or_expired() -> None:
    def made(number: int, **changes: object) -> Record:
        values: dict[str, object] = {
            "id": f"DEC-2025-11-04-{number:03d}", "memory_id": "019a4f3e-0000-7000-8000-000000000001",
            "memory_type": "decision", "title": "x", "status": "accepted", "importance": 7,
            "timestamp": NOW, "project_id": "shop", "agent_id": "claude", **changes,
        }  # fmt: skip
        return Record(**values)  # type: ignore[arg-type]

    found = staleness.over(
        [
            made(1),
            made(2, status="superseded"),
            made(3, is_archived=True),
            made(4, expires_at=NOW),
            made(5, expires_at="2026-01-01T00:00:00Z", aliases=["DEC-2025-11-01-001"]),
        ],
        NOW,
    )
    assert found.closed == {
        "DEC-2025-11-04-002": "superseded",
        "DEC-2025-11-04-003": "archived",
        "DEC-2025-11-04-004": "expired",
    }
    assert found.current == {"DEC-2025-11-04-001", "DEC-2025-11-04-005", "DEC-2025-11-01-001"}


def test_density_is_what_is_left_without_markup_and_padding() -> None:
    plain = metric(measured(paragraphs(3, 20)), "density")
    assert (plain.value, plain.is_met) == (1.0, True)
    padded = measured("Please note that it is important to note that basically x.\n\n" + words(5))
    assert metric(padded, "density").is_met is False
    changes = {change.title for change in quality.advice(padded) if change.metric == "density"}
    assert changes == {"padding", "the whole"}
    ruled = measured("one\n\n* * *\n\n- - -\n\n* * *\n\ntwo\n")
    assert metric(ruled, "density").value == 2 / 11


def test_the_average_block_has_less_than_150_tokens_and_none_more_than_200() -> None:
    assert metric(measured(paragraphs(4, 149)), "block size").is_met
    assert metric(measured(paragraphs(4, 150)), "block size").is_met is False
    assert quality.long_blocks(measured(paragraphs(2, 200))) == []
    long = measured(words(201))
    assert "long block" in fired(long)
    assert [change.action for change in quality.advice(long)] == ["break the block up with headings or empty lines"]
    assert metric(long, "flow").value == 0.0


def test_a_change_of_type_needs_a_boundary() -> None:
    code = "def a(x):\n    return x;\nimport os;\nb = {a};"
    bare = measured(f"Some text before it.\n\n{code}\n")
    assert metric(bare, "boundaries").is_met is False
    assert "missing boundaries" in fired(bare)
    assert [(item.line, item.metric) for item in quality.advice(bare)][:1] == [(3, "boundaries")]
    fenced = measured(f"Some text before it.\n\n```\n{code}\n```\n")
    assert metric(fenced, "boundaries").is_met


def test_each_500_tokens_need_a_boundary() -> None:
    assert metric(measured(paragraphs(10, 49)), "boundaries").is_met
    assert metric(measured(paragraphs(10, 60)), "boundaries").is_met is False
    assert metric(measured("## Part\n\n" + paragraphs(10, 60)), "boundaries").is_met


def test_health_is_what_is_relevant_new_and_true() -> None:
    task = "checkout"
    good = f"checkout {words(79)}"
    found = measured(f"{good}\n\n{words(10, 100)}\n\nobsolete checkout {words(8, 200)}\n", task=task)
    assert metric(found, "health").value == 0.80
    assert metric(found, "health").is_met is False


@pytest.mark.parametrize(
    ("name", "below", "above"),
    [
        (
            "redundancy",
            f"{words(25)}\n\n{words(25)}\n\n{words(50, 100)}",
            f"{words(26)}\n\n{words(26)}\n\n{words(48, 100)}",
        ),
        ("stale information", f"obsolete {words(29)}\n\n{words(70, 100)}", f"obsolete {words(30)}\n\n{words(69, 100)}"),
        ("context length", words(1_000), words(1_001)),
        ("long block", words(200), words(201)),
    ],
)
def test_a_trigger_fires_above_its_limit(name: str, below: str, above: str) -> None:
    assert name not in fired(measured(below))
    assert name in fired(measured(above))


def test_triggers_of_relevance_need_a_task() -> None:
    unknown = {signal.name for signal in quality.signals(measured("Text.")) if signal.fired is None}
    assert unknown == {
        "similar clusters",
        "irrelevant content",
        "distractors",
        "performance drop",
        "buried information",
    }
    text = f"checkout {words(59)}\n\n{words(41, 100)}"
    assert "irrelevant content" in fired(measured(text, task="checkout"))
    assert "irrelevant content" not in fired(measured(f"checkout {words(59)}\n\n{words(40, 100)}", task="checkout"))


def test_density_fires_below_70_percent_and_misses_below_75() -> None:
    rules = "* * *\n\n" * 10
    found = measured(rules + "\n\n".join([words(70)]))
    assert metric(found, "density").value == 0.7
    assert "density drop" not in fired(found)
    assert "density drop" in fired(measured(rules + words(69)))


def test_blocks_that_are_like_each_other_and_off_the_task_are_a_cluster() -> None:
    logs = "\n\n".join(f"worker started on host number {n} with queue mail and {words(3, 10 * n)}" for n in range(6))
    found = measured(f"The checkout is slow.\n\n{logs}", task="checkout")
    assert "similar clusters" in fired(found)
    assert "similar clusters" not in fired(measured(f"The checkout is slow.\n\n{paragraphs(6, 12)}", task="checkout"))


def test_outdated_block_on_the_task_is_a_distractor() -> None:
    found = measured("The checkout uses MySQL; this is obsolete.\n\nThe checkout uses PostgreSQL.", task="checkout")
    assert "distractors" in fired(found)


def test_order_by_importance_is_looked_at() -> None:
    part = "### R{0}\n\nDEC-2025-11-04-00{0} | accepted | importance {0}/10\n\n"
    assert "ordering" in fired(measured("".join(part.format(number) for number in (1, 2, 3, 4))))
    assert "ordering" not in fired(measured("".join(part.format(number) for number in (4, 3, 2, 1))))


@given(st.text(alphabet="abc #-*`<>/{}\n|:~.D", max_size=300), st.sampled_from(["", "a task"]))
def test_every_share_is_from_0_to_1(text: str, task: str) -> None:
    try:
        found = measured(text, task)
    except MemctlError:
        return
    for item in quality.metrics(found):
        if item.unit == "share" and item.value is not None:
            assert 0 <= item.value <= 1.0000001, item
    assert all(0 <= change.saves <= found.parsed.tokens + 3 * len(found.padding) for change in quality.advice(found))
    assert len(quality.signals(found)) == 12


def test_empty_text_misses_no_quality_target() -> None:
    found = quality.metrics(measured(""))
    assert not [item.name for item in found if item.is_met is False]


STATE = """MISSION: checkout with cards
STACK: Django|Redis|Celery
PHASES: [1]research [2]build
DECISIONS: |queue:celery| |cache:redis|
FIXES_TRIED: larger pool, longer timeout
CONSTRAINTS: |no new services| |python 3.10|
NEXT: measure the pool
DIARY: On Monday it rained, on Tuesday we had lunch by the river and talked about holidays.
WEATHER: It will rain on Friday, too, and more on Saturday, say those who know about it and watch.
MENU: Soup, bread, cheese, tea, apples, pears, plums, nuts, raisins, cake, and a jug of cold water.
TRAINS: The one at ten is late, the one at eleven full, the one at noon slow, and then comes none.
"""


@pytest.mark.parametrize("form", ["lines", "xml", "markdown"])
def test_decisions_and_constraints_are_never_advised_to_be_removed(form: str) -> None:
    pairs = [line.split(": ", 1) for line in STATE.splitlines()]
    text = {
        "lines": STATE,
        "xml": "<state>" + "".join(f"<{key.lower()}>{value}</{key.lower()}>\n" for key, value in pairs) + "</state>",
        "markdown": "".join(f"## {key.title()}\n\n{value}\n\n" for key, value in pairs),
    }[form]
    found = measured(text, task="checkout with cards")
    gone = {change.title.lower() for change in quality.advice(found) if "remove" in change.action}
    assert gone == {"diary", "weather", "menu", "trains"}


def test_repeated_or_old_decision_is_not_advised_to_be_removed() -> None:
    twice = "## Decisions\n\n- the queue is celery since it retries and we know it well\n\n"
    changes = quality.advice(measured(twice * 2 + "## Notes\n\nAll of it from 2020-01-01.\n\n"))
    assert [change.action for change in changes[:2]] == [
        "keep one copy of what is repeated, and refer to that copy",
        "remove",
    ]
    old = quality.advice(measured("## Constraints\n\nPython 3.6 until 2019-01-01.\n"))
    assert [change.action for change in old] == ["bring the block up to date"]


def test_a_pack_is_not_to_be_compressed() -> None:
    pack = f"# Memory\n\n{NOTICES[0]}\n\n" + "".join(f"## Part {n}\n\n{words(250, n * 250)}\n\n" for n in range(8))
    for task in ("", "sell lanterns"):
        fired = {one.name for one in quality.signals(measured(pack, task=task)) if one.fired}
        assert fired <= {"irrelevant content"}


def test_messages_on_one_line_are_named_by_their_number() -> None:
    given = [{"role": "user", "content": words(210, n * 210)} for n in range(3)]
    changes = quality.advice(measured(json.dumps(given)))
    assert {change.title for change in changes if change.metric == "block size"} == {
        "user, message 1",
        "user, message 2",
        "user, message 3",
    }
