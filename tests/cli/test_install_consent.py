"""What an installation says of what hooks commit, and what it settles for the clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, git

pytestmark = pytest.mark.terminal  # a person trusts a clone by a write or an installation

KEY = "remote.origin.fetch"
OURS = "+refs/memctl/*:refs/memctl/remotes/origin/*"


def setting(folder: Path, name: str) -> str:
    return git(folder, "config", "--local", "--get", name, check=False).strip()


def refspecs(folder: Path) -> list[str]:
    return git(folder, "config", "--get-all", KEY, check=False).split()


@pytest.fixture
def clone(repo: Path, tmp_path: Path) -> Path:
    """A clone of ones own, with a branch that follows the remote's."""
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), str(tmp_path / "clone"))
    return tmp_path / "clone"


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_install_on_a_shared_branch_keeps_hook_commits_off_it(clone: Path, memctl: Memctl, host: str) -> None:
    said = memctl("install", host, "--yes", where=clone).err
    assert said.count("these hooks commit a summary and checkpoints of each session") == 1
    assert "to refs/memctl/sessions, not to your branch" in said
    assert setting(clone, "memctl.hookCommits") == "records"
    assert setting(clone, "memctl.trusted") == "true"


def test_install_in_a_new_memory_keeps_hook_commits_off_the_branch(repo: Path, memctl: Memctl) -> None:
    assert "to refs/memctl/sessions, not to your branch" in memctl("install", "claude-code", "--yes").err
    assert setting(repo, "memctl.hookCommits") == "records"


@pytest.mark.parametrize(
    ("value", "said"), [("none", "leave a summary"), ("false", "leave a summary"), ("all", "to your branch")]
)
def test_an_existing_setting_stays_and_is_printed(clone: Path, memctl: Memctl, value: str, said: str) -> None:
    git(clone, "config", "memctl.hookCommits", value)
    assert said in memctl("install", "claude-code", "--yes", where=clone).err
    assert setting(clone, "memctl.hookCommits") == value


def test_user_install_leaves_the_settings_of_a_clone_unset(clone: Path, memctl: Memctl) -> None:
    assert "in clones that you trust" in memctl("install", "claude-code", "--user", "--yes", where=clone).err
    assert setting(clone, "memctl.hookCommits") == ""
    assert setting(clone, "memctl.trusted") == ""


def test_install_without_a_yes_changes_no_setting(clone: Path, memctl: Memctl) -> None:
    before = (clone / ".git" / "config").read_text()
    assert "these hooks commit" in memctl("install", "claude-code", where=clone, stdin="n\n", code=1).err
    memctl("install", "claude-code", "--dry-run", where=clone)
    memctl("install", "git", "--dry-run", where=clone)
    assert (clone / ".git" / "config").read_text() == before


def test_install_git_leaves_the_hook_commits_setting_unset(clone: Path, memctl: Memctl) -> None:
    memctl("install", "git", where=clone)
    assert setting(clone, "memctl.hookCommits") == ""


@pytest.mark.parametrize("what", [["git"], ["claude-code", "--yes"]], ids=" ".join)
def test_plain_fetch_brings_the_memctl_refs_after_an_installation(
    clone: Path, repo: Path, memctl: Memctl, tmp_path: Path, what: list[str]
) -> None:
    before = refspecs(clone)
    memctl("install", *what, where=clone)
    memctl("install", *what, where=clone)
    assert refspecs(clone) == [*before, OURS]
    bare = tmp_path / "bare.git"
    git(bare, "update-ref", "refs/memctl/sessions", "HEAD")
    git(repo, "push", "-q", str(bare), "HEAD:refs/heads/other")
    git(clone, "fetch", "-q", "--prune")
    assert "refs/memctl/remotes/origin/sessions" in git(clone, "for-each-ref")
    assert "refs/remotes/origin/other" in git(clone, "for-each-ref")
    git(bare, "update-ref", "-d", "refs/memctl/sessions")
    git(clone, "fetch", "-q", "--prune")
    assert "refs/memctl" not in git(clone, "for-each-ref")
    memctl("install", what[0], "--uninstall", *what[1:], where=clone)
    assert refspecs(clone) == before


def test_dry_run_shows_the_fetch_setting(clone: Path, memctl: Memctl) -> None:
    assert f"git config --add {KEY} {OURS}" in memctl("install", "git", "--dry-run", where=clone).out
    memctl("install", "git", where=clone)
    shown = memctl("install", "git", "--uninstall", "--dry-run", where=clone).out
    assert f"git config --unset {KEY} {OURS}" in shown
    assert OURS in refspecs(clone)


def test_install_without_a_remote_sets_no_fetch(repo: Path, memctl: Memctl) -> None:
    assert "fetch" not in memctl("install", "git").out
