"""What any event meets: who is answered, who is not, and that nothing of ours gets into a user's way."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memctl.hooks import agents_md, dispatch
from memctl.hooks.compaction import INSTRUCTIONS
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, GEMINI, HOSTS, PROMPT, START, TOOL, Host
from memctl.store import job_queue
from tests.conftest import Memctl, commits, git, record_all
from tests.hooks.session import Session, compress

EVENTS = [*CLAUDE_CODE.events]


def run(session: Session, data: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "memctl", *(args or ("hook", "claude-code"))]
    return subprocess.run(command, input=data, cwd=session.repo, capture_output=True, timeout=60)


def test_hook_process_answers_an_event_and_exits_with_0(session: Session) -> None:
    done = run(session, session.event("SessionStart", source="startup"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Memory of shop" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("args", [(), ("--new",)])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_hook_with_closed_streams_exits_0(session: Session, args: tuple[str, ...], closed: str) -> None:
    line = shlex.join([sys.executable, "-m", "memctl", "hook", "claude-code", *args])
    given = session.event("SessionStart", source="startup")
    done = subprocess.run(["sh", "-c", f"{line} {closed}"], cwd=session.repo, input=given, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_command_line_gives_the_same_answer(session: Session, memctl: Memctl) -> None:
    printed = memctl("hook", "claude-code", stdin=session.event("SessionStart", source="startup").decode()).out
    assert json.loads(printed) == json.loads(session.send("SessionStart", source="startup"))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 7}', b"{}"]
)
def test_invalid_event_exits_0_and_is_logged_as_a_fault(session: Session, data: bytes) -> None:
    done = run(session, data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (fault,) = session.faults()
    assert fault["fault"].startswith("ValueError: the event of the agent's program on standard input is not ")


def test_event_with_a_byte_that_is_not_utf8_is_answered(session: Session) -> None:
    event = {
        "hook_event_name": "SessionStart",
        "session_id": "a",
        "source": "startup",
        "cwd": str(session.repo),
        "x": "é",
    }
    done = run(session, json.dumps(event, ensure_ascii=False).encode("latin-1"))
    assert b"additionalContext" in done.stdout


def test_invalid_event_is_not_logged_in_an_untrusted_clone(session: Session) -> None:
    git(session.repo, "config", "memctl.trusted", "false")
    run(session, b"{")
    assert not session.root.exists()


@pytest.mark.parametrize(
    "args", [("claude-cod",), ("claude-code", "--new"), ("claude-code", "--new=1", "more"), ("log", "x")]
)
def test_hook_never_exits_with_2(session: Session, args: tuple[str, ...]) -> None:
    done = run(session, session.event("PreCompact", trigger="auto"), "hook", *args)
    assert done.returncode == {"claude-code": 0, "log": 2}.get(args[0], 1)
    assert (done.stdout != b"") == (args[0] == "claude-code")


@pytest.mark.parametrize("event", ["Notification", "SubagentStop", "PreToolUse", "", "SessionStarted"])
def test_unknown_events_get_no_answer(session: Session, event: str) -> None:
    assert session.send(event) == ""


@pytest.mark.parametrize("event", EVENTS)
def test_outside_of_a_memory_nothing_is_printed_or_written(tmp_path: Path, event: str) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    git(folder, "init", "-q")
    before = sorted(str(path) for path in folder.rglob("*"))
    stranger = Session(folder, tmp_path / "t.jsonl")
    assert stranger.send(event, {"MEMCTL_DIR": ""}, source="startup") == ""
    assert sorted(str(path) for path in folder.rglob("*")) == before


@pytest.mark.parametrize("event", [event for event in EVENTS if event not in ("SubagentStart", "UserPromptSubmit")])
def test_later_events_of_a_sub_agent_get_no_answer_and_are_not_counted(session: Session, event: str) -> None:
    assert session.send(event, agent_id="a1", source="startup") == ""
    assert not session.root.exists()


@pytest.mark.parametrize("event", EVENTS)
def test_guard_variable_silences_hooks_in_model_calls_of_memctl(session: Session, event: str) -> None:
    assert session.send(event, {dispatch.GUARD: "1"}, source="startup") == ""
    assert not session.root.exists()


@pytest.mark.parametrize("event", EVENTS)
def test_event_on_a_broken_memory_exits_0_and_logs_a_fault(session: Session, event: str) -> None:
    (session.repo / ".memory" / "config.yaml").write_text("format: [broken\n")
    session.folder.path.mkdir(parents=True)
    run = {"tool_input": {"command": "make"}, "error": "No rule to make target 'parser'"}
    more = run if event == "PostToolUseFailure" else {"prompt": "Why does the parser stream?"}
    printed = session.send(event, source="startup", trigger="auto", **more)
    assert printed == (INSTRUCTIONS if event == "PreCompact" else "")  # what to keep needs no memory
    faults = session.faults()
    assert [fault["event"] for fault in faults] == ([event] if event != "PostToolUse" else [])
    assert all("config.yaml" in fault["fault"] for fault in faults)


def test_the_log_of_faults_is_shown(session: Session, memctl: Memctl) -> None:
    config = session.repo / ".memory" / "config.yaml"
    text = config.read_text()
    config.write_text("format: [broken\n")
    session.send("Stop")
    config.write_text(text)
    assert "config.yaml" in memctl("hook", "log", "--faults").out
    assert memctl("hook", "log", "--faults", "--json").data["total"] == 1


def test_event_with_an_unwritable_git_directory_exits_0(session: Session) -> None:
    (session.repo / ".git" / "memctl").mkdir(exist_ok=True)
    (session.repo / ".git" / "memctl" / "hooks").write_text("in the way")
    for event in EVENTS:
        assert run(session, session.event(event, source="startup")).returncode == 0


def test_unwritable_folder_does_not_change_what_the_model_gets(session: Session) -> None:
    for name in ("hooks", "access.db", "access"):
        (session.repo / ".git" / "memctl").mkdir(exist_ok=True)
        (session.repo / ".git" / "memctl" / name).write_text("in the way")
    assert "Memory of shop" in session.context("SessionStart", source="startup")
    assert "Memory of shop" in session.context("SessionStart", source="compact")
    assert session.send("PreCompact", trigger="auto").startswith("Keep in the summary")
    event = session.event("SessionStart", source="resume")  # which two files of settings have a hook for
    answers = [dispatch.answer(CLAUDE_CODE, event, dict(os.environ)) for _ in range(2)]
    assert ["Memory of shop" in answer for answer in answers] == [True, False]


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "pipe", "relative", "nul", "device"])
@pytest.mark.parametrize("event", ["PostToolUse", "Stop", "PreCompact", "SessionEnd"])
def test_odd_transcript_path_causes_no_fault(session: Session, tmp_path: Path, kind: str, event: str) -> None:
    path = tmp_path / "odd"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(session.file)
    elif kind == "pipe":
        os.mkfifo(path)
    given = {"relative": "../odd", "nul": f"{path}\0", "device": "/dev/zero"}.get(kind, str(path))
    session.transcript.prompt("Secret of another file")
    data = json.loads(session.event(event, trigger="auto"))
    out = dispatch.answer(CLAUDE_CODE, json.dumps({**data, "transcript_path": given}).encode(), dict(os.environ))
    assert ("Keep in the summary" in out) == (event == "PreCompact")
    assert session.faults() == []
    assert "Secret" not in git(session.repo, "log", "-p")


def test_a_sessions_name_never_leads_out_of_its_folder(repo: Path, tmp_path: Path) -> None:
    odd = Session(repo, tmp_path / "t.jsonl", "../../../../evil")
    odd.send("PostToolUse")
    assert [path.name for path in (odd.root / "sessions").iterdir()] == ["evil"]


def test_memory_is_found_from_a_subfolder_and_by_the_project_variable(session: Session, tmp_path: Path) -> None:
    below = session.repo / "src"
    below.mkdir()
    data = json.loads(session.event("SessionStart", source="startup"))
    for cwd, environ in ((below, {}), (tmp_path, {"CLAUDE_PROJECT_DIR": str(session.repo)})):
        given = json.dumps({**data, "cwd": str(cwd)}).encode()
        assert "Memory of shop" in dispatch.answer(CLAUDE_CODE, given, {**os.environ, **environ})


def test_concurrent_tool_calls_are_all_counted_with_one_suggestion(session: Session) -> None:
    session.holds(100_000)
    data = session.event("PostToolUse")
    answers: list[str] = []
    workers = [
        threading.Thread(
            target=lambda first: answers.extend(
                dispatch.answer(CLAUDE_CODE, data + b" " * number, dict(os.environ))
                for number in (*range(first, first + 15), *range(first, first + 15))  # each from two files
            ),
            args=(15 * worker,),
        )
        for worker in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert session.folder.calls() == 120
    assert len([answer for answer in answers if answer]) == 2  # at 50 and at 100


def test_codex_gets_the_pack_and_no_text_at_a_compaction(repo: Path, tmp_path: Path) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    assert "Memory of shop" in codex.context("SessionStart", source="startup")
    assert codex.send("PreCompact", trigger="auto") == ""
    (repo / "card.py").write_text("x = 1\n")
    assert codex.send("Stop") == codex.send("SessionEnd", reason="exit") == ""
    assert "| `card.py` | created |" in git(repo, "show", "refs/memctl/sessions:.memory/sessions/c1.md")
    subject = git(repo, "log", "-1", "--format=%s", "refs/memctl/sessions").strip()
    assert subject == "docs(memory): summarize c1 (1 file)"
    assert codex.faults() == []


def test_answer_to_codex_fits_its_limit_in_any_script(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    titles = [f"Решение {number}" for number in range(40)]
    record_all(memctl, "decision", titles, rationale="{}. Потому что так удобнее. " * 30, importance=9)
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    text = codex.context("SessionStart", source="startup")
    assert 8_000 < len(text.encode()) <= CODEX.most_bytes
    assert "# Memory of shop" in text
    named = {number for number in range(40) if re.search(rf" Решение {number}(;|\n|$)", text)}  # whole, or by title
    assert named == set(range(40))
    claude = Session(repo, tmp_path / "t.jsonl", "s1")
    assert len(claude.context("SessionStart", source="startup").encode()) > CODEX.most_bytes


def test_gemini_gets_the_state_back_with_the_first_event_after_a_compression(
    repo: Path, tmp_path: Path, memctl: Memctl
) -> None:
    gemini = Session(repo, tmp_path / "chat.json", "g1", GEMINI)
    assert "Memory of shop" in gemini.context("SessionStart", source="startup")
    memctl("checkpoint", "save", "--task", "Refunds by card", "--doing", "Rounding", "--next", "A test")
    (repo / "card.py").write_text("x = 1\n")
    assert gemini.send("BeforeAgent", prompt="Rounding") == ""
    compress(gemini.transcript)
    text = gemini.context("BeforeAgent", prompt="Go on")
    assert "TASK: Refunds by card" in text
    assert "- card.py" in text
    assert gemini.send("BeforeAgent", prompt="Go on") == ""
    gemini.send("AfterAgent")
    gemini.send("SessionEnd", reason="exit")
    assert "| `card.py` | created |" in (repo / ".memory" / "sessions" / "g1.md").read_text()
    assert gemini.faults() == []


def test_call_that_gets_the_state_back_is_counted(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    gemini = Session(repo, tmp_path / "chat.json", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    memctl("checkpoint", "save", "--task", "Refunds by card", "--doing", "Rounding", "--next", "A test")
    compress(gemini.transcript)
    assert "TASK: Refunds by card" in gemini.context("AfterTool")
    assert gemini.folder.calls() == 1


def test_state_is_given_back_despite_an_impossible_job(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    gemini = Session(repo, tmp_path / "chat.json", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    memctl("checkpoint", "save", "--task", "Refunds by card", "--doing", "Rounding", "--next", "A test")
    compress(gemini.transcript)
    gemini.context("AfterTool")
    compress(gemini.transcript, "<state_snapshot>Vouchers</state_snapshot>")
    job_queue.add(gemini.folder, {"what": "stop"})
    lock = gemini.folder.path / "lock"
    lock.unlink()
    lock.mkdir()  # what can't be opened as a file
    assert "TASK: Refunds by card" in gemini.context("AfterTool")
    assert len(gemini.faults()) == 1


def test_program_that_memctl_asks_runs_without_hooks(tmp_path: Path) -> None:
    from memctl.providers.program import Program

    program = [sys.executable, "-c", f"import os; print(os.environ.get({dispatch.GUARD!r}))"]
    assert Program(program, 30).answer("Sum this up").strip() == "1"


@pytest.mark.parametrize(("host", "prompt"), [(CODEX, "UserPromptSubmit"), (GEMINI, "BeforeAgent")])
def test_prompt_is_the_checkpoint_task_without_a_transcript(
    repo: Path, tmp_path: Path, memctl: Memctl, host: Host, prompt: str
) -> None:
    one = Session(repo, tmp_path / "none.jsonl", "s1", host)
    one.context("SessionStart", source="startup")
    (repo / "card.py").write_text("def refund(): ...\n")
    key = "ghp_" + "a1B2" * 9
    assert one.send(prompt, prompt=f"Refunds by card,\nwith {key}") == ""
    assert one.send(prompt, prompt="Now PayPal") == ""
    if host is CODEX:
        assert one.send("PreCompact", trigger="auto") == ""
        after = one.context("SessionStart", source="compact")
    else:
        compress(one.transcript)
        after = one.context("AfterTool")
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"].startswith("Refunds by card, with ")
    assert saved["said"][-1] == "Now PayPal"
    assert saved["files"][0]["path"] == "card.py"
    assert "TASK: Now PayPal\n" in after
    assert "- Refunds by card, with " in after
    for file in (one.folder.path / "state.json", *(repo / ".memory").rglob("*.*")):
        assert file.is_dir() or key not in file.read_text()
    assert one.faults() == []


def test_control_characters_of_a_prompt_are_dropped_and_a_long_one_is_cut(
    repo: Path, tmp_path: Path, memctl: Memctl
) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    codex.context("SessionStart", source="startup")
    codex.send("UserPromptSubmit", prompt="Refunds\x1b[31m by \ud800 card\u202e")
    codex.send("UserPromptSubmit", prompt="Look: " + "pasted " * 100_000 + "ghp_" + "a1B2" * 9)
    (repo / "card.py").write_text("def refund(): ...\n")
    codex.send("PreCompact", trigger="auto")
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"] == "Refunds [31m by card"
    assert saved["said"][-1].startswith("Look: pasted ")
    assert codex.faults() == []


def test_a_compaction_in_a_session_that_did_nothing_commits_nothing(repo: Path, tmp_path: Path) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    codex.context("SessionStart", source="startup")
    before = commits(repo)
    codex.send("PreCompact", trigger="auto")
    assert commits(repo) == before
    assert codex.faults() == []


def test_the_suggestion_says_that_a_first_checkpoint_needs_its_task(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    suggested = "".join(codex.context("PostToolUse", tool_name="shell") for _ in range(50))
    for text in (suggested, agents_md.add_block("", agents_md.AGENTS)):
        assert "`memctl checkpoint save --done A --doing B --next C`" in text
        assert "the first time with `--task" in text
    memctl("checkpoint", "save", "--done", "A", "--doing", "B", "--next", "C", "--task", "T")


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_event_given_to_hooks_of_several_files_is_answered_once(repo: Path, tmp_path: Path, host: Host) -> None:
    session = Session(repo, tmp_path / "rollout.jsonl", "c1", host)
    names = {what: name for name, what in host.events.items()}

    def both(*given: bytes) -> list[str]:
        """Which of the events, each of them sent twice, are answered; the second ones after all first ones."""
        return [dispatch.answer(host, one, os.environ) for one in (*given, *given)]

    start = session.event(names[START], source="startup")
    first, second = both(start)
    assert "# Memory of shop" in first
    assert second == ""
    for _ in range(24):  # calls at the same time
        both(session.event(names[TOOL]), session.event(names[TOOL]))
    last, other, again, _ = both(session.event(names[TOOL]), session.event(names[TOOL]))
    assert session.folder.calls() == 50
    assert (last, again) == ("", "")
    assert "50 tool calls" in other
    # Another event between them makes the same one a new one, as when a session is resumed twice.
    both(session.event(names[PROMPT], prompt="Refunds"))
    assert [bool(one) for one in both(start)] == [True, False]
    (mark,) = session.folder.path.glob("event-*")
    assert mark.name == f"event-{hashlib.blake2b(start, digest_size=12).hexdigest()}", "other versions know it by that"
    # So does time, where a session was killed between them.
    os.utime(mark, (0, 0))
    assert [bool(one) for one in both(start)] == [True, False]
    assert session.faults() == []


def test_event_that_cannot_be_noted_is_answered(repo: Path, tmp_path: Path) -> None:
    codex = Session(repo, tmp_path / "rollout.jsonl", "c1", CODEX)
    codex.folder.path.parent.mkdir(parents=True)
    codex.folder.path.write_text("no folder\n")
    assert "# Memory of shop" in codex.context("SessionStart", source="startup")


@pytest.mark.parametrize("first", ["memctl.hooks.dispatch, memctl.store.memory", "memctl.record.ids"])
def test_msgspec_is_imported_without_typing_extensions(first: str) -> None:
    code = (
        f"import sys, {first}; assert 'msgspec' in sys.modules\n"
        "before = 'typing_extensions' in sys.modules; import msgspec, typing_extensions; print(before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == str(sys.version_info < (3, 11))
