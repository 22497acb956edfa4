"""After a tool call that failed: the form of the command that works, or the record that has the words of the error."""

from __future__ import annotations

from tests.conftest import Memctl
from tests.hooks.session import Session

ERROR = "Exit code 1\nModuleNotFoundError: No module named 'yaml'"


def failed(session: Session, error: str = ERROR, command: str = "python tool.py") -> str:
    """What the model is told after a command that failed."""
    run = {"tool_name": "Bash", "tool_input": {"command": command}}
    return session.context("PostToolUseFailure", **run, error=error, is_interrupt=False)


def test_failed_call_gets_the_lesson_with_the_words_of_its_error_once(session: Session, memctl: Memctl) -> None:
    made = memctl(
        "learn",
        "Tools need the extra",
        "--lesson",
        "No module named yaml: run `make extras` first.",
    )
    said = failed(session)
    assert said.startswith(f"{made.id} (active learning) has the words of this error: Tools need the extra. ")
    assert "make extras" in said
    assert said.count("\n") == 1
    assert failed(session) == ""
    assert session.folder.calls() == 2
    assert session.faults() == []


def test_failed_call_gets_how_the_issue_was_resolved_whose_title_its_error_has(
    session: Session, memctl: Memctl
) -> None:
    made = memctl("issue", "System limit for number of file watchers reached", "--severity", "low", "--next", "Look")
    error = "Error: ENOSPC: System limit for number of file watchers reached, watch '/home/x/shop/src'"
    assert failed(session, error) == ""
    memctl("resolve", made.id, "--resolution", "Watch only src, not node_modules.")
    said = failed(session, error)
    assert said.startswith(f"{made.id} (resolved issue) has the words of this error: ")
    assert "Watch only src, not node_modules." in said


def test_failed_call_with_another_error_gets_nothing(session: Session, memctl: Memctl) -> None:
    memctl("learn", "Tools need the extra", "--lesson", "ModuleNotFoundError: No module named yaml: run `make extras`.")
    memctl("decide", "Read YAML", "--rationale", "ModuleNotFoundError: No module named yaml does not count")
    for error in ("ModuleNotFoundError: No module named 'requests'", "1 failed", "AssertionError: assert 3 == 4", "x"):
        assert failed(session, error) == ""
    assert session.faults() == []


def test_file_is_not_called_changed_after_a_failed_edit(session: Session, memctl: Memctl) -> None:
    memctl("decide", "Print plainly", "--rationale", "Logs are read by people", "--code", "app.py")
    memctl("list")
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "app.py", "old_string": "a", "new_string": "b"}}
    assert session.context("PostToolUseFailure", **edit, error="String to replace not found in file.") == ""
    assert "Print plainly" in session.context("PostToolUse", **edit)
