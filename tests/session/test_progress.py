"""How far a task is, by what happens in a session."""

from __future__ import annotations

import pytest

from memctl.record.task_state import DONE, IN_PROGRESS, PLANNED, TaskState, TouchedFile
from memctl.session import extraction, failures, progress
from memctl.session.progress import Part, Progress
from memctl.transcript.events import ANSWER, CALL, COMPACTION, PROMPT, RESULT, Event


def after(before: Progress, *given: Event, files: tuple[TouchedFile, ...] = ()) -> Progress:
    """What a session has come to after events, one part."""
    events = [*given]
    found = extraction.of_events(events)
    part = Part(events, found, failures.of_events(events), failures.succeeded(events), files)
    return progress.advance(before, part, by="claude")


def state(*given: Event) -> TaskState:
    return after(Progress(), *given).state


def todo(**steps: str) -> Event:
    statuses = {"done": "completed", "doing": "in_progress", "open": "pending"}
    todos = [{"content": text, "status": statuses[how]} for text, how in steps.items()]
    return Event(CALL, tool="TodoWrite", arguments={"todos": todos}, call="list")


def run(command: str, output: str = "ok", *, error: bool = False, call: str = "c1") -> tuple[Event, Event]:
    asked = Event(CALL, tool="Bash", arguments={"command": command}, call=call)
    return asked, Event(RESULT, output, call=call, is_error=error)


TASK = Event(PROMPT, "Migrate the services from axios to fetch")


def test_newest_next_step_replaces_the_one_before() -> None:
    found = state(
        TASK,
        Event(ANSWER, "a.ts is migrated. Next: b.ts."),
        Event(ANSWER, "b.ts is migrated. Next: c.ts."),
        Event(ANSWER, "c.ts is migrated. Next: d.ts."),
    )
    assert found.next_actions == ("d.ts",)
    assert found.claimed == ("a.ts", "b.ts", "c.ts")
    assert (found.done, found.completion) == ((), 0)


def test_percentage_that_an_outcome_states_is_not_repeated() -> None:
    first = after(Progress(), TASK, Event(ANSWER, "Status: 40% complete. GET works."))
    found = after(first, Event(PROMPT, "go on"), Event(ANSWER, "POST works, so it is 60 % complete"))
    assert found.state.summary == ("Status: 40% complete. GET works.", "POST works, so it is 60 % complete")


@pytest.mark.parametrize(("prompt", "goal"), [("do both please", "Migrate the services from axios to fetch"),
                                              ("Expire the carts", "Expire the carts"),
                                              ("Add pagination", "Add pagination")])  # fmt: skip
def test_first_prompt_that_names_a_task_is_the_goal(prompt: str, goal: str) -> None:
    found = state(Event(PROMPT, prompt), TASK)
    assert (found.goal, found.earlier_goals) == (goal, ())


def test_sentence_marks_a_step_as_claimed_only() -> None:
    before = after(Progress(), TASK, todo(**{"Port src/api.ts": "doing", "Write the tests": "open"}))
    found = after(before, Event(ANSWER, "`src/api.ts` is ported now.")).state
    assert (found.claimed, found.planned) == (("Port src/api.ts",), ("Write the tests",))
    assert found.steps[0].evidence == "said"


@pytest.mark.parametrize(
    "sentence",
    [
        "src/api.ts is not ported yet.",
        "Once src/api.ts is ported, I run the tests.",
        "If src/api.ts was updated, the tests fail.",
        "src/api.ts must be migrated before that.",
        "The bug in the pool of src/api.ts is caused by retries.",
    ],
)
def test_sentence_without_completion_claims_no_step(sentence: str) -> None:
    before = after(Progress(), TASK, todo(**{"Port src/api.ts": "open"}))
    assert after(before, Event(ANSWER, sentence)).state.claimed == ()


def test_a_claimed_step_among_next_actions_is_open_again() -> None:
    found = state(TASK, Event(ANSWER, "a.ts is migrated. Next: b.ts."), Event(ANSWER, "It fails. Next: a.ts"))
    assert (found.claimed, found.planned, found.next_actions) == ((), ("a.ts",), ("a.ts",))


