"""What memctl keeps in the Git directory only its owner reads, or the group that Git shares a repository with."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.git import private_files
from memctl.git.repository import open_repository
from tests.conftest import Memctl, git
from tests.hooks.session import Session


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The permission bits of a folder and all that is below it, by path."""
    found = {".": stat.S_IMODE(folder.stat().st_mode)}
    return found | {str(p.relative_to(folder)): stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*")}


def fill(memctl: Memctl, repo: Path, session: Session) -> None:
    """Let each part of memctl that keeps files in the Git directory write one."""
    identifier = memctl("learn", "Retries need a limit", "--lesson", "three").id
    memctl("learn", "Held back", "--lesson", "x", "--no-commit")
    memctl("show", identifier)
    memctl("search", "limit")
    memctl("check", code=None)
    memctl("event", "emit", "--type", "phase_complete", "--phase", "design", "--output", "A plan")
    memctl("session", "start", "monday")
    memctl("coordination", "join", "--task", "Refunds")
    session.transcript.prompt("Deploy it")
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"):
        session.send(event, prompt="Deploy it", source="startup")


def test_new_folders_are_0700_and_files_0600_under_any_umask(
    memctl: Memctl, repo: Path, tmp_path: Path, umask: int
) -> None:
    import shutil

    shutil.rmtree(repo / ".git/memctl")
    fill(memctl, repo, Session(repo, tmp_path / "5f6c2a10-7d1e.jsonl"))
    found = modes(repo / ".git/memctl")
    names = {Path(path).name for path in found}
    assert {"cache.db", "access.db", "sequence.json", "state.json", "pending", "monday.json", "lock"} <= names
    open_to_others = {path: oct(mode) for path, mode in found.items() if mode & 0o077 and "/templates/" not in path}
    assert open_to_others == {}
    assert found["."] == 0o700


def test_worktree_files_keep_the_mode_of_the_umask(memctl: Memctl, repo: Path, umask: int) -> None:
    identifier = memctl("learn", "Retries need a limit", "--lesson", "three").id
    (file,) = (repo / ".memory").rglob(f"{identifier}*.md")
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


def test_readable_folder_of_an_earlier_version_becomes_private(memctl: Memctl, repo: Path) -> None:
    folder = repo / ".git/memctl"
    folder.chmod(0o755)
    memctl("list")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_readable_folder_of_a_linked_worktree_becomes_private(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    memctl("list", where=tmp_path / "other")
    folder = repo / ".git/worktrees/other/memctl"
    folder.chmod(0o755)
    open_repository(tmp_path / "other")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_folders_in_a_group_repository_are_open_to_the_group(memctl: Memctl, repo: Path) -> None:
    import shutil

    shutil.rmtree(repo / ".git/memctl")
    git(repo, "config", "core.sharedRepository", "group")
    git(repo, "init", "-q", "--shared=group")
    memctl("learn", "Retries need a limit", "--lesson", "three", "--no-commit")
    found = modes(repo / ".git/memctl")
    assert found["."] & 0o777 == 0o770
    assert found["lock"] == 0o660
    assert all(mode & 0o070 >= 0o060 for path, mode in found.items() if "/templates/" not in path)
    assert not any(mode & 0o007 for path, mode in found.items() if "/templates/" not in path)


def test_folder_whose_mode_cannot_change_is_left_alone(tmp_path: Path) -> None:
    private_files.make_private(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    private_files.make_private(tmp_path / "file" / "memctl")
