"""A commit for an agent runs no hook of the worktree that somebody has edited; a person's commit runs what is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.git import git as plumbing
from tests.conftest import Memctl, commits, git
from tests.hooks.session import Session

RAN = "ran.txt"
Shell = Callable[[str], Memctl]


@pytest.fixture
def agent(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> Memctl:
    """memctl in the shell of an agent."""

    def run(*args: str, **more: object) -> object:
        with monkeypatch.context() as patch:
            patch.setenv("CLAUDECODE", "1")
            return memctl(*args, **more)  # type: ignore[arg-type]

    return run  # type: ignore[return-value]


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def write_in_git_dir(repo: Path, text: str) -> None:
    write(repo / ".git" / "hooks" / "pre-commit", f"#!/bin/sh\n{text}\n")


def commit(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "hooks", "--no-verify")


def set_up_husky(repo: Path) -> str:
    """Husky 9: hooks are in .husky, and Git is led to generated files that it ignores."""
    write(repo / ".husky/_/h", 'name=$(basename "$0"); sh -e ".husky/$name" "$@"\n')
    write(repo / ".husky/_/pre-commit", '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    write(repo / ".husky/_/.gitignore", "*\n")
    write(repo / ".husky/pre-commit", "true\n")
    git(repo, "config", "core.hooksPath", ".husky/_")
    return ".husky/pre-commit"


def set_up_folder(repo: Path) -> str:
    write(repo / ".githooks/commit-msg", "#!/bin/sh\n. .githooks/common\n")
    write(repo / ".githooks/common", "true\n")
    git(repo, "config", "core.hooksPath", ".githooks")
    return ".githooks/common"


def set_up_pre_commit(repo: Path) -> str:
    """The framework's hook, which names its file of settings, here with a hook of the project's own."""
    write(repo / ".pre-commit-config.yaml", "repos:\n- repo: local\n  hooks: [{id: own, entry: tools/own.sh}]\n")
    write(repo / "tools/own.sh", "true\n")
    write_in_git_dir(repo, "ARGS=--config=.pre-commit-config.yaml\nsh tools/own.sh # pre-commit")
    return "tools/own.sh"


def set_up_lefthook(repo: Path) -> str:
    write(repo / "lefthook.yml", "pre-commit: {commands: {own: {run: 'true'}}}\n")
    write_in_git_dir(repo, 'command -v lefthook && lefthook run "pre-commit" "$@"; true')
    return "lefthook.yml"


def set_up_index_hook(repo: Path) -> str:
    """A hook that writing the index runs, in the lane in which no other hook is."""
    write(repo / ".githooks/post-index-change", "#!/bin/sh\ntrue\n")
    git(repo, "config", "core.hooksPath", ".githooks")
    return ".githooks/post-index-change"


@pytest.mark.parametrize("set_up", [set_up_husky, set_up_folder, set_up_pre_commit, set_up_lefthook, set_up_index_hook])
def test_edited_hook_leaves_an_agents_record_pending_until_a_person_writes(
    repo: Path, memctl: Memctl, agent: Memctl, set_up: Callable[[Path], str]
) -> None:
    edited = set_up(repo)
    commit(repo)
    memctl("learn", "A person's write sees the generated files of husky")
    before = commits(repo)
    agent("decide", "Unchanged hooks run")
    assert commits(repo) == before + 1

    original = (repo / edited).read_text()
    git(repo, "update-index", "--assume-unchanged", edited)  # Git says no more what differs
    write(repo / edited, f"{original}touch {RAN}\n")
    err = agent("decide", "An edited hook does not run").err
    assert f"{edited} differs from HEAD; the commit would run it, and an agent may not run" in err
    assert commits(repo) == before + 1
    assert not (repo / RAN).exists()
    assert "An edited hook does not run" in agent("list").out

    memctl("learn", "A person's write makes the commit")
    assert commits(repo) == before + 3
    assert (repo / RAN).exists() == (set_up is not set_up_lefthook)
    agent("decide", "What a person's commit ran is accepted")
    assert commits(repo) == before + 4


def test_new_hook_beside_unchanged_ones_leaves_the_commit_pending(repo: Path, memctl: Memctl, agent: Memctl) -> None:
    set_up_folder(repo)
    commit(repo)
    write(repo / ".githooks/post-commit", f"#!/bin/sh\ntouch {RAN}\n")
    before = commits(repo)
    assert (
        ".githooks/post-commit is not in HEAD; the commit would run it, and an agent may not run"
        in agent("decide", "One").err
    )
    assert (commits(repo), (repo / RAN).exists()) == (before, False)
    git(repo, "config", "core.hooksPath", ".git/hooks")
    agent("decide", "Two")
    assert commits(repo) == before + 2


def test_generated_hooks_are_accepted_by_an_installation(repo: Path, memctl: Memctl, agent: Memctl) -> None:
    set_up_husky(repo)
    commit(repo)
    assert ".husky/_/pre-commit is not in HEAD" in agent("decide", "One").err
    memctl("install", "claude-code", "--yes")
    before = commits(repo)
    agent("commit")
    assert commits(repo) == before + 1


def test_session_page_waits_for_an_edited_hook(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    session = Session(repo, tmp_path / "t.jsonl")
    set_up_folder(repo)
    commit(repo)
    git(repo, "config", "memctl.hookCommits", "all")
    session.send("SessionStart", source="startup")
    session.transcript.prompt("Guard the hooks")
    session.transcript.call("Write", file_path=str(repo / ".githooks/common"), content="touch ran.txt\n")
    write(repo / ".githooks/common", f"touch {RAN}\n")
    before = commits(repo)
    session.send("SessionEnd", reason="exit")
    assert (commits(repo), (repo / RAN).exists()) == (before, False)
    memctl("commit")
    assert commits(repo) == before + 1
    assert git(repo, "ls-tree", "-r", "--name-only", "HEAD", ".memory/sessions")


def test_page_on_the_sessions_ref_waits_for_an_edited_transaction_hook(
    repo: Path, memctl: Memctl, agent: Memctl, tmp_path: Path
) -> None:
    write(repo / ".githooks/reference-transaction", "#!/bin/sh\ntrue\n")
    git(repo, "config", "core.hooksPath", ".githooks")
    git(repo, "config", "memctl.hookCommits", "records")
    commit(repo)
    session = Session(repo, tmp_path / "t.jsonl")
    session.send("SessionStart", source="startup")
    session.transcript.prompt("Guard the hooks")
    session.transcript.call("Write", file_path=str(repo / "guard.py"), content="")
    write(repo / ".githooks/reference-transaction", f"#!/bin/sh\ntouch {RAN}\n")
    session.send("SessionEnd", reason="exit")
    assert "reference-transaction differs from HEAD" in agent("checkpoint", "save", "--task", "Guard", code=1).err
    assert not git(repo, "for-each-ref", "refs/memctl/sessions")
    assert not (repo / RAN).exists()
    (repo / ".githooks/reference-transaction").write_text("#!/bin/sh\ntrue\n")
    memctl("learn", "What waited is done by the next command that writes")
    assert "sessions/" in git(repo, "ls-tree", "-r", "--name-only", "refs/memctl/sessions")
    assert not (repo / RAN).exists()


def test_commit_without_hooks_in_the_worktree_starts_no_further_git(
    repo: Path, memctl: Memctl, agent: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    real = plumbing._spawn

    def watch(args: list[str], *more: object, **options: object) -> object:
        asked.add(args[0])
        return real(args, *more, **options)  # type: ignore[arg-type]

    memctl("install", "git")
    monkeypatch.setattr(plumbing, "_spawn", watch)
    agent("decide", "One")
    assert "fast-import" in asked
    assert not asked & {"ls-tree", "hash-object"}  # by which files are compared with HEAD
