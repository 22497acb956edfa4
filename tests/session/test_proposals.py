"""What is proposed of a raw conversation: titles, reasons, and which proposals are sure."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.session.proposals import Proposal, propose
from memctl.session.summary import summarize
from memctl.session.trail import Trail
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event, Session

EDIT = Event(
    CALL, tool="Edit", call="e1", arguments={"file_path": "shop/cart.py", "old_string": "a", "new_string": "b"}
)
DONE = Event(RESULT, "ok", call="e1")


def proposed(*events: Event, kind: str = "decision") -> list[Proposal]:
    made = summarize(Session("text", events), Trail(()), "s1", "Ada")
    return [one for one in propose(made) if one.kind == kind]


def asked(answer: str) -> Event:
    question = "Where should the diagram go?"
    options = [{"label": "docs/made"}, {"label": "build/made"}]
    details: dict[str, Any] = {
        "answers": {question: answer},
        "questions": [{"question": question, "options": options}],
    }
    return Event(RESULT, "answered", call="q1", details=details)


def test_title_of_a_demand_is_short_and_its_words_stay_in_the_content() -> None:
    said = "ok so let's reject stale carts in the till, because a refund costs more"
    (one,) = proposed(Event(PROMPT, said), EDIT, DONE)
    assert one.title == "Reject stale carts in the till, because a refund costs more"
    assert (one.content["decision"], one.content["rationale"]) == (said, "a refund costs more")
    assert one.is_sure


@pytest.mark.parametrize(
    ("said", "is_sure"),
    [
        ("we should reject stale carts in the till", True),
        ("can't we reject stale carts in the till?", True),
        ("for now let's reject stale carts in the till", False),
        ("I think we should reject stale carts in the till", False),
    ],
)
def test_demand_that_was_carried_out_is_sure_and_a_question_or_a_stopgap_is_not(said: str, is_sure: bool) -> None:
    (one,) = proposed(Event(PROMPT, said), EDIT, DONE)
    assert (one.is_sure, "rationale" in one.content) == (is_sure, False)


@pytest.mark.parametrize(
    "said",
    [
        "can we reject stale carts in the form or do we need to do it on the server?",
        "should we either warn about stale carts or drop them from the list?",
        "no don't drop the stale carts, let's see if they come back",
    ],
)
def test_open_question_and_waiting_decide_nothing(said: str) -> None:
    assert proposed(Event(PROMPT, said), EDIT, DONE) == []


def test_only_a_pick_of_an_offered_option_has_the_choice_as_its_reason() -> None:
    picked, typed, unsure = (
        proposed(asked(answer))[0]
        for answer in ("docs/made", "put the diagram beside the pages", "I'm thinking of a place beside the pages")
    )
    assert picked.content["rationale"] == "The user chose it."
    assert (typed.title, typed.is_sure) == ("Put the diagram beside the pages", True)
    assert "rationale" not in typed.content
    assert not unsure.is_sure


def test_labels_in_code_and_in_a_summary_of_a_compaction_are_not_sure() -> None:
    written = Event(CALL, tool="Write", call="w1", arguments={"file_path": "a.py", "content": "# TODO: close the pool"})
    digest = Event(DIGEST, "Key decision: keep the carts of guests for a day")
    (todo,) = proposed(written, DONE, kind="issue")
    (kept,) = proposed(digest)
    assert (todo.is_sure, kept.is_sure) == (False, False)
    assert kept.title == "Keep the carts of guests for a day"


def test_plan_is_titled_by_its_heading_in_the_decision_and_in_the_state() -> None:
    plan = (
        "Implement the following plan:\n\n# SHOP-12: Carts Expire\n\n## Overview\n\nCarts pile up in the database.\n\n"
        "## Steps\n\n### 1. Add a column\n\n### 2. Add a job\n"
    )
    events = (Event(PROMPT, plan), EDIT, DONE, Event(ANSWER, "Next steps:\n- add the job"))
    (decision,) = proposed(*events)
    (state,) = proposed(*events, kind="state")
    assert decision.title == state.title == "SHOP-12: Carts Expire"
    assert decision.content["decision"] == "SHOP-12: Carts Expire: Add a column; Add a job"
    assert state.content["task_description"] == "SHOP-12: Carts Expire. Carts pile up in the database."


@pytest.mark.parametrize(
    ("prompts", "title"),
    [
        (("hello", "yes", "expire the old carts"), "Expire the old carts"),
        (("do you have access to the tracker?", "commit this", "let's expire the old carts"), "Expire the old carts"),
        (("hello", "commit this"), "Hello"),
    ],
)
def test_state_is_titled_by_the_first_prompt_that_names_a_task(prompts: tuple[str, ...], title: str) -> None:
    said = [Event(PROMPT, text) for text in prompts]
    (state,) = proposed(*said, Event(ANSWER, "Next steps:\n- add the job"), kind="state")
    assert state.title == title


def test_percentage_stands_once_in_a_proposed_state_and_only_the_last_next_steps() -> None:
    events = [
        Event(PROMPT, "Expire the old carts"),
        Event(ANSWER, "Status: 40% complete. The column is there.\n\nNext steps:\n- add the job"),
        Event(ANSWER, "Next steps:\n- add a test"),
    ]
    (state,) = proposed(*events, kind="state")
    assert state.values["completion_percentage"] == 40
    assert state.content["task_description"] == "Expire the old carts\n\nThe column is there."
    assert state.content["next_actions"] == ["add a test"]


def test_prompt_that_begins_with_an_element_of_the_users_is_the_intent() -> None:
    said = "<cart-list> shows expired carts"
    assert summarize(Session("text", (Event(PROMPT, said),)), Trail(()), "s1", "Ada").intent == said


def test_symptom_that_a_user_reports_is_no_sure_issue() -> None:
    (one,) = proposed(Event(PROMPT, "and the mailer crashes if the cart is empty"), kind="issue")
    assert (one.title, one.is_sure) == ("The mailer crashes if the cart is empty", False)


def test_report_that_something_went_well_is_no_issue() -> None:
    said = "I ran the import again and it completed successfully, so this doesn't happen each time"
    assert proposed(Event(PROMPT, said), kind="issue") == []
