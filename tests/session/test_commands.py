"""What later sessions want to know of the commands of one: what works, and its commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.session import commands
from memctl.session.trail import Places
from memctl.transcript.events import CALL, RESULT, Event

TOP = Path("/shop")


def events_of(*runs: tuple[str, str, bool], cwd: str = "/shop") -> list[Event]:
    """The events of commands with their outputs and whether they failed."""
    events = []
    for number, (command, output, is_error) in enumerate(runs):
        events.append(Event(CALL, tool="Bash", arguments={"command": command}, call=str(number), cwd=cwd))
        events.append(Event(RESULT, output, call=str(number), is_error=is_error, details={"interrupted": False}))
    return events


def outcomes(*runs: tuple[str, str, bool], cwd: str = "/shop") -> list[str]:
    return commands.outcomes(events_of(*runs, cwd=cwd), Places(TOP, "/shop"))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("bun run test", "`bun run test`"),
        ("bun run test 2>&1 | tail -20", "`bun run test`"),
        ("cd /shop && make test > /tmp/log 2>&1", "`make test`"),
        ("cd web && npm run lint", "`cd web && npm run lint`"),
        ("cd /shop/web && npm run lint", "`cd web && npm run lint`"),
        ("python -m pytest -q", "`python -m pytest -q`"),
        ("cd web && npm run fmt && npm test", "`cd web && npm run fmt && npm test`"),
        ("make fmt && make lint && git status", "`make fmt && make lint`"),
    ],
)
def test_a_check_that_worked_is_kept_as_it_can_be_run_again(command: str, line: str) -> None:
    assert outcomes((command, "ok", False)) == [line]


@pytest.mark.parametrize("command", ["ls src", "git status", "cd /elsewhere && make test", f"make test {'x' * 200}"])
def test_other_commands_are_not_kept(command: str) -> None:
    assert outcomes((command, "ok", False)) == []


def test_a_check_whose_last_run_failed_does_not_count_as_working() -> None:
    assert outcomes(("make test", "ok", False), ("make test", "1 failed", True)) == []
    assert outcomes(("make test", "1 failed", True), ("make test", "ok", False)) == ["`make test`"]


def test_the_folder_that_the_shell_is_in_counts() -> None:
    assert outcomes(("npm test", "ok", False), cwd="/shop/web") == ["`cd web && npm test`"]


@pytest.mark.parametrize(
    "command",
    [
        "cd /d/shop/web && npm test",
        "cd /mnt/d/shop/web && npm test",
        'cd "d:/shop/web" && npm test',
        "Set-Location D:\\shop\\web; npm test 2>&1 | Select-Object -Last 4",
        "cd D:\\shop\\web; npm test",
    ],
)
def test_each_way_to_write_a_folder_on_windows_names_the_same_folder(command: str) -> None:
    events = events_of((command, "ok", False), cwd="D:\\shop")
    assert commands.outcomes(events, Places(TOP, "D:\\shop")) == ["`cd web && npm test`"]


def test_a_folder_of_another_drive_is_outside_and_on_unix_no_folder_is_a_drive() -> None:
    events = events_of(("cd /e/shop/web && npm test", "ok", False), cwd="D:\\shop")
    assert commands.outcomes(events, Places(TOP, "D:\\shop")) == []
    assert Places(TOP, "/shop").locate("/d/shop/app.py", "/shop") == ("/d/shop/app.py", False)


def test_commits_are_found_in_what_git_printed() -> None:
    printed = "[main 7793cf1] Round half to even\n 1 file changed, 2 insertions(+)"
    events = events_of(
        ("git add -A && git commit -m x", printed, False),
        ("cat log", "[main 1234567] No commit", False),
        ("cd /tmp/x && git init && git commit -m y", "[main (root-commit) 1234567] Elsewhere", False),
    )
    assert commands.commits(events) == [("7793cf1", "Round half to even")]


@pytest.mark.parametrize(
    "again",
    [
        [("git commit --amend -m C", "[main 3333333] C", False)],
        [("git reset --soft HEAD~1 && git commit -m C", "[main 3333333] C", False)],
        [("git reset --soft HEAD^", "", False), ("git commit -m C", "[main 3333333] C", False)],
    ],
)
def test_a_commit_that_another_one_replaced_is_left_out(again: list[tuple[str, str, bool]]) -> None:
    made = [("git commit -m A", "[main 1111111] A", False), ("git commit -m B", "[main 2222222] B", False)]
    assert commands.commits(events_of(*made, *again)) == [("1111111", "A"), ("3333333", "C")]


@pytest.mark.parametrize(
    ("command", "is_error"), [("git reset HEAD~1 app.py", False), ("git reset --hard HEAD~1", True)]
)
def test_a_reset_of_a_file_or_one_that_failed_takes_no_commit_back(command: str, is_error: bool) -> None:
    events = events_of(("git commit -m A", "[main 1111111] A", False), (command, "fatal: no\nexit code 1", is_error))
    assert commands.commits(events) == [("1111111", "A")]
