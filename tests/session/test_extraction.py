"""What is no finding: a label behind which somebody says that there is nothing."""

from __future__ import annotations

import pytest

from memctl.session import extraction
from memctl.transcript.events import ANSWER, Event


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
def test_what_only_begins_so_is_one(text: str, what: tuple[str, str]) -> None:
    assert found(text) == [what]


def test_a_decision_keeps_its_reason_where_there_was_no_alternative() -> None:
    text = "DECISION: use a pool of 25.\nAlternatives: none\nRationale: the database allows 105"
    (one,) = extraction.of_events([Event(ANSWER, text)])
    assert (one.text, one.reason, one.alternatives) == ("use a pool of 25", "the database allows 105", ())
