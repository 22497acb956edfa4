"""A page that answers too little is filled, whatever its budget."""

from __future__ import annotations

from memctl.record import session_page
from memctl.record.session_page import SessionPage, TrailRow
from memctl.session import missing_facts, probes
from memctl.session.probes import ARTIFACT, CONTINUATION, DECISION, RECALL, Probe
from memctl.session.trim import FittedPage

ASKED = [
    Probe(ARTIFACT, probes.FILES, "pay.py", "modified"),
    Probe(ARTIFACT, probes.FILES, "doc.md", "read"),
    Probe(CONTINUATION, probes.NEXT, "Ask the bank"),
    Probe(DECISION, probes.DECISIONS, "Put refunds into a queue"),
    Probe(RECALL, probes.GOAL, "Build refunds"),
    Probe(RECALL, probes.ERROR.format("pytest"), "E PoolError"),
    Probe(RECALL, probes.LEARNED, "retries hide it"),
]
WHOLE = SessionPage(
    {"session_id": "s"},
    {session_page.CHANGED: (TrailRow("pay.py", "modified", "adds refund()"),)},
    {session_page.DECISIONS: ("Put refunds into a queue — Because: they come in bursts",)},
)


def test_missing_facts_are_filled_in_from_the_whole_page() -> None:
    cut = SessionPage({"session_id": "s"}, {}, {})
    made = missing_facts.fill(FittedPage(cut), WHOLE, ASKED).page
    assert made.lines == {
        session_page.NEXT: ("Ask the bank",),
        session_page.DECISIONS: ("Put refunds into a queue — Because: they come in bursts",),
        session_page.INTENT: ("Build refunds",),
        session_page.ERRORS: ("E PoolError",),
        session_page.LEARNINGS: ("retries hide it",),
    }
    assert made.files == {
        session_page.CHANGED: (TrailRow("pay.py", "modified", "adds refund()"),),
        session_page.READ: (TrailRow("doc.md", "read"),),
    }
    assert missing_facts.below_target(made, ASKED) == []


def test_a_page_that_reaches_its_targets_stays_as_it_is() -> None:
    page = FittedPage(missing_facts.fill(FittedPage(WHOLE), WHOLE, ASKED).page)
    assert missing_facts.fill(page, WHOLE, ASKED) is page


def test_description_of_a_changed_file_is_kept() -> None:
    wrong = SessionPage(
        {"session_id": "s"}, {session_page.CHANGED: (TrailRow("pay.py", "created", "adds refund()"),)}, {}
    )
    made = missing_facts.fill(FittedPage(wrong), WHOLE, ASKED[:1]).page
    assert made.files[session_page.CHANGED] == (TrailRow("pay.py", "modified", "adds refund()"),)
