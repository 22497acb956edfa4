"""What hooks commit, and where: on the branch, on a ref beside it, or nothing; and that all readers find it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git, slow
from tests.hooks.session import Session
from tests.write import killed

REF = "refs/memctl/sessions"
PRIVATE = "My private plan: leave ACME"


def ask(session: Session, prompt: str = PRIVATE) -> None:
    """Something that a session does."""
    session.transcript.prompt(prompt)
    session.transcript.call("Write", file_path=str(session.repo / f"{session.name}.py"), content="x = 1\n")
    session.transcript.says("Decision: leave ACME because of the plan.")


def work(session: Session) -> str:
    """A session with a compaction; what it is given after that."""
    session.context("SessionStart", source="startup")
    ask(session)
    session.send("PreCompact", trigger="auto")
    given = session.context("SessionStart", source="compact")
    session.send("Stop")
    session.send("SessionEnd", reason="exit")
    assert session.faults() == []
    return given


def files(repo: Path, revision: str) -> list[str]:
    return git(repo, "ls-tree", "-r", "--name-only", revision, "--", ".memory/sessions", ".memory/checkpoints").split()


def setting(repo: Path) -> str:
    return git(repo, "config", "--get", "memctl.hookCommits", check=False).strip()


@pytest.fixture
def records(session: Session) -> Session:
    git(session.repo, "config", "memctl.hookCommits", "records")
    return session


def test_a_new_memory_keeps_pages_and_checkpoints_on_a_separate_ref_without_a_remote(session: Session) -> None:
    git(session.repo, "config", "--unset", "memctl.hookCommits")
    work(session)
    assert setting(session.repo) == "records"
    assert f".memory/sessions/{session.name}.md" in files(session.repo, REF)
    assert files(session.repo, "HEAD") == []


def test_branch_with_pages_of_an_earlier_version_gets_the_later_ones_too(session: Session, tmp_path: Path) -> None:
    work(session)
    git(session.repo, "config", "--unset", "memctl.hookCommits")
    later = Session(session.repo, tmp_path / "later.jsonl", "later")
    work(later)
    assert setting(session.repo) == "all"
    assert ".memory/sessions/later.md" in files(session.repo, "HEAD")
    assert git(session.repo, "for-each-ref", REF) == ""


def test_shared_branch_keeps_pages_and_checkpoints_on_a_separate_ref(session: Session, tmp_path: Path) -> None:
    repo = session.repo
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(repo, "remote", "add", "origin", str(tmp_path / "bare.git"))
    git(repo, "fetch", "-q")
    git(repo, "branch", "-q", "-u", "origin/main")
    git(repo, "config", "--unset", "memctl.hookCommits")
    work(session)
    assert setting(repo) == "records"
    assert files(repo, "HEAD") == []
    assert len(files(repo, REF)) == 3


def test_hook_commits_setting_is_kept(session: Session) -> None:
    git(session.repo, "config", "memctl.hookCommits", "true")
    work(session)
    assert setting(session.repo) == "true"
    assert f".memory/sessions/{session.name}.md" in files(session.repo, "HEAD")


@pytest.mark.parametrize("value", ["false", "none"])
def test_hook_commits_setting_of_none_commits_nothing(session: Session, value: str) -> None:
    git(session.repo, "config", "memctl.hookCommits", value)
    before = git(session.repo, "rev-parse", "HEAD")
    work(session)
    assert git(session.repo, "rev-parse", "HEAD") == before
    assert git(session.repo, "for-each-ref", "refs/memctl") == ""


def test_hook_commits_leave_branch_index_and_worktree_unchanged(records: Session) -> None:
    repo = records.repo
    (repo / "staged.py").write_text("x = 1\n")
    git(repo, "add", "staged.py")
    before = [git(repo, *command) for command in (["rev-parse", "HEAD"], ["status", "--porcelain"], ["ls-files", "-s"])]
    work(records)
    after = [git(repo, *command) for command in (["rev-parse", "HEAD"], ["status", "--porcelain"], ["ls-files", "-s"])]
    assert after == before
    assert PRIVATE not in git(repo, "log", "-p", "HEAD")
    assert PRIVATE in git(repo, "log", "-p", REF)


def test_prompts_are_never_in_commit_subjects(records: Session) -> None:
    work(records)
    git(records.repo, "config", "memctl.hookCommits", "all")
    other = Session(records.repo, records.file, "other")
    work(other)
    subjects = git(records.repo, "log", "--all", "--format=%B")
    assert "private" not in subjects
    assert "checkpoint main-w1-v1-" in subjects


def test_each_write_is_one_commit_with_the_trailers_of_the_branch(records: Session) -> None:
    work(records)
    ask(records, "And what then?")
    records.send("SessionEnd", reason="exit")
    told = git(records.repo, "log", REF, "--format=%(trailers:key=Memctl-Op,valueonly,separator=%x2C)").split()
    assert told == ["summarize", "checkpoint"]


def test_after_a_compaction_the_state_is_given_back(records: Session) -> None:
    given = work(records)
    assert PRIVATE in given
    assert "main-w1-v1-" in given


def test_commands_read_pages_and_checkpoints_of_the_sessions_ref(records: Session, memctl: Memctl) -> None:
    work(records)
    repo = records.repo
    assert [one["session_id"] for one in memctl("session", "list", "--json").data["sessions"]] == [records.name]
    assert PRIVATE in memctl("session", "show", records.name).out
    assert PRIVATE in memctl("checkpoint", "list").out
    assert PRIVATE in memctl("checkpoint", "show").out
    assert PRIVATE in memctl("checkpoint", "resume").out
    memctl("learn", "Something")
    assert "1 session summarized" in memctl("rehydrate").out
    assert memctl("check").err == "nothing found\n"
    assert not (repo / ".memory" / "sessions").exists()


def test_check_reports_a_broken_page_of_the_sessions_ref(records: Session, memctl: Memctl) -> None:
    work(records)
    path = f".memory/sessions/{records.name}.md"
    blob = git(records.repo, "hash-object", "-w", "--stdin", stdin="---\nsession_id: another\n---\n").strip()
    index = {**os.environ, "GIT_INDEX_FILE": str(records.file.with_name("index"))}
    for command in (["read-tree", REF], ["update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"]):
        subprocess.run(["git", *command], cwd=records.repo, env=index, check=True)
    tree = subprocess.check_output(["git", "write-tree"], cwd=records.repo, env=index, text=True).strip()
    git(records.repo, "update-ref", REF, git(records.repo, "commit-tree", tree, "-m", "broken").strip())
    assert "MEM507" in memctl("check", code=1).out


def test_sessions_at_a_revision_are_those_of_that_time(
    records: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("learn", "Before")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T15:00:00Z")
    work(records)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T16:00:00Z")
    memctl("learn", "After")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T17:00:00Z")
    work(Session(records.repo, records.file, "later"))

    def session_ids(*at: str) -> list[str]:
        return [one["session_id"] for one in memctl("session", "list", "--json", *at).data["sessions"]]

    assert sorted(session_ids()) == [records.name, "later"]
    assert session_ids("--at", "HEAD") == [records.name]
    assert session_ids("--at", "HEAD~1") == []
    assert sorted(session_ids("--at", REF)) == [records.name, "later"]
    assert PRIVATE in memctl("checkpoint", "show", "--at", "HEAD").out


def test_continued_session_keeps_its_only_page_on_the_sessions_ref(records: Session, memctl: Memctl) -> None:
    work(records)
    git(records.repo, "config", "memctl.hookCommits", "all")
    ask(records, "And what then?")
    records.send("SessionEnd", reason="exit")
    assert f".memory/sessions/{records.name}.md" not in files(records.repo, "HEAD")
    page = git(records.repo, "show", f"{REF}:.memory/sessions/{records.name}.md")
    assert page.count("## Session Intent") == 1
    assert PRIVATE in memctl("session", "show", records.name).out


def test_checkpoint_saved_by_hand_makes_no_commit_on_the_branch(records: Session, memctl: Memctl) -> None:
    before = commits(records.repo)
    memctl("checkpoint", "save", "--task", "Refunds", "--next", "Test them", "--doing", "Write them")
    assert commits(records.repo) == before
    assert "Refunds" in memctl("checkpoint", "resume").out
    memctl("learn", "A record")
    assert commits(records.repo) == before + 1


def test_records_that_a_summary_proposes_are_committed_on_the_branch(
    records: Session, memctl: Memctl, tmp_path: Path
) -> None:
    talk = tmp_path / "talk.txt"
    talk.write_text("User: Which card provider?\n\nAssistant: Decision: use Stripe because of its refunds.\n")
    made = memctl("session", "summarize", "-t", str(talk), "--id", "design", "--accept", "--json").data["ids"]
    assert len(made) == 1
    assert files(records.repo, REF) == [".memory/sessions/design.md"]
    assert git(records.repo, "log", "-1", "--format=%(trailers:key=Memctl-Id,valueonly)").split() == made
    assert "Stripe" in memctl("show", made[0]).out
    assert git(records.repo, "status", "--porcelain") == ""


def test_maintain_deletes_old_checkpoints_of_the_sessions_ref(
    records: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        memctl("checkpoint", "save", "--task", "Refunds", "--next", f"Step {number}", "--doing", f"Step {number}")
    monkeypatch.setenv("MEMCTL_NOW", "2026-02-04T15:00:00Z")
    memctl("maintain")
    assert len([path for path in files(records.repo, REF) if path.endswith(".json")]) == 10


def test_worktrees_share_the_sessions_ref(records: Session, memctl: Memctl, tmp_path: Path) -> None:
    work(records)
    git(records.repo, "worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside")
    assert PRIVATE in memctl("session", "show", records.name, where=tmp_path / "beside").out


def test_pages_and_checkpoints_are_written_to_the_ref_during_a_merge(records: Session) -> None:
    (records.repo / ".git" / "MERGE_HEAD").write_text(git(records.repo, "rev-parse", "HEAD"))
    work(records)
    assert len(files(records.repo, REF)) == 3


def test_broken_sessions_ref_is_reported_and_other_commands_work(records: Session, memctl: Memctl) -> None:
    work(records)
    memctl("learn", "Something")
    (records.repo / ".git" / REF).write_text("\0" * 41)
    for command in (["rehydrate"], ["session", "list"], ["check"]):
        assert "the ref refs/memctl/sessions is damaged" in memctl(*command).err
    assert "# Memory of shop" in Session(records.repo, records.file, "next").context("SessionStart", source="startup")


def test_unknown_value_is_refused_with_the_known_ones(session: Session, memctl: Memctl) -> None:
    git(session.repo, "config", "memctl.hookCommits", "sometimes")
    session.context("SessionStart", source="startup")
    ask(session)
    session.send("SessionEnd", reason="exit")
    assert "memctl.hookCommits is 'sometimes'" in session.faults()[0]["fault"]
    for told in (memctl("status").out, memctl("check").err):
        assert "memctl.hookCommits is 'sometimes'; it must be all, records or none; run `git config" in told.replace(
            "\nhint:", ";"
        )
    git(session.repo, "config", "memctl.hookCommits", "all")
    memctl("commit")
    assert f".memory/sessions/{session.name}.md" in files(session.repo, "HEAD")


@pytest.mark.slow
def test_sessions_that_end_at_once_lose_nothing(records: Session, tmp_path: Path) -> None:
    sessions = [Session(records.repo, tmp_path / f"{n}.jsonl", f"session-{n:02}") for n in range(8)]
    for session in sessions:
        session.context("SessionStart", source="startup")
        ask(session, f"What {session.name} is for")
    command = [sys.executable, "-m", "memctl", "hook", "claude-code"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, cwd=records.repo) for _ in sessions]
    for process, session in zip(running, sessions, strict=True):
        assert process.stdin is not None
        process.stdin.write(session.event("SessionEnd", reason="exit"))
        process.stdin.close()
    assert [process.wait(timeout=60) for process in running] == [0] * 8
    assert [path[-13:-3] for path in files(records.repo, REF)] == [session.name for session in sessions]
    assert git(records.repo, "rev-list", "--count", REF).strip() == "8"
    assert all(session.faults() == [] for session in sessions)


@pytest.mark.parametrize("kills", [5, *slow(25)])
def test_a_kill_at_any_step_leaves_the_old_state_or_the_new(records: Session, memctl: Memctl, kills: int) -> None:
    args = ["checkpoint", "save", "--task", "Refunds", "--doing", "A", "--next", "B"]
    total = int(killed.run(0, records.repo, *args).stderr.splitlines()[-1])
    before = len(files(records.repo, REF))
    for step in range(1, total + 1, max(1, total // kills)):
        killed.run(step, records.repo, *args)
        now = len(files(records.repo, REF))
        assert now in (before, before + 2)
        before = now
        (records.repo / ".git" / f"{REF}.lock").unlink(missing_ok=True)
        assert memctl("check").err == "nothing found\n"
        assert git(records.repo, "status", "--porcelain") == ""
    git(records.repo, "fsck", "--strict")


def test_reading_pages_of_the_branch_starts_no_more_of_git(
    session: Session, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(session)
    from memctl.git import git as journal

    asked: list[str] = []
    spawn = journal._spawn

    def watch(args: list[str], *rest: object, **more: object) -> object:
        asked.append(args[2] if args[0] == "-c" else args[0])
        return spawn(args, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(journal, "_spawn", watch)
    assert json.loads(memctl("session", "list", "--json").out)["data"]["sessions"]
    assert set(asked) <= {"status"}


def test_with_commits_later_a_session_leaves_its_page_for_the_user(session: Session) -> None:
    git(session.repo, "config", "memctl.commits", "later")
    before = commits(session.repo)
    work(session)
    assert commits(session.repo) == before
    assert git(session.repo, "status", "--porcelain", "--", ".memory") != ""
    assert git(session.repo, "diff", "--cached", "--name-only") == ""
    git(session.repo, "add", "-A")
    git(session.repo, "commit", "-qm", "code and a page")
    assert git(session.repo, "status", "--porcelain", "--", ".memory") == ""