def test_a_commit_that_names_a_step_shows_that_it_is_done() -> None:
    before = after(Progress(), TASK, todo(**{"Port src/api.ts": "doing", "Port src/pay.ts": "open"}))
    found = after(before, *run('git commit -qm "refactor: fetch in src/api.ts"', "[main 1a2b3c4] refactor: fetch"))
    assert [(one.text, one.status, one.evidence, one.by) for one in found.state.steps] == [
        ("Port src/api.ts", DONE, "commit 1a2b3c4", "claude"),
        ("Port src/pay.ts", PLANNED, "task list", ""),
    ]
    failed = after(before, *run('git commit -qm "refactor: src/api.ts"', "error: hook failed", error=True))
    assert failed.state.done == ()


def test_a_passed_check_that_a_step_names_shows_that_it_is_done() -> None:
    before = after(Progress(), TASK, todo(**{"Make `pytest tests/pay` pass": "doing", "Port pay.ts": "doing"}))
    found = after(before, *run("pytest tests/pay", "3 passed"))
    assert [(one.text, one.evidence) for one in found.state.steps if one.status == DONE] == [
        ("Make `pytest tests/pay` pass", "check `pytest tests/pay`")
    ]
    assert after(before, *run("pytest tests/pay", "1 failed", error=True)).state.done == ()


def test_step_once_done_stays_done() -> None:
    before = after(Progress(), TASK, todo(Route="done", Rounding="doing"))
    found = after(before, todo(Route="open", Rounding="open"), Event(ANSWER, "Next: Route")).state
    assert (found.done, found.planned, found.next_actions) == (("Route",), ("Rounding",), ())
    assert after(before, todo(Mails="open")).state.done == ("Route",)


def test_new_task_list_replaces_the_one_before() -> None:
    found = state(TASK, todo(Route="doing", Rounding="open"), todo(Queue="open"))
    assert found.steps[0].text == "Queue"
    assert len(found.steps) == 1


def test_tasks_are_followed_by_their_numbers() -> None:
    def create(subject: str) -> Event:
        return Event(CALL, tool="TaskCreate", arguments={"subject": subject}, call=subject)

    def turn(number: int, status: str) -> Event:
        return Event(CALL, tool="TaskUpdate", arguments={"taskId": str(number), "status": status}, call=f"u{number}")

    before = after(Progress(), TASK, create("Route"), create("Rounding"), create("Mails"))
    found = after(before, turn(1, "completed"), turn(2, "in_progress"), turn(3, "deleted"))
    assert [(one.text, one.status) for one in found.state.steps] == [("Route", DONE), ("Rounding", IN_PROGRESS)]


def task(tool: str, number: int, *, agent: str = "", **arguments: str) -> tuple[Event, Event]:
    call = f"{tool}{number}"
    asked = Event(CALL, tool=tool, arguments=dict(arguments), call=call, agent=agent)
    return asked, Event(RESULT, f"Task #{number} created successfully: x", call=call, agent=agent)


def test_numbers_of_tasks_go_on_over_prompts_and_compactions() -> None:
    first = after(
        Progress(),
        TASK,
        *task("TaskCreate", 1, subject="Move the parser"),
        *task("TaskUpdate", 1, taskId="1", status="completed"),
    )
    second = after(
        first,
        Event(PROMPT, "Now add a command line option --utc to the tool, with a test and a line in the README."),
        *task("TaskCreate", 2, subject="Add option --utc"),
        *task("TaskCreate", 3, subject="Write the test"),
        Event(COMPACTION),
        *task("TaskUpdate", 2, taskId="2", status="completed"),
    )
    assert second.state.done == ("Add option --utc",)
    assert second.state.planned == ("Write the test",)


def test_number_of_a_task_is_that_of_its_result_if_earlier_tasks_are_unknown() -> None:
    made = state(
        TASK, *task("TaskCreate", 7, subject="Port d.ts"), *task("TaskUpdate", 7, taskId="7", status="completed")
    )
    assert made.done == ("Port d.ts",)


def test_task_that_a_sub_agent_finishes_is_done_and_its_own_list_is_not_the_sessions() -> None:
    own = Event(CALL, tool="TodoWrite", arguments={"todos": [{"content": "Look", "status": "pending"}]}, agent="a1")
    ticked = task("TaskUpdate", 1, agent="a1", taskId="1", status="completed")
    made = state(TASK, *task("TaskCreate", 1, subject="Port d.ts"), own, *ticked)
    assert (made.done, made.planned) == (("Port d.ts",), ())


