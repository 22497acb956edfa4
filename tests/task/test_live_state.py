"""The live state of work: one for each session or agent, in the Git directory, on no branch."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from memctl.record.task_state import TaskState
from memctl.store import job_queue
from memctl.store.session_dir import SessionDir
from memctl.task import live_state, progress
from memctl.task.live_state import LiveState
from tests.checkpoints import made
from tests.conftest import Memctl, git, process, slow
from tests.hooks.session import Session
from tests.write import killed

FIRST = ("checkpoint", "save", "--task", "Refunds", "--doing", "POST", "--next", "A test")


def states(repo: Path) -> dict[str, LiveState]:
    root = repo / ".git" / "memctl" / "hooks" / ".memory"
    found = [live_state.read(SessionDir(root, path.name)) for path in (root / "sessions").iterdir()]
    return {state.key: state for state in found if state}


def worktree(repo: Path, folder: Path) -> Path:
    """Another worktree of the repository, on the same branch."""
    git(repo, "worktree", "add", "-qf", str(folder), "main")
    return folder


def works(session: Session, task: str, step: str) -> None:
    """A session with a prompt and a step under way, whose context is then compacted."""
    session.context("SessionStart", source="startup")
    session.transcript.prompt(task)
    session.transcript.call("TodoWrite", todos=[{"content": step, "status": "in_progress"}])
    session.transcript.says("It goes on.")
    session.send("PreCompact", trigger="auto")


class Elsewhere(Session):
    """A session in a second worktree, whose data are in the Git directory of the first."""

    first: Path

    @property
    def root(self) -> Path:
        return self.first / ".git" / "memctl" / "hooks" / ".memory"


@pytest.fixture
def session(repo: Path, tmp_path: Path) -> Session:
    return Session(repo, tmp_path / "5f6c2a10-7d1e.jsonl")


@pytest.fixture
def three(repo: Path, tmp_path: Path) -> list[Session]:
    """Three agents at work in two worktrees of one branch: each has been asked something else."""
    third = Elsewhere(worktree(repo, tmp_path / "second"), tmp_path / "c.jsonl", "ccc")
    third.first = repo
    sessions = [Session(repo, tmp_path / "a.jsonl", "aaa"), Session(repo, tmp_path / "b.jsonl", "bbb"), third]
    for session in sessions:
        works(session, f"Build the part {session.name} of the shop", f"Step of {session.name}")
    return sessions


def test_three_agents_in_two_worktrees_of_one_branch_resume_their_own_states(
    three: list[Session], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for session in three:
        text = session.context("SessionStart", source="compact")
        assert f"TASK: Build the part {session.name} of the shop\n" in text
        assert f"- Step of {session.name}\n" in text
        assert not any(f"Step of {other.name}" in text for other in three if other is not session)
    for session in three * 2:
        monkeypatch.setenv("MEMCTL_SESSION", session.name)
        memctl("checkpoint", "save", "--next", f"Next of {session.name}", where=session.repo)
        out = memctl("checkpoint", "resume", where=session.repo).out
        assert f"TASK: Build the part {session.name} of the shop\n" in out
        assert f"- Next of {session.name}\n" in out
        assert not any(other.name in out for other in three if other is not session)
    assert all(session.faults() == [] for session in three)


def test_a_start_takes_no_state_of_a_session_at_work_nor_of_another_worktree(
    three: list[Session], tmp_path: Path, repo: Path
) -> None:
    def start(name: str, where: Path) -> str:
        new = Session(where, tmp_path / f"{name}.jsonl", name)
        text = new.context("SessionStart", source="startup")
        new.send("SessionEnd", reason="exit")
        return text

    assert "Asked: " not in start("d", repo)  # all three are at work
    three[2].send("SessionEnd", reason="exit")
    assert "Asked: " not in start("e", repo)  # it ended in the other worktree
    assert "- Asked: Build the part ccc of the shop\n" in start("f", tmp_path / "second")
    three[0].send("SessionEnd", reason="exit")
    assert "- Asked: Build the part aaa of the shop\n" in start("g", repo)
    assert "- Asked: Build the part ccc of the shop\n" in start("h", tmp_path / "second")


def test_an_agent_without_a_state_resumes_nobody_who_is_at_work(
    three: list[Session], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_SESSION", "ddd")
    for session in three:
        assert "there is no checkpoint" in memctl("checkpoint", "resume", where=session.repo, code=1).err


def test_agents_that_save_at_once_keep_their_states_apart(repo: Path, memctl: Memctl) -> None:
    names = [f"agent-{number}" for number in range(6)]
    running = [
        process(repo, *FIRST[:3], f"The task of {name}", *FIRST[4:], env={"MEMCTL_SESSION": name, "MEMCTL_AGENT": name})
        for name in names
    ]
    assert [one.wait(timeout=60) for one in running] == [0] * len(names)
    assert {name: states(repo)[name].task.goal for name in names} == {name: f"The task of {name}" for name in names}
    assert len({states(repo)[name].workflow for name in names}) == len(names)


def test_agents_without_sessions_have_a_state_by_name_branch_and_worktree(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    memctl(*FIRST)
    git(repo, "switch", "-qc", "side")
    memctl(*FIRST[:3], "Another", *FIRST[4:])
    memctl(*FIRST[:3], "A third", *FIRST[4:], where=worktree(repo, tmp_path / "second"))
    assert {state.task.goal for state in states(repo).values()} == {"Refunds", "Another", "A third"}
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("is_hooked", [True, False])
def test_another_task_of_an_agent_begins_without_the_steps_of_the_last(
    session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, is_hooked: bool
) -> None:
    if is_hooked:
        works(session, "Build the shop", "Step of the list")
        monkeypatch.setenv("MEMCTL_SESSION", session.name)
    memctl("checkpoint", "save", "--task", "Refunds", "--doing", "POST", "--next", "A test")
    memctl("checkpoint", "save", "--task", "Mails", "--doing", "Template", "--next", "Send one")
    (state,) = states(session.repo).values()
    assert (state.task.goal, state.task.next_actions) == ("Mails", ("Send one",))
    assert [step.text for step in state.task.steps] == [*["Step of the list"] * is_hooked, "Template"]


@pytest.mark.parametrize("kills", [5, *slow(25)])
def test_a_kill_at_any_step_of_a_save_loses_nothing_that_was_saved(repo: Path, memctl: Memctl, kills: int) -> None:
    memctl(*FIRST)
    total = int(killed.run(0, repo, "checkpoint", "save", "--next", "Next 0").stderr.splitlines()[-1])
    for step in range(1, total + 1, max(1, total // kills)):
        killed.run(step, repo, "checkpoint", "save", "--next", f"Next {step}")
        memctl("commit", code=None)
        saved = memctl("checkpoint", "show", "--json").data["next_actions"][0]
        assert f"- {saved}\n" in memctl("checkpoint", "resume").out
        assert f"Left open: {saved}" in memctl("rehydrate").out


def test_checkpoint_whose_command_was_killed_before_it_reached_the_live_state_is_in_the_next(
    session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    works(session, "Build the shop", "Routes")
    monkeypatch.setenv("MEMCTL_SESSION", session.name)
    before = (session.folder.path / live_state.FILE).read_bytes()
    memctl("checkpoint", "save", "--done", "Prices", "--constraint", "No floats")
    (session.folder.path / live_state.FILE).write_bytes(before)
    session.transcript.says("On it.")
    session.send("PreCompact", trigger="auto")
    saved = memctl("checkpoint", "show", "--json").data
    assert "Prices" in [step["text"] for step in saved["steps"] if step.get("status") == "done"]
    assert saved["constraints"] == ["No floats"]


def test_the_last_request_of_a_session_is_its_task_after_a_compaction(session: Session) -> None:
    session.context("SessionStart", source="startup")
    for prompt, answer in (
        ("cents() gets 0.135 wrong. Fix the rounding; the bank wants half to even.", "Fixed, the tests are green."),
        ("Now add a discount of 3 % above 100 euros", "Added."),
        ("yes", "Good."),
    ):
        session.transcript.prompt(prompt)
        session.transcript.says(answer)
    session.send("PreCompact", trigger="manual")
    text = session.context("SessionStart", source="compact")
    assert "TASK: Now add a discount of 3 % above 100 euros\n" in text
    assert "- cents() gets 0.135 wrong. Fix the rounding; the bank wants half to even.\n" in text


def test_state_that_no_checkpoint_could_save_is_resumed_all_the_same(session: Session) -> None:
    works(session, "Build the shop", "Routes")
    for file in (session.repo / ".memory" / "checkpoints").rglob("*.json"):
        file.unlink()
    text = session.context("SessionStart", source="compact")
    assert "TASK: Build the shop\n" in text
    assert "- Routes\n" in text


def test_a_session_that_only_talked_is_told_without_a_page(session: Session, memctl: Memctl, tmp_path: Path) -> None:
    session.context("SessionStart", source="startup")
    session.transcript.prompt("Why are amounts kept in cents?")
    session.transcript.says("Because floats round. Shall I write that down?")
    session.send("SessionEnd", reason="exit")
    assert not (session.repo / ".memory" / "sessions").exists()
    given = Session(session.repo, tmp_path / "later.jsonl", "later").context("SessionStart", source="startup")
    assert "- Asked: Why are amounts kept in cents?\n" in given
    assert "Shall I write that down?" in given
    assert memctl("status", "--json").data["last_session"]["intent"] == "Why are amounts kept in cents?"


def test_state_of_an_earlier_version_counts_only_where_no_page_tells_more(session: Session, tmp_path: Path) -> None:
    works(session, "Build the shop", "Routes")
    session.send("SessionEnd", reason="exit")
    file = session.folder.path / live_state.FILE
    stored = json.loads(file.read_bytes())
    stored["task"] = {name: value for name, value in stored["task"].items() if name not in ("saved_at", "environment")}
    del stored["answer"]
    file.write_text(json.dumps(stored))
    given = Session(session.repo, tmp_path / "later.jsonl", "later").context("SessionStart", source="startup")
    assert "- Asked: Build the shop\n" in given
    file.unlink()  # as in another clone
    assert "- Asked: Build the shop\n" in Session(session.repo, tmp_path / "x.jsonl", "x").context(
        "SessionStart", source="startup"
    )


def state(key: str, at: int, branch: str = "main", **more: object) -> LiveState:
    task = TaskState(goal=key, saved_at=f"2025-11-04T{at:02}:00:00Z")
    task = msgspec.structs.replace(task, environment=msgspec.structs.replace(task.environment, branch=branch))
    return msgspec.structs.replace(LiveState(key, task=task), **more)


@pytest.mark.parametrize(
    ("states", "older", "chosen"),
    [
        ([], [], None),
        ([state("a", 9), state("b", 10)], [], "b"),
        ([state("a", 9), state("b", 10, is_running=True)], [], "a"),
        ([state("a", 9), state("b", 10, "side")], [], "a"),
        ([state("a", 9, top="/"), state("b", 8, top="/here")], [], "b"),  # "/" is another worktree of this machine
        ([state("a", 9, top="/gone/away")], [], "a"),
        ([state("a", 9)], [state("a", 9)], "a"),
        ([state("a", 9, is_running=True)], [state("a", 10)], None),
        ([state("a", 9)], [state("c", 10)], "c"),
        ([state("a", 0, task=TaskState(goal="a"))], [state("a", 8)], "a"),  # of an older memctl
    ],
)
def test_the_latest_state_of_the_worktree_and_branch_is_chosen(
    states: list[LiveState], older: list[LiveState], chosen: str | None
) -> None:
    found = live_state.choose(states, older, "main", "/here")
    assert (found.key if found else None) == chosen


def test_newer_checkpoint_of_another_clone_is_chosen_before_the_live_state() -> None:
    own = live_state.of_checkpoint(made(1, 3, planned=["Ours"]))
    for version, expected in ((2, own), (4, None)):
        other = live_state.of_checkpoint(made(1, version, "0b0b0b", planned=["Theirs"]))
        assert live_state.choose([own], [other], "", "") == (expected or other)


def test_the_last_request_replaces_the_users_goal_and_no_named_one() -> None:
    task = TaskState(goal="Build the shop", said=("Build the shop", "Add VAT of 19 %", "go on"))
    assert progress.with_last_request(task).goal == "Add VAT of 19 %"
    named = msgspec.structs.replace(task, goal="Refunds, all of them")
    assert progress.with_last_request(named) == named
    changed = msgspec.structs.replace(task, goal="Add VAT of 19 %", earlier_goals=("Build the shop",))
    assert progress.with_last_request(changed) == changed


def test_work_goes_on_in_the_worktree_to_which_its_branch_has_moved(
    repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "switch", "-qc", "feature")
    monkeypatch.setenv("MEMCTL_SESSION", "aaaa1111")
    memctl("checkpoint", "save", "--task", "Refunds by card", "--done", "GET", "--next", "POST")
    git(repo, "switch", "-q", "main")
    git(repo, "worktree", "add", "-q", str(tmp_path / "b"), "feature")
    monkeypatch.setenv("MEMCTL_SESSION", "bbbb2222")
    assert "TASK: Refunds by card\n" in memctl("checkpoint", "resume", where=tmp_path / "b").out
    other = Elsewhere(tmp_path / "b", tmp_path / "bbbb2222.jsonl", "bbbb2222")
    other.first = repo
    assert "Refunds by card" in other.context("SessionStart", source="startup")
    memctl("checkpoint", "save", "--done", "POST", "--next", "DELETE", where=tmp_path / "b")
    assert "- POST" in memctl("checkpoint", "resume", where=tmp_path / "b").out


def test_compaction_whose_commit_is_refused_resumes_the_newest_state(session: Session, memctl: Memctl) -> None:
    works(session, "Build the shop", "Step A")
    session.transcript.call("TodoWrite", todos=[{"content": "Step B", "status": "in_progress"}])
    hook = session.repo / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    session.send("PreCompact", trigger="auto")
    text = session.context("SessionStart", source="compact")
    assert "- Step B\n" in text
    assert "Step A" not in text


def test_a_command_brings_back_no_step_or_error_that_the_session_has_done_with(
    session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.context("SessionStart", source="startup")
    session.transcript.prompt("Build the shop")
    session.transcript.call("TodoWrite", todos=[{"content": one, "status": "in_progress"} for one in ("A", "B")])
    session.transcript.call("Bash", "E   assert 1 == 2\n1 failed", error=True, command="pytest -q")
    session.send("PreCompact", trigger="auto")
    session.transcript.call("TodoWrite", todos=[{"content": "B", "status": "in_progress"}])
    session.transcript.call("Bash", "3 passed in 0.1s", command="pytest -q")
    session.transcript.says("It passes.")
    session.send("Stop")
    monkeypatch.setenv("MEMCTL_SESSION", session.name)
    memctl("checkpoint", "save", "--done", "X")
    (state,) = states(session.repo).values()
    assert [step.text for step in state.task.steps] == ["B", "X"]
    assert state.task.errors == ()
    assert "1 failed" not in memctl("checkpoint", "resume").out


def test_a_checkpoint_says_if_its_live_state_could_not_be_written(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl(*FIRST)
    (folder,) = (repo / ".git" / "memctl" / "hooks" / ".memory" / "sessions").iterdir()
    monkeypatch.setattr(live_state, "_PATIENCE", 0.05)
    held = job_queue.acquire_lock(SessionDir(folder.parent.parent, folder.name))
    assert held is not None
    try:
        made = memctl("checkpoint", "save", "--doing", "GET")
    finally:
        os.close(held)
    assert "the checkpoint is saved, but the live state in the Git directory could not be: another process" in made.err
    assert "could not be" not in memctl("checkpoint", "save", "--doing", "PUT").err
