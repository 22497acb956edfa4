"""What a user and an agent state in free words: an assent with its option, an answer with its question, once each."""

from __future__ import annotations

import time
from typing import Any

import pytest

from memctl.statements import commit_text, dialogue, plans, wishes
from memctl.statements.dialogue import ACTION, AGENT, COMMIT, CONSTRAINT, DECISION, EDIT, ISSUE, LEARNING, USER, Turn

SECONDS = 5.0  # of the processor, for texts that would take minutes if a pattern went over them again and again


def said(*turns: tuple[str, str]) -> list[tuple[str, str, str]]:
    """Kind, text and speaker of what some turns state."""
    numbered = [Turn(who, text, number) for number, (who, text) in enumerate(turns)]
    return [(one.kind, one.text, one.by) for one in dialogue.read(numbered)]


OFFER = "The pool is opened per call. Want me to keep one pool for the whole process?"
OPTIONS = "We have two ways.\n\n**Option A**: poll the queue\n**Option B**: wake up by a signal\n\nWhich one?"


@pytest.mark.parametrize(
    ("message", "prompt", "text"),
    [
        (OFFER, "yes please", "Keep one pool for the whole process"),
        (OFFER, "ok, let's go", "Keep one pool for the whole process"),
        (OPTIONS, "yes, do B", "wake up by a signal"),
        (OPTIONS, "I like option A", "poll the queue"),
        (OPTIONS, "let's try the signal approach", "let's try the signal approach"),
        (OPTIONS, "do A and B", "poll the queue; wake up by a signal"),
        (OPTIONS, "B, but only at night", "wake up by a signal; but only at night"),
        (OPTIONS, "a + b", "poll the queue; wake up by a signal"),
        ("1. **Rename** the `spool` column\n2. Leave it\n\nWhat shall it be?", "1", "Rename the `spool` column"),
    ],
)
def test_an_assent_is_joined_with_the_option_that_it_answers(message: str, prompt: str, text: str) -> None:
    assert said((AGENT, message), (USER, prompt), (ACTION, "")) == [(DECISION, text, USER)]


@pytest.mark.parametrize(
    ("message", "prompt"),
    [
        ("All green. Want me to commit and push this?", "yes"),
        ("Shall I run the tests now?", "ok"),
        ("Done with the parser.", "great, thanks"),
        ("Want me to do it?", "yes"),
        (OPTIONS, "yes, then commit, push"),
        ("", "yes"),
    ],
)
def test_an_assent_to_a_mere_step_or_to_nothing_decides_nothing(message: str, prompt: str) -> None:
    assert said((AGENT, message), (USER, prompt), (ACTION, "")) == []


def test_one_option_is_a_choice_even_of_a_step_and_several_steps_are_none() -> None:
    message = "1. **Linear comment** - all in the ticket\n2. **Local file** - in `docs/`\n\nWhich one?"
    assert said((AGENT, message), (USER, "1"), (ACTION, "")) == [(DECISION, "Linear comment - all in the ticket", USER)]
    steps = "1. Run the tests\n2. Commit\n\nWhat next?"
    assert said((AGENT, steps), (USER, "1 and 2"), (ACTION, "")) == []


def test_assent_withdrawn_before_any_change_states_nothing() -> None:
    assert said((AGENT, OFFER), (USER, "yes"), (USER, "stop, explain the difference first")) == []


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("let's drop the second retry of the mailer", DECISION),
        ("can't we just keep the orders as they came in?", DECISION),
        ("I want the counter to be zero-based instead", DECISION),
        ("we should reject the order, not park it, if stock is gone", DECISION),
        ("use `order_key` as the name of the column", DECISION),
        ("make sure that every job has a time limit", CONSTRAINT),
        ("please don't leave broken links in the guide", CONSTRAINT),
        ("don't leave broken links in the guide", CONSTRAINT),
        ("do not write the till's key into the log", CONSTRAINT),
        ("that is not correct, the lock file is shared by all workers", CONSTRAINT),
    ],
)
def test_a_users_lasting_demand_is_a_constraint(prompt: str, kind: str) -> None:
    assert said((USER, prompt)) == [(kind, prompt, USER)]


