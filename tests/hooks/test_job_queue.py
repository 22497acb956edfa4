"""What is done behind the host's back: the host does not wait, who comes next sees it, and a kill loses nothing."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memctl.hooks import daemonize, dispatch, jobs, session_state
from memctl.hooks.hosts import CLAUDE_CODE
from memctl.store import job_queue, lock
from tests.conftest import Memctl, commits, git, process, slow
from tests.hooks.session import Session

linux = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
_MARK = "MEMCTL_TEST_MARK"


class Behind:
    """Sends events by processes of their own, and finds those that go on behind them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._mark = f"{_MARK}={uuid.uuid4()}"

    @property
    def environ(self) -> dict[str, str]:
        """What the processes are known by."""
        name, _, value = self._mark.partition("=")
        return {**os.environ, name: value}

    def send(self, event: str, pipe: int | None = None, **more: str) -> str:
        """What is printed for an event, once the host may go on. It is given a `pipe` beside its streams."""
        done = subprocess.run(
            [sys.executable, "-m", "memctl", "hook", "claude-code"],
            input=self.session.event(event, **more),
            env=self.environ,
            cwd=self.session.repo,
            capture_output=True,
            pass_fds=() if pipe is None else (pipe,),
            timeout=40,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def alive(self) -> list[int]:
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
        return found

    def kill(self) -> None:
        for number in self.alive():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        while self.alive():
            time.sleep(0.02)

    def wait(self) -> None:
        while self.alive():
            time.sleep(0.02)  # to look through all processes takes some milliseconds


@pytest.fixture
def behind(session: Session) -> Iterator[Behind]:
    made = Behind(session)
    yield made
    made.kill()


@pytest.fixture
def held(session: Session) -> Iterator[None]:
    """The lock of all writes, in other hands: nothing can be committed."""
    with lock.hold(session.repo / ".git" / "memctl" / "lock"):
        yield


def begin_task(session: Session) -> None:
    session.transcript.prompt("Refunds by card")
    session.transcript.call("TodoWrite", todos=[{"content": "Rounding", "status": "in_progress"}])
    (session.repo / "card.py").write_text("x = 1\n")
    path = str(session.repo / "card.py")
    session.transcript.call("Write", "created", details={"type": "create"}, file_path=path, content="x = 1\n")


@linux
@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("event", ["PreCompact", "Stop"])
def test_host_continues_while_a_job_waits_for_the_lock(session: Session, behind: Behind, event: str) -> None:
    begin_task(session)
    printed = behind.send(event, trigger="auto")  # it would wait a minute for the lock
    assert ("Keep in the summary" in printed) == (event == "PreCompact")
    behind.send("PostToolUse")
    assert session.folder.calls() == 1


@linux
def test_next_command_sees_the_result_of_a_pending_job(session: Session, behind: Behind) -> None:
    begin_task(session)
    behind.send("PreCompact", trigger="auto")
    out, _ = process(session.repo, "checkpoint", "show", "--json").communicate(timeout=60)
    assert json.loads(out)["data"]["goal"] == "Refunds by card"
    behind.wait()
    assert session.faults() == []


@linux
def test_state_is_given_right_after_a_compaction(session: Session, behind: Behind) -> None:
    begin_task(session)
    behind.send("PreCompact", trigger="auto")
    text = json.loads(behind.send("SessionStart", source="compact"))["hookSpecificOutput"]["additionalContext"]
    assert "TASK: Refunds by card" in text
    assert "- Rounding" in text
    behind.wait()
    assert session.faults() == []


@linux
@pytest.mark.parametrize("milliseconds", [0, 60, 120, 200, *slow(30, 90, 160, 300)])
def test_a_kill_at_any_moment_loses_nothing(
    session: Session, behind: Behind, memctl: Memctl, milliseconds: int
) -> None:
    begin_task(session)
    behind.send("PreCompact", trigger="auto")
    time.sleep(milliseconds / 1000)
    behind.kill()
    (session.repo / ".git" / "index.lock").unlink(missing_ok=True)  # which a killed Git leaves, as ever
    text = session.context("SessionStart", source="compact")
    assert "TASK: Refunds by card" in text
    assert "- card.py" in text
    session.send("SessionEnd")
    page = (session.repo / ".memory" / "sessions" / f"{session.name}.md").read_text()
    assert "turns: 1\n" in page
    assert page.count("| `card.py` |") == 1
    memctl("commit")
    assert git(session.repo, "status", "--porcelain", "--", ".memory") == ""
    assert memctl("check", "--json", code=None).code == 0
    assert session.faults() == []


@linux
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.slow
def test_a_kill_right_after_the_commit_makes_no_second_checkpoint(
    session: Session, behind: Behind, memctl: Memctl, more: bool
) -> None:
    hook = session.repo / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        '#!/bin/sh\nrm "$0"\nkill -9 "$(cut -d " " -f 4 /proc/$PPID/stat)"\n'
    )  # who runs the Git that runs it
    hook.chmod(0o755)
    begin_task(session)
    before = commits(session.repo)
    behind.send("PreCompact", trigger="auto")
    behind.wait()
    assert not hook.exists()
    assert commits(session.repo) == before + 1
    assert len(job_queue.notes(session.root)) == 1
    if more:  # the transcript goes on meanwhile
        session.transcript.says("I go on with rounding.")
    assert "TASK: Refunds by card" in session.context("SessionStart", source="compact")
    assert [one["version"] for one in memctl("checkpoint", "list", "--json").data["checkpoints"]] == [1]
    saved = memctl("checkpoint", "show", "--json").data
    state = session_state.read(session.folder)
    assert state is not None
    assert state.checkpoint == saved["checkpoint_id"]
    events = memctl("event", "list", "--json").data["events"]
    assert [one["checkpoint_id"] for one in events if one["event_type"] == "checkpoint"] == [saved["checkpoint_id"]]
    session.send("PreCompact", trigger="auto")  # the next compaction has one of its own
    assert [one["version"] for one in memctl("checkpoint", "list", "--json").data["checkpoints"]] == [2, 1]
    assert memctl("checkpoint", "show", "--json").data["window_id"] == saved["window_id"] + 1
    assert session.faults() == []


