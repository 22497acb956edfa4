"""At a file: what is recorded about it comes with the first reading, once a session, and nothing else does."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from memctl.hooks import file_recall
from memctl.hooks.hosts import CODEX, GEMINI
from memctl.pages import renamed_files
from memctl.text import phrases
from tests.conftest import Memctl, git
from tests.hooks.session import Session


@pytest.fixture
def decided(repo: Path, memctl: Memctl) -> str:
    """The id of a decision about queue.py."""
    (repo / "queue.py").write_text("JOBS = []\n")
    made = memctl(
        "decide", "Queue in PostgreSQL", "--rationale", "One service fewer to run. And so on.", "--code", "queue.py:1"
    )
    memctl("list")
    return made.id


def at(session: Session, tool: str, file: str) -> str:
    """What the model is told after a tool has read or written a file."""
    return session.context("PostToolUse", tool_name=tool, tool_input={"file_path": file}, tool_response={})


def ran(session: Session, command: str, tool: str = "Bash", **more: str) -> str:
    """What the model is told after a command of the shell, or a patch in Codex."""
    return session.context("PostToolUse", tool_name=tool, tool_input={"command": command}, tool_response="", **more)


def test_first_read_of_a_file_in_a_session_recalls_its_record(session: Session, decided: str) -> None:
    said = at(session, "Read", str(session.repo / "queue.py"))
    assert f"{decided} (accepted decision) is about queue.py: Queue in PostgreSQL. One service fewer to run." in said
    assert len(said) <= 400
    assert at(session, "Read", str(session.repo / "queue.py")) == ""
    assert at(session, "Edit", "queue.py") == ""
    other = Session(session.repo, session.file, "another")
    assert decided in at(other, "Read", "queue.py")
    session.send("PreCompact", trigger="manual")
    assert decided in at(session, "Read", "queue.py")


def test_writing_an_unread_file_recalls_its_decision(session: Session, decided: str) -> None:
    said = at(session, "Write", str(session.repo / "queue.py"))
    assert decided in said
    assert "already changed" in said
    assert at(session, "Read", "queue.py") == ""


@pytest.mark.parametrize("file", ["app.py", "/etc/hosts", "../queue.py", "", "queue.pyc", "no\nsuch"])
def test_other_files_and_tools_get_no_answer(session: Session, decided: str, file: str) -> None:
    assert at(session, "Read", file) == ""


@pytest.mark.parametrize(
    "command",
    [
        "cat queue.py",
        "pytest -q; sed -n 1,5p ./queue.py | head",
        "mkdir -p sub && cd sub && cat ../queue.py",
        "bash -lc 'grep -n JOBS queue.py'",
        "rg JOBS queue.py >/dev/null",
    ],
)
def test_shell_command_that_reads_a_file_recalls_its_record(session: Session, decided: str, command: str) -> None:
    said = ran(session, command)
    assert said.startswith(f"{decided} (accepted decision) is about queue.py: ")
    assert "already changed" not in said
    assert ran(session, command) == ""


@pytest.mark.parametrize("command", ["git add queue.py", "pytest queue.py", "echo 'see queue.py'", "ls queue.py"])
def test_shell_command_that_only_names_a_file_recalls_nothing(session: Session, decided: str, command: str) -> None:
    assert ran(session, command) == ""
    assert decided in ran(session, "cat queue.py")


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("Bash", "sed -i s/JOBS/WORK/ queue.py"),
        ("Bash", "cat > queue.py <<'E'\nJOBS = ()\nE"),
        ("apply_patch", "*** Begin Patch\n*** Update File: queue.py\n@@\n-JOBS = []\n+JOBS = ()\n*** End Patch\n"),
    ],
)
def test_command_or_patch_on_an_unread_file_recalls_its_decision(
    repo: Path, tmp_path: Path, decided: str, tool: str, command: str
) -> None:
    session = Session(repo, tmp_path / "rollout.jsonl", host=CODEX)
    said = ran(session, command, tool)
    assert decided in said
    assert "already changed" in said


def test_relative_path_is_resolved_in_the_current_folder(session: Session, decided: str) -> None:
    folder = session.repo / "sub"
    folder.mkdir()
    assert ran(session, "cat queue.py", cwd=str(folder)) == ""
    assert decided in ran(session, "cat ../queue.py", cwd=str(folder))


def test_record_of_several_files_is_shown_once_and_then_named(session: Session, memctl: Memctl) -> None:
    for name in ("a.py", "b.py"):
        (session.repo / name).write_text("")
    made = memctl("decide", "Round half to even", "--rationale", "Sums agree.", "--code", "a.py", "--code", "b.py")
    first, second = ran(session, "cat a.py b.py").splitlines()
    assert first.startswith(f"{made.id} (accepted decision) is about a.py: Round half to even. Sums agree.")
    assert second == f"{made.id}, shown before, is about b.py, too."


def test_file_whose_record_another_file_of_the_call_has_shown_is_told_of_later(
    session: Session, memctl: Memctl
) -> None:
    for name in ("first_part.py", "second_part.py"):
        (session.repo / name).write_text("")
    text = "The totals in first_part.py and in second_part.py are rounded half to even."
    memctl("learn", "Totals are rounded", "--lesson", text)
    assert ran(session, "cat first_part.py second_part.py").count("Totals are rounded") == 1
    memctl("learn", "Nothing is cached", "--lesson", "Reading second_part.py twice reads its rates anew each time.")
    assert "Nothing is cached" in ran(session, "cat second_part.py")


def test_proposal_is_recalled_only_with_a_reason_and_after_records_in_force(session: Session, memctl: Memctl) -> None:
    proposal = ("--status", "proposed", "-i", "9", "--code", "app.py")
    memctl("decide", "app.py: added a helper", *proposal)
    assert at(session, "Read", "app.py") == ""
    choice = memctl("decide", "Perhaps Redis", "--rationale", "Faster.", *proposal).id
    assert at(session, "Read", "app.py").startswith(f"{choice} (proposed decision) is about app.py: Perhaps Redis.")
    held = memctl("learn", "Jobs are short", "--lesson", "At most 1 s.", "--code", "app.py", "-i", "2").id
    said = at(Session(session.repo, session.file, "another"), "Read", "app.py")
    assert said.startswith(f"{held} (active learning)")
    assert f"Also {choice}." in said


def test_record_of_a_folder_is_shown_once_after_one_of_the_file(session: Session, memctl: Memctl) -> None:
    (session.repo / "src").mkdir()
    for name in ("a.py", "b.py", "c.py"):
        (session.repo / "src" / name).write_text("")
    whole = memctl("decide", "Strict types", "--rationale", "Faults show.", "--code", "src/", "-i", "9").id
    one = memctl("decide", "No I/O in a.py", "--rationale", "It is tested.", "--code", "src/a.py", "-i", "3").id
    said = at(session, "Read", "src/a.py")
    assert said.startswith(f"{one} (accepted decision) is about src/a.py: ")
    assert f"Also {whole}." in said
    assert at(session, "Read", "src/b.py").startswith(f"{whole} (accepted decision) is about src/: Strict types.")
    assert at(session, "Read", "src/c.py") == ""


def test_an_expired_record_is_not_shown(session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("decide", "Freeze app.py", "--rationale", "Until the release.", "--code", "app.py", "--expires", "7d")
    monkeypatch.setenv("MEMCTL_NOW", "2025-12-24T00:00:00Z")
    assert at(session, "Read", "app.py") == ""
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-05T00:00:00Z")
    assert "Freeze app.py" in at(session, "Read", "app.py")


def test_reason_that_begins_with_the_title_is_shown_alone_without_code(session: Session, memctl: Memctl) -> None:
    reason = "`app.py` prints in UTF-8, always:\n```py\nprint()\n```"
    memctl("decide", "app.py prints in UTF-8", "--rationale", reason, "--code", "app.py")
    assert "is about app.py: `app.py` prints in UTF-8, always. (" in at(session, "Read", "app.py")


def test_title_cut_from_a_text_is_replaced_by_the_whole_text(session: Session, memctl: Memctl) -> None:
    text = "`ruff check ./...` finds app.py:3:1: F401 os is imported and not used"
    memctl("issue", "ruff check ./... finds…", "--severity", "medium", "--description", text, "--code", "app.py")
    assert f"is about app.py: {text}. (" in at(session, "Read", "app.py")


def test_a_record_no_longer_in_force_is_not_shown(session: Session, decided: str, memctl: Memctl) -> None:
    file = next((session.repo / ".memory" / "decisions").rglob("*.md"))
    text = file.read_text()
    file.write_text(text.replace("status: accepted", "status: deprecated"))  # no command has read it since
    assert at(session, "Read", "queue.py") == ""
    file.write_text(text)
    new = memctl("decide", "Queue in Redis", "--supersedes", decided).id
    told = at(session, "Read", "queue.py")
    assert (decided in told, new in told) == (False, True)


def test_most_important_record_is_shown_and_others_are_named(session: Session, decided: str, memctl: Memctl) -> None:
    learnt = memctl("learn", "Jobs < 1 s & <b>short</b>", "--lesson", "x" * 900, "--code", "queue.py", "-i", "9").id
    said = at(session, "Read", "queue.py")
    assert said.startswith(f"{learnt} (active learning)")
    assert f"Also {decided}." in said
    assert len(said) <= 401
    assert "<" not in said


def test_untrusted_clone_recalls_nothing_at_a_file(session: Session, decided: str) -> None:
    git(session.repo, "config", "memctl.trusted", "false")
    assert session.send("PostToolUse", tool_name="Read", tool_input={"file_path": "queue.py"}) == ""


def test_read_file_of_gemini_cli_recalls_the_decision(repo: Path, tmp_path: Path, decided: str) -> None:
    session = Session(repo, tmp_path / "gemini.json", host=GEMINI)
    assert decided in session.context(
        "AfterTool", tool_name="read_file", tool_input={"absolute_path": f"{repo}/queue.py"}
    )


def test_guard_refuses_the_first_write_to_an_unread_file(session: Session, decided: str, memctl: Memctl) -> None:
    asked = {"tool_name": "Edit", "tool_input": {"file_path": str(session.repo / "queue.py")}}
    assert session.send("PreToolUse", **asked) == ""  # the setting is not there
    git(session.repo, "config", "memctl.guard", "deny")
    answer = json.loads(session.send("PreToolUse", **asked))["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert decided in answer["permissionDecisionReason"]
    assert session.send("PreToolUse", **asked) == ""
    assert session.context("PostToolUse", **asked) == ""
    memctl("install", "claude-code", "--yes")
    hooks = json.loads((session.repo / ".claude" / "settings.json").read_text())["hooks"]
    assert hooks["PreToolUse"][0]["matcher"] == "Edit|Write|MultiEdit|NotebookEdit"
    assert "unchanged" in memctl("install", "claude-code", "--yes").err
    git(session.repo, "config", "--unset", "memctl.guard")
    memctl("install", "claude-code", "--yes")
    assert "PreToolUse" not in json.loads((session.repo / ".claude" / "settings.json").read_text())["hooks"]


def test_issue_about_a_failed_command_is_not_recalled_at_its_file(session: Session, memctl: Memctl) -> None:
    (session.repo / "queue.py").write_text("JOBS = []\n")
    text = phrases.failure("make lint", "queue.py:1: error")
    memctl("issue", "Lint fails", "--severity", "medium", "--description", text, "--code", "queue.py")
    memctl("list")
    assert at(session, "Read", "queue.py") == ""
    made = memctl(
        "issue", "Jobs are lost", "--severity", "medium", "--description", "On a crash.", "--code", "queue.py"
    )
    memctl("list")
    assert made.id in at(session, "Edit", "queue.py")


def test_proposal_is_not_recalled_at_its_file_after_a_week(
    session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session.repo / "queue.py").write_text("JOBS = []\n")
    given = ("--rationale", "One service fewer.", "--code", "queue.py", "--status", "proposed")
    made = memctl("decide", "Queue in PostgreSQL", *given)
    memctl("list")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-11T14:32:01Z")
    assert at(session, "Read", "queue.py") == ""
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-10T14:32:01Z")
    assert made.id in at(session, "Read", "queue.py")


def test_record_recalled_by_a_prompt_is_shown_again_at_its_file(session: Session, decided: str) -> None:
    assert decided in session.context("UserPromptSubmit", prompt="Why is the Queue in PostgreSQL?")
    assert "One service fewer to run." in at(session, "Read", "queue.py")


def test_record_is_shown_at_its_file_after_a_rename(session: Session, decided: str) -> None:
    repo = session.repo
    git(repo, "add", "queue.py")
    git(repo, "commit", "-qm", "queue")
    assert at(session, "Read", f"{repo}/app.py") == ""
    git(repo, "mv", "queue.py", "jobs.py")
    assert at(session, "Read", f"{repo}/jobs.py").startswith(f"{decided} (accepted decision) is about jobs.py: ")
    git(repo, "commit", "-qm", "rename")
    git(repo, "mv", "jobs.py", "tasks.py")
    assert at(session, "Write", f"{repo}/tasks.py").startswith(f"{decided}, shown before, is about tasks.py, too.")
    git(repo, "mv", "tasks.py", "queue.py")
    assert decided in at(session, "Read", f"{repo}/queue.py")
    (repo / "tasks.py").write_text("")
    assert at(session, "Write", f"{repo}/tasks.py") == ""


def test_record_of_a_folder_is_shown_after_the_folder_is_renamed(session: Session, memctl: Memctl) -> None:
    repo = session.repo
    (repo / "lib").mkdir()
    (repo / "lib/card.py").write_text("CARD = 1\n")
    made = memctl("learn", "Cards are read twice", "--lesson", "The reader sends each card twice.", "--code", "lib/")
    git(repo, "add", "lib")
    git(repo, "commit", "-qm", "lib")
    git(repo, "mv", "lib", "core")
    memctl("list")
    assert at(session, "Read", f"{repo}/core/card.py").startswith(f"{made.id} (active learning) is about core/: ")


def test_answer_of_git_that_comes_too_late_serves_a_later_event(
    session: Session, decided: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, find = tmp_path / "go", renamed_files.find

    def slow(*args: Any, **more: Any) -> dict[str, str]:
        with open(tmp_path / "asked", "a") as file:
            file.write("once\n")
        for _ in range(3_000):
            if go.exists():
                break
            time.sleep(0.01)
        return find(*args, **more)

    monkeypatch.setattr(file_recall, "_SECONDS", 0.1)
    monkeypatch.setattr(renamed_files, "find", slow)
    git(session.repo, "add", "queue.py")
    git(session.repo, "commit", "-qm", "queue")
    git(session.repo, "mv", "queue.py", "jobs.py")
    assert at(session, "Read", "jobs.py") == ""
    git(session.repo, "add", "-A")
    assert at(session, "Read", "jobs.py") == ""
    go.touch()
    said = ""
    for _ in range(600):
        if decided in (said := at(session, "Read", "jobs.py")):
            break
        time.sleep(0.05)
    assert f"{decided} (accepted decision) is about jobs.py: " in said
    assert (tmp_path / "asked").read_text() == "once\n"


def test_record_of_a_file_that_was_renamed_before_is_shown(session: Session, memctl: Memctl) -> None:
    repo = session.repo
    (repo / "lib/core").mkdir(parents=True)
    (repo / "lib/core/card.py").write_text("CARD = 1\n")
    git(repo, "add", "lib")
    git(repo, "commit", "-qm", "lib")
    git(repo, "mv", "lib/core/card.py", "lib/reader.py")
    git(repo, "commit", "-qm", "rename")
    memctl("list")
    assert at(session, "Read", "lib/reader.py") == ""
    made = memctl("learn", "Cards are read twice", "--lesson", "The reader sends two.", "--code", "lib/core/card.py")
    memctl("list")
    assert at(session, "Read", "lib/reader.py").startswith(f"{made.id} (active learning) is about lib/reader.py: ")


def test_task_is_shown_with_its_next_step_and_not_with_what_is_done(session: Session, memctl: Memctl) -> None:
    (session.repo / "tls.c").write_text("int x;\n")
    steps = ("--done", "OpenSSL", "--done", "GnuTLS", "--next", "Port NSS", "--next", "Write the guide")
    memctl("state", "TLS backends", *steps, "--code", "tls.c")
    memctl("list")
    assert "is about tls.c: TLS backends. Port NSS. (" in at(session, "Read", "tls.c")


def worked(session: Session, name: str, asked: str, file: str) -> None:
    """A session that changed a file, and its page."""
    other = Session(session.repo, session.file.parent / f"{name}.jsonl", name)
    other.context("SessionStart", source="startup")
    other.transcript.prompt(asked)
    (session.repo / file).write_text(f"{name}\n")
    other.transcript.call("Write", "created", file_path=str(session.repo / file), content=f"{name}\n")
    other.send("SessionEnd")


def test_file_without_a_record_has_what_the_last_session_that_changed_it_was_asked(
    session: Session, memctl: Memctl
) -> None:
    worked(session, "s-one", "Add refunds by card to the shop", "card.py")
    worked(session, "s-two", "Round refunds half to even, as the bank does", "card.py")
    memctl("list")
    said = at(session, "Read", "card.py")
    assert said.startswith("card.py was changed in the session of 20")
    assert "Round refunds half to even, as the bank does." in said
    assert said.count("\n") == 1
    assert at(session, "Read", "card.py") == at(session, "Read", "app.py") == ""
    assert ran(session, "cat card.py") == ""
    own = Session(session.repo, session.file.parent / "s-two.jsonl", "s-two")
    assert "Add refunds by card to the shop" in at(own, "Read", "card.py")
    assert session.faults() == []

    found = memctl("why", "card.py", "--json").data["last_session"]
    assert (found["id"], found["asked"]) == ("s-two", "Round refunds half to even, as the bank does")
    assert "Round refunds half to even" in memctl("why", "card.py").out
    assert memctl("why", "app.py", "--json").data["last_session"] is None


def test_record_of_a_file_goes_before_the_session_that_changed_it(session: Session, memctl: Memctl) -> None:
    worked(session, "s-one", "Add refunds by card to the shop", "card.py")
    made = memctl("decide", "Refund in cents", "--rationale", "Floats lose them", "--code", "card.py")
    memctl("list")
    said = at(session, "Read", "card.py")
    assert made.id in said
    assert "session of" not in said
    assert at(session, "Read", "card.py") == ""


def issue(memctl: Memctl, title: str, text: str) -> str:
    """The id of a new issue without a code reference."""
    return memctl("issue", title, "--severity", "low", "--description", text).id


def files(repo: Path, *names: str) -> None:
    for name in names:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("")
    git(repo, "add", ".")


def test_a_file_that_records_only_name_recalls_two_and_one_resolved_of_them(session: Session, memctl: Memctl) -> None:
    files(session.repo, "src/export.py", "src/card.py")
    done = [issue(memctl, f"Quotes are lost {number}", "export.py:12 drops them.") for number in range(2)]
    for name in done:
        memctl("resolve", name, "--resolution", "Escaped.")
    held = issue(memctl, "Big files", "Memory grows.\nThe whole text is read in `src/export.py` at once.")
    memctl("list")
    first, second = at(session, "Read", "src/export.py").splitlines()
    line = "Big files. The whole text is read in `src/export.py` at once."
    assert first.startswith(f"{held} (open issue) names src/export.py: {line}")
    assert second.startswith(f"{done[-1]} (resolved issue) names src/export.py: ")
    assert at(session, "Read", "src/export.py") == ""
    assert at(session, "Read", "src/card.py") == ""


def test_code_references_come_before_names_in_texts(session: Session, memctl: Memctl, decided: str) -> None:
    git(session.repo, "add", ".")
    issue(memctl, "Slow queue", "queue.py polls.")
    memctl("list")
    [line] = at(session, "Read", "queue.py").splitlines()
    assert line.startswith(f"{decided} (accepted decision) is about queue.py")


def test_base_name_of_two_files_recalls_nothing_and_a_path_does(session: Session, memctl: Memctl) -> None:
    files(session.repo, "a/init.py", "b/init.py", "init.pyi")
    issue(memctl, "Slow start", "init.py reads everything.")
    issue(memctl, "Typo", "See b/init.py, line 3.")
    memctl("list")
    assert at(session, "Read", "a/init.py") == ""
    assert "Typo" in at(session, "Read", "b/init.py")


@pytest.mark.parametrize(("count", "is_shown"), [(20, True), (21, False)])
def test_file_that_more_than_20_records_name_recalls_nothing(
    session: Session, memctl: Memctl, tmp_path: Path, count: int, is_shown: bool
) -> None:
    files(session.repo, "CHANGES.md")
    rows = ({"memory_type": "issue", "title": f"Note {n}", "description": "In CHANGES.md."} for n in range(count))
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    memctl("import", str(lines))
    memctl("list")
    assert bool(at(session, "Read", "CHANGES.md")) is is_shown


def test_a_name_in_a_text_is_no_reason_to_refuse_a_write(session: Session, memctl: Memctl) -> None:
    git(session.repo, "config", "memctl.guard", "deny")
    files(session.repo, "card.py")
    issue(memctl, "Slow card", "card.py polls.")
    memctl("list")
    assert session.send("PreToolUse", tool_name="Edit", tool_input={"file_path": "card.py"}) == ""


@pytest.mark.parametrize("code", [("--code", "app.py"), ()])
@pytest.mark.parametrize("is_read", [True, False])
def test_credential_in_a_record_is_not_told_at_its_file(
    session: Session, memctl: Memctl, code: tuple[str, ...], is_read: bool
) -> None:
    memctl("learn", "Cards fail at night", "--lesson", "The gateway restarts while app.py waits for it.", *code)
    memctl("list")
    file = next((session.repo / ".memory" / "learnings").rglob("*.md"))
    secret = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    file.write_text(file.read_text().replace("The gateway restarts", f"The token is {secret}"))
    if is_read:
        memctl("list")
    said = session.context("PostToolUse", tool_name="Read", tool_input={"file_path": str(session.repo / "app.py")})
    assert "Cards fail at night." in said
    assert secret[:12] not in said
