"""From labels in a transcript to the page and to the records that are proposed, with all their fields."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.record import session_page
from memctl.session import page_builder, trail
from memctl.session.proposals import Proposal, propose
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places, Trail
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event, Session
from tests.statements.test_reader import BUG, CHANGE, DECISION, DETAIL, FORMS, LESSON, TASK


def summed_up(*texts: str, tmp_path: Any, calls: tuple[Event, ...] = ()) -> SessionSummary:
    events = (Event(PROMPT, "hi"), *calls, *(Event(ANSWER, text) for text in texts))
    session = Session("text", events)
    made: Trail = trail.of_session(session, Places(tmp_path, ""), frozenset(), ())
    return summarize(session, made, "s1", "Ada")


def proposed(*texts: str, tmp_path: Any) -> list[Proposal]:
    return propose(summed_up(*texts, tmp_path=tmp_path))


@pytest.mark.parametrize("form", FORMS)
def test_a_decision_is_proposed_with_all_its_fields(form: str, tmp_path: Any) -> None:
    text = "\n".join(map(FORMS[form], DECISION.split("\n")))
    (one,) = proposed(f"I looked at it.\n\n{text}\n\nNow the rest.", tmp_path=tmp_path)
    assert (one.kind, one.title, one.explicit) == ("decision", "Keep orders as events", True)
    assert one.content == {
        "decision": "Keep orders as events",
        "rationale": "Every price can be explained, and reports can be replayed",
        "alternatives_considered": [
            "Rows that change (rejected: no history)",
            "A log beside them (rejected: drifts apart)",
        ],
        "expected_impact": "Six weeks of migration, a third less code in billing",
        "validation_criteria": "A replay of March gives the same sums",
        "context": "Session s1",
    }
    assert one.values["agent_id"] == "Billing-Planner-7"
    assert (one.values["importance"], one.values["status"]) == (7, "accepted")


def test_a_choice_in_a_list_below_a_label_is_proposed_once(tmp_path: Any) -> None:
    text = "### Decisions Made\n1. Chose cents over floats for exact sums\n2. Used Kafka because the team runs it\n"
    assert [(one.title, one.explicit) for one in proposed(text, tmp_path=tmp_path)] == [
        ("Chose cents over floats for exact sums", True),
        ("Used Kafka", True),
    ]


def test_a_state_has_its_remarks_and_its_next_actions_beside_its_steps(tmp_path: Any) -> None:
    (issue, state) = proposed(TASK, "Current state:\n- The schema is agreed", tmp_path=tmp_path)
    assert issue.kind == "issue"
    assert state.content["next_actions"] == [
        "Validate what PUT gets (waits for: the schema)",
        "Answer DELETE with 405",
        "Limit the rate",
    ]
    assert len(state.content["substeps_remaining"]) == 2
    (bare,) = proposed("Current state:\n- The schema is agreed\n\nNext: ship it", tmp_path=tmp_path)
    assert bare.content["task_description"] == "hi\n\nThe schema is agreed"


@pytest.mark.parametrize("form", FORMS)
def test_a_bug_is_proposed_with_its_severity_and_what_was_tried(form: str, tmp_path: Any) -> None:
    (one,) = proposed("\n".join(map(FORMS[form], BUG.split("\n"))), tmp_path=tmp_path)
    assert (one.kind, one.title) == ("issue", "BUG-31: The till hangs when the line drops")
    assert one.values["severity"] == "critical"
    assert one.content["attempted_fixes"] == ["A shorter wait (no effect)", "A second lock (partly)"]
    assert one.content["next_actions"] == ["Wait without the lock"]
    assert one.content["reproduction_steps"] == "Pull the cable during a payment; 3 of 10 hang"
    assert one.content["investigation_status"] == "Cause found (the lock is kept while waiting)"


@pytest.mark.parametrize("form", FORMS)
def test_a_task_is_the_state_with_how_far_it_is_and_its_steps(form: str, tmp_path: Any) -> None:
    (one,) = [
        p for p in proposed("\n".join(map(FORMS[form], TASK.split("\n"))), tmp_path=tmp_path) if p.kind == "state"
    ]
    assert one.title == "Serve the price list over HTTP"
    assert one.values["completion_percentage"] == 40
    assert one.content["substeps_completed"] == ["GET /prices (done)", "HEAD /prices (done)"]
    assert one.content["substeps_remaining"] == [
        "PUT /prices (in progress - validation is left)",
        "DELETE /prices (not started)",
    ]
    assert one.content["blockers"] == ["The schema has to be agreed with the shops"]
    assert "Answer DELETE with 405" in one.content["next_actions"]


def test_critical_details_and_lessons_become_learnings(tmp_path: Any) -> None:
    critical, lesson = proposed(DETAIL, LESSON, tmp_path=tmp_path)
    assert critical.content["lesson"].splitlines()[1:] == [  # type: ignore[union-attr]
        "Storage: BIGINT, never NUMERIC",
        "Lookup: WHERE total_cents = ROUND($1 * 100)",
    ]
    assert (critical.kind, critical.values["importance"], lesson.values["importance"]) == ("learning", 8, 5)
    assert lesson.content["applicability"] == "Anything that queues for a connection"
    assert lesson.content["evidence"] == "30 % fewer errors after the pool grew"


def test_file_change_stated_in_a_text_is_on_the_page(tmp_path: Any) -> None:
    page = page_builder.compose(summed_up(CHANGE, tmp_path=tmp_path), "p", "2025-03-03T00:00:00Z")
    (row,) = page.files[session_page.CHANGED]
    assert (row.path, row.action) == ("src/till/lock.py", "modified")
    assert row.what.startswith("Releases the lock before it waits, and takes it again behind")


def test_statements_about_a_file_join_the_row_of_its_calls(tmp_path: Any) -> None:
    calls = (
        Event(CALL, tool="Write", arguments={"file_path": "src/till/lock.py", "content": "x"}, call="1"),
        Event(RESULT, "ok", call="1"),
        Event(CALL, tool="Read", arguments={"file_path": "schema.sql"}, call="2"),
        Event(RESULT, "x", call="2"),
    )
    more = (
        "Modified: src/till/other.py\nChanges: nobody saw it\n\n### Files Read\n- schema.sql \u2014 Checked the columns"
    )
    page = page_builder.compose(summed_up(CHANGE, more, tmp_path=tmp_path, calls=calls), "p", "2025-03-03T00:00:00Z")
    (row,) = page.files[session_page.CHANGED]
    assert (row.path, row.action) == ("src/till/lock.py", "created")
    assert "Releases the lock" in row.what
    assert [(one.path, one.what) for one in page.files[session_page.READ]] == [("schema.sql", "Checked the columns")]


def test_a_bug_that_is_resolved_is_no_open_issue(tmp_path: Any) -> None:
    assert proposed("BUG-1: it hung\nStatus: RESOLVED, tests pass", tmp_path=tmp_path) == []
    assert proposed("Problem: it hung\nSolution: a larger pool", tmp_path=tmp_path) == []


def test_list_after_key_decisions_adds_no_further_decisions(tmp_path: Any) -> None:
    text = "3. What was done:\n   - Key decisions:\n     - Keep one writer\n"
    text += "   - All tests passed\n   - **Commit and PR**:\n"
    assert [one.title for one in proposed(text, tmp_path=tmp_path)] == ["Keep one writer"]


def test_proposals_have_no_credentials(tmp_path: Any) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPL3"
    (one,) = proposed(f"BUG-2: it leaks\nRepro: log in\nwith {key} twice\nNext: hide {key}", tmp_path=tmp_path)
    assert key not in str(one)
    assert str(one.content["reproduction_steps"]).startswith("log in\nwith ")


def test_a_proposal_refers_to_the_files_of_the_session_that_it_names(tmp_path: Any) -> None:
    read = [
        Event(CALL, tool="Read", arguments={"file_path": str(tmp_path / path)}, call=path)
        for path in ("src/orders.py", "src/api.py", "old/api.py")
    ]
    results = [Event(RESULT, "text", call=event.call) for event in read]
    calls = tuple(event for pair in zip(read, results, strict=True) for event in pair)
    said = "Decision: Keep orders as events in src/orders.py\nRationale: api.py and missing.py can replay them (v1.2)"
    (one,) = propose(summed_up(said, tmp_path=tmp_path, calls=calls))
    assert one.values["code_refs"] == ["src/orders.py"]  # two files are called api.py


def test_importance_and_expiry_follow_from_speaker_and_certainty(tmp_path: Any) -> None:
    def given(who: str, text: str) -> tuple[object, object]:
        events = (Event(PROMPT, "go on"), Event(who, text)) if who == ANSWER else (Event(who, text),)
        session = Session("x", events)
        places = Places(tmp_path, "")
        made = summarize(session, trail.of_session(session, places, (), ()), "s1", "me")
        (one,) = [found for found in propose(made) if found.kind == "decision"]
        return one.values["importance"], one.values.get("expires_at")

    assert given(PROMPT, "DECISION: one queue for each shop") == (8, None)
    assert given(ANSWER, "DECISION: one queue for each shop") == (7, None)
    assert given(PROMPT, "let's keep one queue for each shop") == (5, "30d")
    assert given(ANSWER, "We decided to keep one queue for each shop.") == (4, "7d")
    assert given(ANSWER, "DECISION: one queue for each shop\nImportance: 9") == (9, None)


def test_a_proposal_has_the_time_at_which_it_was_stated(tmp_path: Any) -> None:
    said = Event(PROMPT, "DECISION: one queue for each shop", moment="2025-03-02T08:15:00Z")
    session = Session("x", (said, Event(ANSWER, "Lesson: a retry hides an empty pool")))
    made = summarize(session, trail.of_session(session, Places(tmp_path, ""), (), ()), "s1", "me")
    assert [one.values.get("timestamp") for one in propose(made)] == ["2025-03-02T08:15:00Z", None]
