"""A command that was called wrongly and worked in another form is on its session's page, and learned if it recurs."""

from __future__ import annotations

import pytest

from memctl.record import session_page
from memctl.session import working_forms
from memctl.session.page_builder import compose
from memctl.session.summary import summarize
from memctl.session.trail import Trail
from memctl.transcript.events import CALL, RESULT, Event, Session

WRONG = "error: unrecognized subcommand 'bun'"


def run(*calls: tuple[str, str, bool]) -> list[Event]:
    events = []
    for number, (command, output, is_error) in enumerate(calls):
        events.append(Event(CALL, tool="Bash", arguments={"command": command}, call=str(number)))
        events.append(Event(RESULT, output, call=str(number), is_error=is_error))
    return events


BUN = (("rtk bun test src", WRONG, True), ("git status", "clean", False), ("bun test src", "3 pass\n 0 fail", False))


@pytest.mark.parametrize(
    ("calls", "pairs"),
    [
        (BUN, [("rtk bun", "bun")]),
        (
            (("bun test", 'error: Script not found "test"', True), ("bun run test", "ok", False)),
            [("bun test", "bun run test")],
        ),
        (
            (("cd src && python x.py", "python: command not found", True), ("python3 x.py", "", False)),
            [("python", "python3")],
        ),
        ((("pytest tests/a.py", "1 failed", True), ("pytest tests/b.py", "1 passed", False)), []),
        ((("bun run lint", WRONG, True), ("bun run format", "", False)), []),
        ((("rtk bun test", WRONG, True), ("bun test", WRONG, True)), []),
        ((("rtk bun test", "The user doesn't want to proceed: command not found", True), ("bun test", "", False)), []),
    ],
)
def test_wrong_form_is_paired_with_the_form_that_worked(
    calls: tuple[tuple[str, str, bool], ...], pairs: list[tuple[str, str]]
) -> None:
    assert [(form.fails, form.works) for form in working_forms.of_events(run(*calls))] == pairs


def page(name: str, *calls: tuple[str, str, bool]) -> session_page.SessionPage:
    made = summarize(Session("Claude Code", tuple(run(*calls))), Trail(()), name, "claude-code")
    text = session_page.render(compose(made, "shop", "2025-11-04T09:00:00Z"))
    return session_page.parse(text, session_page.path_of(name))


def test_pair_is_learned_if_two_sessions_have_it_or_one_has_it_three_times() -> None:
    once = page("s1", *BUN)
    assert [form.line for form in working_forms.on_page(once)] == [
        f"other form: `rtk bun` fails: {WRONG} \u2014 `bun` works"
    ]
    assert working_forms.learned([once]) == []
    (form,) = working_forms.learned([once, page("s2", *BUN)])
    assert (form.fails, form.works, form.times, form.sessions) == ("rtk bun", "bun", 2, 2)
    (form,) = working_forms.learned([page("s3", *BUN, *BUN, *BUN)])
    assert (form.times, form.sessions) == (3, 1)


def test_failure_of_another_command_of_the_line_is_no_form() -> None:
    failed = ("go test -v ./... | grep '--- FAIL'", "grep: unrecognized option `--- FAIL'", True)
    assert working_forms.of_events(run(failed, ("go test ./...", "ok", False))) == []


def test_advice_is_given_for_the_failing_form_only() -> None:
    forms = working_forms.learned([page("s1", *BUN), page("s2", *BUN)])
    assert "`bun` works" in working_forms.advice("cd web && rtk bun install 2>&1 | tail", forms)
    assert working_forms.advice("bun install", forms) == ""
    assert working_forms.advice("rtk bunny", forms) == ""