@pytest.mark.parametrize(
    "prompt",
    [
        "let's commit this",
        "let's look at the log first",
        "perhaps we should use a queue for the mails",
        "we should see the new orders by now, yes?",
        "don't commit yet",
        "can you make sure the mailer does not retry twice?",
        "how do I make sure that I have the latest orders?",
        "let's try it",
        "which of the two keeps the orders?",
        "use this",
        "let's keep it simple for now",
        "don't they keep the orders?",
        "oh wait, the branch has conflicts, let's deal with that first",
        "let's not jump to the other shop's orders just yet",
        "the orders should have been moved once",
        "the guide says that a refund can never be booked twice",
        "fewer rows are locked if we don't read the orders again",
        "you don't necessarily have the orders of the other shop",
        "follow up: what words can we use for the orders of a shop?",
        "can we double check that the mailer keeps the orders?",
        "can we add one more thing? the name of the shop is not there",
        "the mailer uses a plain socket instead of the pool",
        "go on",
    ],
)
def test_a_step_a_question_or_a_doubt_states_nothing(prompt: str) -> None:
    assert said((USER, prompt)) == []


def test_a_first_prompt_that_names_the_aim_is_no_decision() -> None:
    aim = "I'd like to add an export of all orders"
    assert said((USER, aim), (EDIT, "")) == []
    assert said((USER, "hi"), (USER, aim), (EDIT, "")) == [(DECISION, aim, USER)]


def test_list_after_a_colon_belongs_to_the_wish() -> None:
    (found,) = said((USER, "okay, let's do this:\n1. one lock for each shop\n2. keep the old names of the locks"))
    assert found == (DECISION, "okay, let's do this: one lock for each shop; keep the old names of the locks", USER)


PLAN = """\
Implement the following plan:

# Plan: Fix the order of refunds

## Context

Refunds are sent in the order of their ids. The root cause: ids are given out before the shop is known.

## Changes

### 1. Sort by `paid_at`

Some words.

### 2. Drop the `seq` column
"""


def test_plan_is_one_decision_and_its_cause_is_a_learning() -> None:
    (made, learned) = dialogue.read([Turn(USER, PLAN)])
    assert (made.kind, made.text) == (DECISION, "Fix the order of refunds: Sort by `paid_at`; Drop the `seq` column")
    assert made.reason == "Refunds are sent in the order of their ids."
    assert (learned.kind, learned.text) == (
        LEARNING,
        "The root cause: ids are given out before the shop is known.",
    )


def test_approved_plan_is_read_and_other_prompts_are_no_plan() -> None:
    approved = "User has approved your plan. Start.\n\n## Approved Plan:\n# One queue for each shop\n"
    assert plans.read(approved) == plans.Plan("One queue for each shop")
    assert plans.read("# One queue for each shop\n") is None
    assert said((USER, "Implement the following plan:\n\n# Add tests for the queue\n")) == []


def test_first_commit_after_a_plan_is_no_second_decision() -> None:
    first = (COMMIT, "Sort refunds by time\n\nSo that a shop gets them in the order of payment.")
    second = (COMMIT, "Keep the old column\n\nReports would break without it.")
    assert [text for kind, text, _ in said((USER, PLAN), first, second) if kind == DECISION] == [
        "Fix the order of refunds: Sort by `paid_at`; Drop the `seq` column",
        "Keep the old column",
    ]


@pytest.mark.parametrize(
    ("message", "is_decision"),
    [
        ("Retry by the clock\n\nA counter is reset at a restart, so that some jobs would never end.", True),
        ("Retry by the clock", False),
        ("Address review comments\n\n- Retry by the clock\n- Rename `n` to `attempts`", True),
        ("Retry by the clock\n\nAddress PR feedback:\n- Clock\n- Retry", True),
        ("Retry by the clock\n\n- Clock\n- Retry", False),
        ("test: add tests for the clock\n\nSo that it never fails.", False),
        ("Retry by the clock\n\nCo-Authored-By: Only Me <me@example.org>", False),
    ],
)
def test_a_commit_decides_something_if_its_body_says_why(message: str, is_decision: bool) -> None:
    assert (commit_text.read(message) is not None) == is_decision


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("The root cause is that the pool is never closed.", "The root cause is that the pool is never closed."),
        ("Found the bug! The worker reads the queue before the lock is taken.",
         "The worker reads the queue before the lock is taken."),
        ("Now I understand the issue. The pool is opened for each call.", "The pool is opened for each call."),
        ("There's the bug. `open()` is called for each order.", "`open()` is called for each order."),
        ("I see the issue now. `close()` is called twice. Let me mend it.", "`close()` is called twice."),
        ("The key insight is that ids repeat. Actually, wait. The problem is that `next_id` is shared by all shops.",
         "The problem is that `next_id` is shared by all shops."),
    ],
)  # fmt: skip
def test_stated_cause_is_a_learning(message: str, text: str) -> None:
    assert said((AGENT, message)) == [(LEARNING, text, AGENT)]