def test_commit_of_a_sub_agent_shows_that_a_step_is_done() -> None:
    call = Event(CALL, tool="Bash", arguments={"command": "git commit -m 'Port d.ts to fetch'"}, call="c", agent="a1")
    made = state(TASK, *task("TaskCreate", 1, subject="Port d.ts"), call, Event(RESULT, "[main 1a2b3c4d] x", call="c"))
    assert made.done == ("Port d.ts",)


def test_list_that_was_never_ticked_is_no_progress_once_files_are_changed() -> None:
    listed = [TASK, *task("TaskCreate", 1, subject="Port d.ts")]
    edit = Event(CALL, tool="Edit", arguments={"file_path": "d.ts", "old_string": "a", "new_string": "b"}, call="e")
    assert after(Progress(), *listed).shown.planned == ("Port d.ts",)
    assert after(Progress(), *listed, edit).shown.planned == ()
    assert progress.tasks_of([*listed, edit]) == []
    late = after(after(Progress(), *listed, edit), *task("TaskUpdate", 1, taskId="1", status="in_progress"))
    assert late.shown.in_progress == ("Port d.ts",)


def test_the_task_is_the_first_prompt_since_the_last_finished_list() -> None:
    before = after(Progress(), TASK, todo(Route="done", Rounding="done"), Event(PROMPT, "commit this"))
    assert before.state.goal == TASK.text
    found = after(before, Event(PROMPT, "Now add vouchers to the checkout page")).state
    assert (found.goal, found.earlier_goals) == ("Now add vouchers to the checkout page", (TASK.text,))
    assert (found.steps, found.completion) == ((), None)
    assert found.said == (TASK.text, "commit this", "Now add vouchers to the checkout page")


def test_important_prompt_is_a_constraint() -> None:
    found = state(TASK, Event(PROMPT, "IMPORTANT: never touch src/legacy.ts"), Event(PROMPT, "Go on with refunds."))
    assert found.constraints == ("IMPORTANT: never touch src/legacy.ts",)


def test_error_is_open_until_its_step_succeeds() -> None:
    before = after(Progress(), TASK, *run("make test", "FAIL: test_pay", error=True))
    assert before.state.errors == ("make test: FAIL: test_pay",)
    assert after(before, *run("make test")).state.errors == ()


def test_outcomes_of_turns_are_last_words_and_commits() -> None:
    found = state(
        TASK,
        Event(ANSWER, "Let me look:"),
        *run('git commit -m "feat: pool"', "[main 1a2b3c4] feat: pool"),
        Event(ANSWER, "The pool is larger. This is 40 % complete."),
        Event(PROMPT, "And the tests?"),
        Event(ANSWER, "They pass. This is 60 % complete."),
    )
    assert found.summary == (
        "Committed 1a2b3c4: feat: pool",
        "The pool is larger. This is 40 % complete.",
        "They pass. This is 60 % complete.",
    )


@pytest.mark.parametrize(
    ("text", "step", "is_named"),
    [
        ("fetch in src/api.ts", "Port src/api.ts", True),
        ("fetch in packages/src/api.ts", "Port src/api.ts", True),
        ("fetch in src/pay.ts", "Port src/api.ts", False),
        ("feat: refund endpoint with rounding", "Implement refund endpoint", True),
        ("feat: refund", "Implement refund endpoint", False),
        ("feat: tests", "POST", False),
        ("the POST route", "POST", True),
    ],
)
def test_a_text_names_a_step_by_its_paths_or_its_words(text: str, step: str, is_named: bool) -> None:
    assert progress.names(text, step) == is_named


def test_a_decision_is_not_repeated_among_the_outcomes() -> None:
    found = state(
        Event(PROMPT, "Port the till."),
        Event(ANSWER, "Decision: sums are integers, because cents add up.\n\nThe till is ported."),
        Event(PROMPT, "Go on."),
        Event(ANSWER, "Decision: prices are integers, too."),
    )
    assert len(found.decisions) == 2
    assert found.summary == ("The till is ported.",)