@linux
def test_job_left_by_a_kill_is_reported_by_reads_and_finished_by_writes(
    session: Session, behind: Behind, memctl: Memctl
) -> None:
    begin_task(session)
    with lock.hold(session.repo / ".git" / "memctl" / "lock"):
        behind.send("PreCompact", trigger="auto")
        behind.kill()
    before = commits(session.repo)
    assert "`memctl commit` finishes it" in memctl("list").err
    memctl("commit", "--dry-run")
    assert commits(session.repo) == before
    memctl("commit")
    assert memctl("checkpoint", "show", "--json").data["goal"] == "Refunds by card"
    assert "hook" not in memctl("list").err
    trailers = git(session.repo, "log", "-1", "--format=%(trailers:key=Memctl-Session,valueonly)")
    assert trailers.strip() == session.name


@linux
def test_next_session_does_the_jobs_of_a_killed_one(
    session: Session, behind: Behind, repo: Path, tmp_path: Path, memctl: Memctl
) -> None:
    begin_task(session)
    with lock.hold(session.repo / ".git" / "memctl" / "lock"):
        behind.send("PreCompact", trigger="auto")
        behind.kill()
    Session(repo, tmp_path / "other.jsonl", "other").send("SessionStart", source="startup")
    assert job_queue.notes(session.root) == []
    assert memctl("checkpoint", "show", "--json").data["session"] == session.name


@linux
def test_concurrent_hooks_read_a_part_of_the_transcript_once(session: Session, behind: Behind) -> None:
    begin_task(session)
    event = session.event("Stop")
    command = [sys.executable, "-m", "memctl", "hook", "claude-code"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, cwd=session.repo) for _ in range(4)]
    for one in running:
        assert one.stdin
        one.stdin.write(event)
        one.stdin.close()
    assert [one.wait(60) for one in running] == [0] * 4
    behind.send("SessionEnd")
    page = (session.repo / ".memory" / "sessions" / f"{session.name}.md").read_text()
    assert "turns: 1\n" in page
    assert "tool_calls: 2\n" in page
    assert job_queue.notes(session.root) == []
    assert session.faults() == []


@linux
def test_session_end_waits_for_its_work(session: Session, behind: Behind) -> None:
    begin_task(session)
    before = commits(session.repo)
    behind.send("SessionEnd")
    assert commits(session.repo) == before + 1
    assert behind.alive() == []


@linux
def test_user_hook_that_reads_the_memory_in_our_commit_does_not_wait(session: Session, behind: Behind) -> None:
    hook = session.repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{sys.executable} -m memctl list 2>>asked.txt || exit 1\n")
    hook.chmod(0o755)
    begin_task(session)
    behind.send("PreCompact", trigger="auto")
    behind.wait()
    assert "hook" not in (session.repo / "asked.txt").read_text()
    assert session.faults() == []
    assert job_queue.notes(session.root) == []


def test_job_is_done_at_once_without_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    monkeypatch.delattr(os, "fork")
    daemonize.run(lambda: done.append(1))
    assert done == [1]


