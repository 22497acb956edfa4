"""What Git says of the files below a folder, with the untracked names that are kept from one look to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import status
from memctl.git.repository import Repository, open_repository
from memctl.git.status import StatusProcess, UntrackedNames
from tests.conftest import git

FULL = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored", "--no-renames", "--", ".memory")


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an index of any size count as large."""
    monkeypatch.setattr(status, "_LARGE_INDEX", 0)


def asked(repository: Repository) -> tuple[bool, list[str]]:
    """Whether the untracked names were known before, and the files that differ from HEAD, as of 3 s later: so that no
    folder is too young to be kept."""
    process = StatusProcess(repository, ".memory")
    process.started += 3_000_000_000
    return "--untracked-files=no" in process._args, sorted(process.differing())


def by_git(repository: Repository) -> list[str]:
    return sorted(item[3:] for item in git(repository.top, "--no-optional-locks", *FULL).split("\0") if item)


def test_untracked_names_are_listed_again_only_after_a_change(repo: Path) -> None:
    repository, memory = open_repository(repo), repo / ".memory"
    tracked, new, deep = memory / "project.md", memory / "learnings/new.md", memory / "learnings/2025-11/deep.md"
    tracked.write_text("tracked\n", encoding="utf-8")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "a page")
    assert asked(repository) == (False, [])
    assert asked(repository) == (True, [])
    deep.parent.mkdir(parents=True)
    steps = {
        "a new file": (lambda: new.write_text("new\n"), False),
        "a new file in a new folder below": (lambda: deep.write_text("deep\n"), False),
        "the same, in a folder that is known by now": (lambda: (deep.parent / "more.md").write_text("more\n"), False),
        "an untracked file that is written to": (lambda: new.open("a").write("more\n"), True),
        "a tracked file that is written to": (lambda: tracked.open("a").write("more\n"), True),
        "a file outside of the folder": (lambda: (repo / "other.txt").write_text("other\n"), True),
        "a file that becomes tracked": (lambda: git(repo, "add", str(new)), False),
        "and untracked again": (lambda: git(repo, "reset", "-q", "--", str(new)), False),
        "a file that is gone": (deep.unlink, False),
        "one that another takes the place of": (lambda: (deep.parent / "more.md").replace(new), False),
        "a commit, which writes the index": (lambda: git(repo, "commit", "-qam", "a commit"), False),
    }
    for name, (change, was_known) in steps.items():
        change()
        assert asked(repository) == (was_known, by_git(repository)), name
        assert asked(repository) == (True, by_git(repository)), name


def test_gitignore_outside_of_the_folder_decides_which_names_are_ignored(repo: Path) -> None:
    repository = open_repository(repo)
    (repo / ".memory/learnings").mkdir(exist_ok=True)
    (repo / ".memory/learnings/new.tmp").write_text("new\n", encoding="utf-8")
    asked(repository)
    assert StatusProcess(repository, ".memory").differing(ignored=False) == [".memory/learnings/new.tmp"]
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("*.tmp\n", encoding="utf-8")
    assert asked(repository) == (True, [".memory/learnings/new.tmp"])
    assert StatusProcess(repository, ".memory").differing(ignored=False) == []


@pytest.mark.parametrize("damage", [b"", b"1:2:3:4", b"1:2:3:4\0\0\0\0", b"\0\0\0\0nothing"])
def test_damaged_file_of_untracked_names_is_ignored(repo: Path, damage: bytes) -> None:
    repository = open_repository(repo)
    asked(repository)
    file = UntrackedNames(repository, ".memory").file
    before = file.read_bytes()
    file.write_bytes(damage)
    assert asked(repository) == (False, [])
    assert file.read_bytes() == before


def test_names_are_stored_only_two_seconds_after_a_folders_last_change(repo: Path) -> None:
    file = repo / ".memory/new.md"
    file.write_text("new\n", encoding="utf-8")
    changed = max(one.stat().st_ctime_ns for one in (file.parent, repo / ".git/index"))
    names = UntrackedNames(open_repository(repo), ".memory")
    names.keep([b"? .memory/new.md"], changed + 1_000_000_000)
    assert names.recall() is None
    names.keep([b"? .memory/new.md"], changed + 3_000_000_000)
    assert names.recall() == [b"? .memory/new.md"]


def test_small_index_writes_no_cache_of_untracked_names(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "_LARGE_INDEX", 1_000_000)
    repository = open_repository(repo)
    assert [asked(repository), asked(repository)] == [(False, []), (False, [])]
    assert not UntrackedNames(repository, ".memory").file.exists()


@pytest.mark.parametrize("lines", ["[memctl]\n\thookCommits = none\n", "[include]\n\tpath = ../more\n"])
def test_status_process_also_returns_memctls_settings(repo: Path, lines: str) -> None:
    (repo / "more").write_text("[memctl]\n\thookCommits = none\n")
    (repo / ".git" / "config").open("a").write(lines)
    repository = open_repository(repo)
    assert StatusProcess(repository, ".memory", settings=True).settings() == {"memctl.hookcommits": "none"}
    assert StatusProcess(repository, ".memory").settings() is None


def test_settings_of_a_git_started_in_another_repository_are_ignored(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    git(tmp_path / "other", "config", "memctl.commits", "later")
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ngit -C '{tmp_path}/other' status >&2\nexit 1\n")
    monitor.chmod(0o755)
    git(repo, "config", "core.fsmonitor", str(monitor))
    assert StatusProcess(open_repository(repo), ".memory", settings=True).settings() == {}
    git(repo, "config", "memctl.commits", "each")
    assert StatusProcess(open_repository(repo), ".memory", settings=True).settings() == {"memctl.commits": "each"}


def test_setting_without_a_value_is_read_by_another_git_command(repo: Path) -> None:
    (repo / ".git" / "config").open("a").write("[memctl]\n\tcommits\n")
    process = StatusProcess(open_repository(repo), ".memory", settings=True)
    assert process.commit() == git(repo, "rev-parse", "HEAD").strip()  # Git 2.39 ends by a signal
    assert process.settings() in (None, {"memctl.commits": ""})


def test_trace_target_of_the_user_is_not_changed(repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(tmp_path / "events"))
    assert StatusProcess(open_repository(repo), ".memory", settings=True).settings() is None
    assert (tmp_path / "events").stat().st_size