REQUEST = Event(PROMPT, "I'd like to do some proper tests with a real repository, can you help me do that?")


def test_first_request_after_a_compaction_is_the_goal_if_no_step_is_left() -> None:
    for listed in ((), (todo(a_step="done"),)):
        asks = Event(PROMPT, "why does the build take so long for the services?")
        found = after(after(Progress(), TASK, *listed), Event(COMPACTION), REQUEST, asks)
        assert (found.state.goal, found.state.earlier_goals) == (REQUEST.text, (TASK.text,))
        again = after(found, Event(COMPACTION), REQUEST)
        assert (again.state.goal, again.state.earlier_goals) == (REQUEST.text, (TASK.text,))


@pytest.mark.parametrize(
    "prompt",
    [
        "go on",
        "why does the build take so long for the services?",
        "yes, we only need to rename the services once",
        "no, we should remove the session commands too",
        'Operation stopped by hook: Another session is active: "I\'d like to do some proper tests of carts"',
    ],
)
def test_goal_stays_after_a_compaction_if_nothing_new_is_requested(prompt: str) -> None:
    assert after(after(Progress(), TASK), Event(COMPACTION), Event(PROMPT, prompt)).state.goal == TASK.text


def test_goal_stays_after_a_compaction_if_a_step_is_left() -> None:
    for listed in (todo(a_step="doing"), todo(a_step="open")):
        assert after(after(Progress(), TASK, listed), Event(COMPACTION), REQUEST).state.goal == TASK.text


AHEAD = ("Write the changelog", "Deploy the API", "Pin the base image")
STEPS = Event(ANSWER, "The parser works.\n\nNext steps:\n- " + "\n- ".join(AHEAD))
EDIT = Event(CALL, tool="Write", arguments={"file_path": "CHANGELOG.md", "content": "New"})


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ((Event(PROMPT, "yes"), EDIT, Event(ANSWER, "Done.")), ()),
        ((Event(PROMPT, "write the changelog first"), EDIT), ("Deploy the API", "Pin the base image")),
        (
            (Event(PROMPT, "what is missing?"), EDIT, Event(ANSWER, "The base image is pinned now.")),
            ("Write the changelog", "Deploy the API"),
        ),
        ((Event(PROMPT, "write the changelog first"),), AHEAD),
        ((Event(PROMPT, "thanks!"),), AHEAD),
        ((Event(PROMPT, "it is broken"), Event(CALL, tool="Edit", arguments={"file_path": "lib.py"})), AHEAD),
        ((Event(PROMPT, "it\u2019s broken"), Event(CALL, tool="Edit", arguments={"file_path": "lib.py"})), AHEAD),
        ((Event(PROMPT, "it still fails"), Event(CALL, tool="Edit", arguments={"file_path": "lib.py"})), AHEAD),
        (
            (Event(PROMPT, "rename the flag"), EDIT, Event(ANSWER, "Renamed. The API is not deployed yet."),
             Event(PROMPT, "yes, and format it"), EDIT),
            AHEAD,
        ),
    ],
)  # fmt: skip
def test_next_action_is_left_until_a_later_turn_takes_it_up(turn: tuple[Event, ...], left: tuple[str, ...]) -> None:
    events = [TASK, STEPS, *turn]
    assert progress.next_actions(events, extraction.of_events(events)) == left
    assert state(*events).next_actions == left


def test_what_the_last_answer_offers_is_a_next_action_until_the_next_prompt() -> None:
    offered = after(Progress(), TASK, Event(ANSWER, "a.ts is ported. Want me to commit and push?"))
    assert offered.shown.next_actions == ("Commit and push",)
    assert after(offered, Event(PROMPT, "Use the old name for the class of errors")).shown.next_actions == ()
    choice = Event(ANSWER, "Should I use axios or fetch in the worker?")
    assert after(Progress(), TASK, choice).shown.next_actions == ()


def test_offer_that_an_open_step_says_already_is_said_once() -> None:
    made = after(Progress(), TASK, todo(**{"Add a test for negative amounts": "open", "Port": "done"}))
    made = after(made, Event(ANSWER, "Ported. Should I add a test for negative amounts?"))
    assert made.shown.next_actions == ()