@pytest.mark.parametrize(
    "message",
    [
        "The issue is probably the cache.",
        "Let me check if the problem is that the pool is closed.",
        "The root cause is still unknown.",
        "I don't know what the root cause is.",
        "The key insight is:",
        "Found it.",
        "The issue is that ids repeat. Actually, no, they don't.",
        "What was the reason for the failure?",
        "`Pool` stays in the module because the shop imports it.",
        "The key insight is that `next_id` can be a column.",
    ],
)
def test_guess_or_announcement_is_no_learning(message: str) -> None:
    assert said((AGENT, message)) == []


REPORT = """\
Everything is in place.

1. **Retries** - moved from the mailer into `queue.py`, so that a restart does not lose them
2. **Limit** - the queue now keeps at most 500 mails, because the host cuts us off above that
3. Tests for both

The names of the settings are as they were, nothing has to be done at an upgrade, and the old `retry_mail` stays as a
thin wrapper around the new call. Mails that wait at the moment of the upgrade are sent by the old code, which goes
with the next release.
"""


def test_an_agents_report_of_its_changes_decides_nothing() -> None:
    asked = (USER, "the mailer loses retries at a restart, have a go at it")
    assert said(asked, (EDIT, ""), (AGENT, REPORT)) == []


def test_report_after_a_choice_of_the_user_states_no_second_decision() -> None:
    wish = "let's keep retries in the queue"
    assert said((USER, wish), (EDIT, ""), (AGENT, REPORT)) == [(DECISION, wish, USER)]


def test_agreement_to_have_a_look_or_to_write_a_test_decides_nothing() -> None:
    for reply in ("Good question. Let me check `Queue.open`.", "Good point. Let me add tests for that."):
        assert said((USER, "does the limit hold?"), (AGENT, reply), (EDIT, "")) == []


@pytest.mark.parametrize(
    "order",
    [
        "add an option --limit to the command `serve`",
        "Make these two buttons more visible, on the left side of the shop",
        "can you also show the number of waiting mails in the status",
        'can we add a hidden "debug" command to the shop?',
        "I want you to compare our shop with the others",
    ],
)
def test_an_order_for_the_work_at_hand_is_no_decision(order: str) -> None:
    assert said((USER, "have a look at the queue"), (AGENT, "I did."), (USER, order), (EDIT, "")) == []


@pytest.mark.parametrize(
    "demand",
    [
        "never use floats in the shop",
        "from now on don't run the integration tests",
        "do not run the test suite every time, only at the end",
    ],
)
def test_an_order_that_lasts_is_a_demand(demand: str) -> None:
    assert said((USER, demand), (EDIT, "")) == [(CONSTRAINT, demand, USER)]


def test_a_report_of_what_never_happens_is_no_demand() -> None:
    report = "`Shop.open` only sets the name and never sets the lock of the queue"
    assert all(kind == ISSUE for kind, _, _ in said((USER, report)))


def test_request_for_tests_or_documents_decides_nothing() -> None:
    for prompt in ("add tests for the limit of the queue", "add a comment to the queue's README please"):
        assert said((USER, prompt), (EDIT, "")) == []


def test_yes_to_an_unnamed_change_is_what_was_proposed_before() -> None:
    offer = "`load_shop` reads the whole table. A page of 100 rows would do. Want me to implement this?"
    assert said((AGENT, offer), (USER, "yes"), (ACTION, "")) == []
    assert said((AGENT, offer), (USER, "yes"), (EDIT, "")) == [(DECISION, "A page of 100 rows would do.", USER)]