def test_unreadable_job_note_is_logged_as_a_fault_and_removed(session: Session) -> None:
    session.send("Stop")
    place = session.root / "undone"
    for number, text in enumerate([b"{", b"[]", b"\xff", b'{"what": "dance"}', b'{"what": 5}']):
        (place / f"{number:020d}-0-{session.name}.json").write_bytes(text)
    (place / "else.txt").write_text("of somebody")
    session.send("Stop")
    assert job_queue.notes(session.root) == []
    assert len(session.faults()) == 2  # those of a later memctl; the others are no notes


def test_impossible_job_is_given_up_after_the_last_try(session: Session) -> None:
    begin_task(session)
    memory, elsewhere = session.repo / ".memory", session.repo / "elsewhere"
    job_queue.add(session.folder, entry_of_a_compaction(session))
    memory.rename(elsewhere)
    for _ in range(job_queue.MOST_TRIES):
        assert len(job_queue.notes(session.root)) == 1
        jobs.settle_all(session.root, os.environ)
    assert job_queue.notes(session.root) == []
    elsewhere.rename(memory)
    session.send("PreCompact", trigger="auto")  # and the next one is as good as ever
    assert "TASK: Refunds by card" in session.context("SessionStart", source="compact")


def entry_of_a_compaction(session: Session) -> dict[str, object]:
    """What the note of a compaction says that nobody has begun."""
    behind: list[dispatch.Later] = []
    dispatch.answer(CLAUDE_CODE, session.event("PreCompact", trigger="auto"), dict(os.environ), behind=behind)
    (note,) = job_queue.notes(session.root)
    entry: dict[str, object] = json.loads(note.file.read_bytes())
    note.file.unlink()
    for do in behind:
        do()
    return entry


def test_job_waits_for_an_unreadable_memory_to_be_readable(session: Session) -> None:
    config = session.repo / ".memory" / "config.yaml"
    text = config.read_text()
    config.write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> main\n")
    begin_task(session)
    session.send("PreCompact", trigger="auto")
    for _ in range(job_queue.MOST_TRIES + 2):
        session.send("SessionStart", source="compact")
        session.send("Stop")
    assert len(job_queue.notes(session.root)) == job_queue.MOST_TRIES + 3
    assert "config.yaml" in session.faults()[-1]["fault"]
    config.write_text(text)
    assert "TASK: Refunds by card" in session.context("SessionStart", source="compact")
    assert job_queue.notes(session.root) == []


@pytest.mark.slow
def test_job_waits_for_room_on_a_full_disk(session: Session) -> None:
    begin_task(session)
    code = (
        "import os, resource, sys; from pathlib import Path; from memctl.hooks import jobs;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); jobs.settle_all(Path(sys.argv[1]), os.environ)"
    )
    job_queue.add(session.folder, entry_of_a_compaction(session))
    for _ in range(job_queue.MOST_TRIES + 2):
        subprocess.run([sys.executable, "-c", code, str(session.root)], check=True)
    assert len(job_queue.notes(session.root)) == 1
    assert "TASK: Refunds by card" in session.context("SessionStart", source="compact")


