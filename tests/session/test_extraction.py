"""What is no finding: a label behind which somebody says that there is nothing, what was mended, what only explains."""

from __future__ import annotations

import pytest

from memctl.session import extraction
from memctl.statements import labels
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event


def found(text: str) -> list[tuple[str, str]]:
    return [(one.label, one.text) for one in extraction.of_events([Event(ANSWER, text)])]


@pytest.mark.parametrize(
    "text",
    [
        "Notes: none",
        "**Learnings:** None so far.",
        "Learned: nothing",
        "Notes: n/a",
        "Issues: N.A.",
        "Notes: -",
        "Notes: TBD",
        "Next: TBD",
        "Open issues: none known",
        "Blocked by: nothing",
        "Dependencies: no new dependencies",
        "Lessons learned: there were no new lessons",
        "Notes: nothing special to report.",
        "Learned: no",
        "Decision: none\nReason: too early to say",
        "## Notes\n\n_None_",
    ],
)
def test_a_label_with_nothing_behind_it_is_no_finding(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Notes: none of the retries is needed", ("learning", "none of the retries is needed")),
        ("Learned: nothing beats an index here", ("learning", "nothing beats an index here")),
        ("Notes: no issues with the pool were found", ("learning", "no issues with the pool were found")),
        ("Next: none", ("next", "none")),  # the work is done, and what was next before is not
        ("Notes:\n- None\n- keep the pool at 25", ("learning", "keep the pool at 25")),
    ],
)
def test_statement_that_begins_like_an_empty_one_is_found(text: str, what: tuple[str, str]) -> None:
    assert found(text) == [what]


def test_a_decision_keeps_its_reason_where_there_was_no_alternative() -> None:
    text = "DECISION: use a pool of 25.\nAlternatives: none\nRationale: the database allows 105"
    (one,) = extraction.of_events([Event(ANSWER, text)])
    assert (one.text, one.reason, one.alternatives) == ("use a pool of 25", "the database allows 105", ())


EDIT = Event(CALL, tool="Edit", arguments={"file_path": "pay.py"}, call="e1")
SUMMARY = (
    "All done.\n\n### Bug 1: Totals in cents\n\n`pay.py` rounds once now.\n\n### Bug 2: Empty carts\n\nNone is sent.\n"
)


def issues(*events: Event) -> list[str]:
    return [one.text for one in extraction.of_events(events) if one.label == labels.ISSUE]


def test_bugs_that_a_report_counts_are_open_unless_files_were_changed_for_them() -> None:
    asked = Event(PROMPT, "go through the payment code")
    assert issues(asked, Event(ANSWER, SUMMARY)) == ["Totals in cents", "Empty carts"]
    assert issues(asked, EDIT, Event(ANSWER, SUMMARY)) == []
    assert issues(asked, EDIT, Event(ANSWER, "Done.\n\nBUG-12 [HIGH]: Totals are in cents")) == [
        "BUG-12: Totals are in cents"
    ]


def test_findings_of_a_long_report_are_one_uncertain_finding() -> None:
    long = "It was read line by line, and compared with the bank's own rules. " * 16
    text = f"{long}\n\n## Known issues\n\n- Totals are in cents\n- Empty carts are sent\n"
    (one,) = extraction.of_events([Event(ANSWER, text)])
    assert (one.text, one.explicit) == ("Totals are in cents; Empty carts are sent", False)


def test_an_answer_that_clarifies_a_prompt_is_not_a_decision() -> None:
    asked = {"questions": [], "answers": {"Can you clarify what you mean by totals?": "those of a day"}}
    assert extraction.of_events([Event(RESULT, "x", call="q", details=asked)]) == []


def test_placeholder_of_an_evicted_message_states_nothing() -> None:
    marker = (
        "[Evicted: assistant_response from turn 1.\nIt said: We chose SQLite because it needs no server.\nWhole: x]"
    )
    assert found(marker) == []
    assert found(f"We decided to keep one queue.\n\n{marker}") == [("decision", "We decided to keep one queue")]


def test_a_list_of_decisions_without_reasons_is_one_and_a_table_is_read_by_its_rows() -> None:
    table = "## Design Decisions\n\n| Decision | Choice |\n|---|---|\n| Lock | one for each shop |\n"
    assert found(table) == [("decision", "Lock: one for each shop")]
    rows = "".join(f"| Part {name} | stays in the {name} service |\n" for name in ("till", "stock", "mail", "bank"))
    ((label, text),) = found(table + rows)
    assert label == "decision"
    assert text.startswith("Lock: one for each shop; Part till: stays in the till service; Part stock: ")


def test_yes_to_several_questions_assents_to_none() -> None:
    def chosen(asked: str) -> list[str]:
        return [one.text for one in extraction.of_events([Event(ANSWER, asked), Event(PROMPT, "yes"), EDIT])]

    assert chosen("Should I cache the prices of each shop?") == ["Cache the prices of each shop"]
    assert chosen("Should I cache the prices of each shop, or read them each time?") == []
    assert chosen("Should I cache the prices of each shop? Should we drop the old table of prices?") == []


def test_sentence_that_refers_back_includes_the_one_before_it() -> None:
    asked = Event(PROMPT, "go through the mailer")
    text = "The limit of `send_all` is not read anywhere. But that is a pre-existing issue and out of scope here."
    assert [one.text for one in extraction.of_events([asked, Event(ANSWER, text)])] == [text]
    assert extraction.of_events([asked, Event(ANSWER, "But that is a pre-existing issue and out of scope here.")]) == []


def test_later_statement_on_the_same_measure_replaces_the_earlier_one() -> None:
    said = [
        "Learned: the hook of a prompt takes 40 ms with 2,000 records.",
        "Learned: the hook of a prompt takes 29 ms with 2,000 records.",
    ]
    found = extraction.of_events([Event(ANSWER, text) for text in said])
    assert [extract.text for extract in found] == ["the hook of a prompt takes 29 ms with 2,000 records."]


def test_blockers_and_numbered_issues_are_found_in_sentences() -> None:
    assert found("The release is blocked by the missing key. BUG-12 makes the import slow. BUG-13 is fixed.") == [
        (labels.BLOCKER, "The release is blocked by the missing key."),
        (labels.ISSUE, "BUG-12 makes the import slow."),
    ]