def test_commit_after_a_choice_gives_its_reason_and_no_second_decision() -> None:
    wish = (USER, "let's limit the queue to 500 mails")
    commit = (COMMIT, "Cap the queue\n\nThe host cuts us off above that, so that no mail goes out.")
    (found,) = dialogue.read([Turn(*wish, 1), Turn(EDIT, "", 2), Turn(*commit, 3)])
    assert (found.text, found.reason) == (wish[1], "The host cuts us off above that, so that no mail goes out.")


def test_commit_about_something_else_gives_a_choice_no_reason() -> None:
    commit = (COMMIT, "Fix the tree view\n\nIts rows were doubled, because skills are listed twice.")
    turns = [Turn(USER, "let's limit the queue to 500 mails", 1), Turn(EDIT, "", 2), Turn(*commit, 3)]
    assert [found.reason for found in dialogue.read(turns)] == [""]


@pytest.mark.parametrize(
    "prompt",
    [
        "the export of the shop hangs for large orders",
        "I'm not seeing the new column in the export",
        "hmm, the import fails for every second shop",
    ],
)
def test_a_users_symptom_is_an_issue_until_files_are_changed(prompt: str) -> None:
    assert said((USER, prompt)) == [(ISSUE, prompt, USER)]
    assert said((USER, prompt), (EDIT, ""), (AGENT, "Now it works.")) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "go on, the network should be better now",
        "can we not commit the notes of the export?",
        "make sure to point the subagent at the export's page",
        "I think we should somehow prevent this",
    ],
)
def test_a_demand_for_the_next_step_is_not_a_decision(prompt: str) -> None:
    assert said((USER, prompt)) == []


@pytest.mark.parametrize(
    "prompt",
    [
        "why does the export hang?",
        "doesn't the import lock the shop?",
        "too slow.",
        "I don't quite like the export of the shop",
    ],
)
def test_question_or_single_word_of_the_user_is_no_issue(prompt: str) -> None:
    assert said((USER, prompt)) == []


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("The timeout of the export is a pre-existing issue, not one of ours.",
         "The timeout of the export is a pre-existing issue, not one of ours."),
        ("## Code Review\n\n### Issues Found\n\n1. `pay()` swallows the error of the bank\n2. Names\n",
         "`pay()` swallows the error of the bank"),
        ("The test of the clock is flaky under load.", "The test of the clock is flaky under load."),
        ("If the shop is closed, the order is silently dropped.",
         "If the shop is closed, the order is silently dropped."),
        ("The old table has prices as well. This seems like a gap in the import.",
         "The old table has prices as well. This seems like a gap in the import."),
        ("Rounding in `pay()` too would be a much larger change.",
         "Rounding in `pay()` too would be a much larger change."),
    ],
)  # fmt: skip
def test_a_problem_that_stays_open_is_an_issue(message: str, text: str) -> None:
    assert said((AGENT, message)) == [(ISSUE, text, AGENT)]


@pytest.mark.parametrize(
    "message",
    [
        "## Code Review\n\n### Fixed Issues\n\n1. `pay()` told the error of the bank\n",
        "No flaky tests here.",
        "`pay.py` - Added a check so that no order is silently dropped.",
        "## Code Review\n\n### Issues Found\n\n1. `pay()` is safe, it rounds once\n",
        "The export works.",
    ],
)
def test_a_fixed_or_harmless_problem_is_not_an_issue(message: str) -> None:
    assert said((AGENT, message)) == []


@pytest.mark.parametrize(
    ("turns", "is_sure"),
    [
        ([(USER, "let's limit the queue to 500 mails"), (EDIT, "")], True),
        ([(USER, "let's limit the queue to 500 mails")], False),
        ([(USER, "let's limit the queue to 500 mails"), (USER, "what is the queue?"), (EDIT, "")], False),
        ([(USER, "never log the addresses of the mails")], True),
        ([(AGENT, "Should I limit the queue to 500 mails?"), (USER, "yes"), (EDIT, "")], False),
    ],
)
def test_wish_is_sure_if_it_lasts_or_files_are_changed_for_it(turns: list[Any], is_sure: bool) -> None:
    (found,) = dialogue.read(Turn(who, text, number) for number, (who, text) in enumerate(turns))
    assert found.is_sure is is_sure