def test_late_job_has_agent_and_time_of_its_event(
    session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.send("SessionStart", source="startup")
    monkeypatch.setenv("MEMCTL_AGENT", "ada")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T15:00:00Z")
    begin_task(session)
    behind: list[dispatch.Later] = []
    dispatch.answer(CLAUDE_CODE, session.event("Stop"), dict(os.environ), behind=behind)
    monkeypatch.setenv("MEMCTL_AGENT", "bob")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T16:00:00Z")
    for do in behind:
        do()
    session.send("SessionEnd")
    assert "agent_id: ada" in (session.repo / ".memory" / "sessions" / f"{session.name}.md").read_text()
    assert "hook" not in memctl("list").err


def test_commands_work_when_the_queue_lock_is_unavailable(session: Session, memctl: Memctl) -> None:
    (session.folder.path / "lock").mkdir(parents=True)
    for event in CLAUDE_CODE.events:
        session.send(event, source="startup", trigger="auto")
    assert "`memctl commit` finishes it" in memctl("list").err
    memctl("learn", "Retries hide an exhausted pool")


def test_failing_job_of_one_session_does_not_stop_other_sessions(session: Session, repo: Path, memctl: Memctl) -> None:
    job_queue.add(session.folder, {"what": "dance"})
    (session.folder.path / "lock").mkdir(parents=True)
    others = [Session(repo, session.file, name) for name in ("one", "two")]
    for other in others:
        job_queue.add(other.folder, {"what": "dance"})
    assert jobs.settle_all(session.root, os.environ) is False
    assert [note.key for note in job_queue.notes(session.root)] == [session.name]
    faults = {fault["session"]: fault["fault"] for fault in session.faults()}
    assert faults.keys() == {session.name, "one", "two"}
    assert faults[session.name].startswith("IsADirectoryError: ")
    job_queue.add(others[0].folder, {"what": "dance"})
    memctl("learn", "Retries hide an exhausted pool")  # a command that writes does it as well
    assert [note.key for note in job_queue.notes(session.root)] == [session.name]


def test_unreadable_job_note_does_not_stop_other_jobs_of_its_session(session: Session) -> None:
    (session.root / "undone" / f"{0:020d}-0-{session.name}.json").mkdir(parents=True)
    job_queue.add(session.folder, {"what": "dance"})
    done: list[object] = []
    faults: list[Exception] = []
    is_done = job_queue.run_jobs(session.folder, lambda entry: not done.append(entry), fault=faults.append)
    assert not is_done
    assert done == [{"what": "dance"}]
    assert [type(fault) for fault in faults] == [IsADirectoryError]


def test_session_that_cannot_be_ended_does_not_block_others(session: Session, repo: Path) -> None:
    others = [Session(repo, repo.parent / f"{name}.jsonl", name) for name in ("one", "two", "six")]
    for other in others:
        begin_task(other)
        other.send("Stop")
        for file in other.folder.path.iterdir():
            os.utime(file, (0, 1))
    (others[0].folder.path / "lock").unlink()
    (others[0].folder.path / "lock").mkdir()
    session.send("SessionStart", source="startup")
    assert sorted(other.name for other in others if (other.folder.path / "draft.md").exists()) == ["one"]
    assert "one" in {fault["session"] for fault in session.faults()}


def test_job_that_kills_its_process_is_given_up_after_the_last_try(session: Session) -> None:
    """A process that is killed never comes to say that it did not get done."""
    job_queue.add(session.folder, {})
    fatal = "import os; from pathlib import Path; from memctl.store import job_queue\n"
    fatal += "from memctl.store.session_dir import SessionDir\n"
    fatal += f"folder = SessionDir(Path({str(session.root)!r}), {session.name!r})\n"
    fatal += "job_queue.run_jobs(folder, lambda _: os._exit(9), fault=print)"
    command = [sys.executable, "-c", fatal]
    runs = [subprocess.run(command, capture_output=True, text=True) for _ in range(job_queue.MOST_TRIES + 1)]
    assert [run.returncode for run in runs] == [9] * job_queue.MOST_TRIES + [0]
    assert job_queue.notes(session.root) == []
    assert "was dropped: 3 processes that worked on it were killed" in runs[-1].stdout


def test_job_noted_while_the_lock_is_released_is_done(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that notes a job does not wait for a taken lock: so its holder looks again when it lets go."""
    held = job_queue.acquire_lock(session.folder)
    assert held is not None
    close, done = os.close, []

    def note_before(descriptor: int) -> None:
        if descriptor == held and not done:
            job_queue.add(session.folder, {"said": 1})
            assert job_queue.acquire_lock(session.folder) is None
        close(descriptor)

    monkeypatch.setattr(os, "close", note_before)
    assert job_queue.run_jobs(session.folder, lambda entry: bool(done.append(entry)) or True, held=held)
    assert done == [{"said": 1}]


@linux
@pytest.mark.usefixtures("held")
def test_host_that_waits_for_its_own_pipe_continues(session: Session, behind: Behind) -> None:
    """As bats and some shells do, which give what they start a pipe of their own."""
    begin_task(session)
    reading, writing = os.pipe()
    behind.send("PreCompact", trigger="auto", pipe=writing)
    os.close(writing)
    assert select.select([reading], [], [], 60)[0]  # the host's end is closed
    assert os.read(reading, 1) == b""
    assert behind.alive()
    os.close(reading)


def test_job_note_that_does_not_fit_on_the_disk_leaves_no_file(session: Session) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, limits[1]))
    try:
        with pytest.raises(OSError, match="large"):
            job_queue.add(session.folder, {"what": "stop"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list((session.root / "undone").iterdir()) == []


def test_job_is_done_although_a_command_held_the_lock_briefly(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`job_queue.wait` has the lock as long as it takes to see that it is free."""
    held = job_queue.acquire_lock(session.folder)
    assert held is not None
    monkeypatch.setattr(time, "sleep", lambda _: os.close(held))
    behind: list[dispatch.Later] = []
    dispatch.answer(CLAUDE_CODE, session.event("Stop"), dict(os.environ), behind=behind)
    assert len(behind) == 1


@linux
def test_job_is_done_for_a_host_that_reads_no_answer(session: Session, behind: Behind) -> None:
    begin_task(session)
    command = [sys.executable, "-m", "memctl", "hook", "claude-code"]
    sent = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=session.repo,
        env=behind.environ,
    )
    assert sent.stdin
    assert sent.stdout
    sent.stdout.close()
    sent.stdin.write(session.event("PreCompact", trigger="auto"))
    sent.stdin.close()
    sent.wait(40)
    behind.wait()
    assert job_queue.notes(session.root) == []