def test_an_agent_does_not_overrule_the_user_and_repeated_statements_count_once() -> None:
    wish = (USER, "let's keep `order_key` and `shop_key` in one index")
    again = (COMMIT, "Put `order_key` and `shop_key` into one index\n\nSo that a look-up reads one page.")
    (found,) = dialogue.read([Turn(*wish, 1), Turn(*again, 2)])
    assert (found.by, found.text, found.reason) == (USER, wish[1], "So that a look-up reads one page.")


@pytest.mark.parametrize(
    "unit", ["ok ", "yes, ", "the issue is ", "option a\n", "- item\n", "# Review\n- issue\n", "`a` "]
)
def test_long_text_is_read_quickly(unit: str) -> None:
    text = unit * 40_000
    started = time.process_time()
    dialogue.read([Turn(USER, unit * 30 + "?"), Turn(AGENT, text), Turn(COMMIT, f"a\n\n{text}"), Turn(USER, "yes")])
    wishes.wish_in(text)
    wishes.is_assent(unit * 30)
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize(
    "prompt",
    [
        'we should add a hidden "debug" command to the shop',
        "let's add a command to the shop that shows whether the state of the session would lead to a commit",
    ],
)
def test_a_wish_that_names_an_action_in_quotes_or_late_is_a_decision(prompt: str) -> None:
    assert said((USER, prompt)) == [(DECISION, prompt, USER)]


def test_failures_that_are_counted_are_of_the_work_under_way() -> None:
    cause = "the test database does not have the `is_open` column"
    assert said((AGENT, f"There are 2 test failures, both because {cause}.")) == []
    assert [kind for kind, _, _ in said((AGENT, f"The export failed because {cause}."))] == [LEARNING]


def test_the_commit_that_follows_a_demand_is_no_further_decision() -> None:
    demand = "make sure that the shop tells people which shell it knows"
    message = "Name the supported shells\n\nPeople were left alone, since the shop stayed silent."
    assert said((USER, demand), (EDIT, ""), (COMMIT, message)) == [(CONSTRAINT, demand, USER)]


def test_a_choice_is_of_the_last_list_of_a_message() -> None:
    message = "Found:\n1. The pool leaks\n2. The log is long\n3. The test is slow\n\nWe can:\n1. Drain it\n2. Wait\n"
    (found,) = dialogue.read([Turn(AGENT, message), Turn(USER, "2"), Turn(ACTION, "")])
    assert (found.text, found.alternatives) == ("Wait", ("Drain it",))


def test_a_wish_that_ends_in_like_takes_what_follows() -> None:
    prompt = 'Instead of "Another session..." Print a line like.\nThe shop is open in another window.\nClose it first.'
    assert said((USER, prompt)) == [(DECISION, " ".join(prompt.split("\n")[:2]), USER)]


@pytest.mark.parametrize(
    "prompt",
    [
        "Show me which invoices are open in the test data",
        "Use grep to find where the till is opened",
        "Keep going with the tables of the ledger",
        "Be careful with the data of the live shop",
    ],
)
def test_request_to_look_or_to_go_on_is_no_decision_after_an_edit(prompt: str) -> None:
    assert said((USER, prompt), (EDIT, "till.py")) == []


def test_hope_that_a_check_passes_is_no_agreement() -> None:
    reply = "You're right, sorry. The tests should pass now after the cache is empty."
    assert said((USER, "The till fails again, did you look?"), (AGENT, reply), (EDIT, "till.py")) == []


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("feat: show the answer in review mode\n\nBecause cashiers forget it.", "Show the answer in review mode"),
        ("feat: resolve address and comments of orders\n\nNothing more.", ""),
        ("Address review comments: keep receipts for a year\n\nAs Ada said.", "Keep receipts for a year"),
        ("fix: address feedback\n\n- Keep receipts for a year\n- Sort them", "Keep receipts for a year"),
    ],
)
def test_commit_answers_a_review_only_if_its_subject_begins_so(message: str, title: str) -> None:
    choice = commit_text.read(message)
    assert (choice.text if choice else "") == title


@pytest.mark.parametrize(
    ("prompt", "is_decision"),
    [
        ("Do not stash my local changes", False),
        ("Don't delete the release branch yet", False),
        ("Please don't open a PR before I have read the diff", False),
        ("Don't make any changes, only tell me what is slow", False),
        ("Don't install the plugin for now", False),
        ("Make sure you pull the main branch first", False),
        ("Let's stop here for today", False),
        ("Never push to the main branch", True),
        ("Don't delete records that are not archived yet", True),
        ("Make sure the importer stops if a file is not there yet", True),
        ("Let's use the recursive parser for now", True),
        ("Don't commit generated files, ever", True),
    ],
)
def test_demand_that_holds_for_the_moment_is_no_decision(prompt: str, is_decision: bool) -> None:
    turns = [Turn(USER, "Import the price list.", 1), Turn(EDIT, "", 2), Turn(USER, prompt, 3), Turn(EDIT, "", 4)]
    assert [found.turn for found in dialogue.read(turns)] == ([3] if is_decision else [])


@pytest.mark.parametrize(
    ("prompt", "is_decision"),
    [
        ("I want to use Redis instead of Kafka for the queue. Can you set it up?", True),
        ("Build the queue. I'd like to use Redis rather than Kafka.", True),
        ("Set up the queue with Redis instead of Kafka, and write the schema.", True),
        ("I want to use Redis for the queue. Can you set it up?", False),
        ("Why does the importer print a trace instead of a message?", False),
    ],
)
def test_first_prompt_that_names_a_choice_and_what_it_rejects_is_a_decision(prompt: str, is_decision: bool) -> None:
    assert bool(said((USER, prompt), (AGENT, "I will look at the queue."))) == is_decision


def test_each_item_below_decisions_in_a_plan_is_a_decision() -> None:
    plan = (
        "Implement the following plan:\n\n# Export of invoices\n\n### Design Decisions (confirmed with user)\n\n"
        "- Use CSV instead of Excel because clients read it.\n- **No flag** for the old format\n\n"
        "## 1. Write the exporter\n"
    )
    stated = dialogue.read([Turn(USER, plan)])
    assert [(one.text, one.reason, one.alternatives) for one in stated[1:]] == [
        ("Use CSV", "clients read it.", ("Excel",)),
        ("No flag for the old format", "", ()),
    ]
    assert all(one.is_sure and one.kind == DECISION for one in stated)


def test_context_of_a_plan_is_its_reason_and_no_learning() -> None:
    plan = "Implement this plan:\n\n# Fix the export\n\n## Context\n\nThe export fails for carts with a comma.\n"
    assert said((USER, plan)) == [(DECISION, "Fix the export", USER)]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "no I meant more generally for other agents, not kiro",
            "no I meant more generally for other agents, not kiro",
        ),
        ("use pytest, never unittest", "use pytest, never unittest"),
        ("what does lint say now?", ""),
        ("rebase from main first", ""),
    ],
)
def test_words_of_a_refusal_are_a_demand_unless_they_ask_or_name_a_step(words: str, text: str) -> None:
    stated = dialogue.read([Turn(USER, "Document the storage"), Turn(USER, words, 1, is_refusal=True)])
    assert [one.text for one in stated] == ([text] if text else [])
    assert all(one.kind == CONSTRAINT for one in stated)


def test_report_of_a_problem_is_no_decision() -> None:
    prompt = "User edits made after the base commit but before the first prompt are never captured."
    assert [kind for kind, _, _ in said((USER, "Look at it"), (USER, prompt), (EDIT, ""))] == []


@pytest.mark.parametrize(
    "text",
    [
        "The importer on macOS has never been run.",
        "Other tests still use the old branch name `entire/sessions`.",
        "Retries of `send_mail` are deferred to a later change.",
    ],
)
def test_what_is_left_undone_is_an_open_issue(text: str) -> None:
    assert (ISSUE, text, AGENT) in said((USER, "Port the importer"), (AGENT, f"All done. {text}"))
