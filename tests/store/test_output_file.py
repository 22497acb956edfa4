"""`--out FILE`: the text goes into the file that the user named, and to no place that a repository chose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.store import output_file
from tests.conftest import Memctl, Once, commits, git

HANDOFF = ("handoff", "--to", "elena", "--reason", "Done here", "--success", "Tests pass", "--immediate", "Run them")
HANDOFF = (*HANDOFF, "--summary", "It works", "--task", "Ship")


@pytest.fixture
def victim(repo: Path, memctl: Memctl, once: Once) -> Path:
    """A file beside the repository, to which links in it lead that Git tracks."""
    file = repo.parent / "home" / ".bashrc"

    def make() -> None:
        file.parent.mkdir()
        file.write_text("untouched\n")
        (repo / "out.md").symlink_to("../home/.bashrc")
        (repo / "folder").symlink_to("../home")
        (repo / "inside.md").symlink_to("app.py")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "links")
        memctl("decide", "Curl", "--rationale", "curl example.org | sh")

    once(make)
    return file


@pytest.mark.parametrize(
    "command",
    [
        ("rehydrate", "--out"),
        ("prompt", "system", "--out"),
        ("prompt", "user", "curl", "--out"),
        (*HANDOFF, "--out"),
        ("export", "--all", "--out"),
    ],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize("name", ["out.md", "folder/.bashrc", "folder/../home/.bashrc"])
def test_link_out_of_the_worktree_is_refused(
    repo: Path, memctl: Memctl, victim: Path, command: tuple[str, ...], name: str
) -> None:
    before = commits(repo)
    result = memctl(*command, str(repo / name), code=1)
    assert "the symbolic link" in result.err
    assert f"leads out of the worktree, to {victim if name == 'out.md' else victim.parent}" in result.err
    assert "hint: give the path of the file itself" in result.err
    assert victim.read_text() == "untouched\n"
    assert commits(repo) == before
    assert not list(victim.parent.glob(".memctl-*"))


def test_tracked_link_within_the_worktree_is_refused(repo: Path, memctl: Memctl, victim: Path) -> None:
    assert "is tracked by Git, and leads to" in memctl("rehydrate", "--out", str(repo / "inside.md"), code=1).err
    assert (repo / "app.py").read_text() == "print('shop')\n"


@pytest.mark.parametrize("command", ["evict", "compact"])
def test_window_messages_are_not_written_through_a_link(
    repo: Path, memctl: Memctl, victim: Path, tmp_path: Path, command: str
) -> None:
    messages = tmp_path / "messages.json"
    messages.write_text('[{"role": "user", "content": "Sell cards"}, {"role": "assistant", "content": "Done"}]')
    result = memctl("window", command, str(messages), "--target", "1000", "--output", str(repo / "out.md"), code=1)
    assert "leads out of the worktree" in result.err
    assert victim.read_text() == "untouched\n"


def test_untracked_link_of_the_user_is_followed(repo: Path, tmp_path: Path, victim: Path) -> None:
    (repo / "mine.md").symlink_to("notes.md")  # in no commit, and it stays within
    output_file.write(repo / "mine.md", "text")
    assert (repo / "notes.md").read_text() == "text"
    assert (repo / "mine.md").is_symlink()
    (tmp_path / "outside").symlink_to(victim.parent)  # in no worktree
    output_file.write(tmp_path / "outside" / "new.md", "text")
    assert (victim.parent / "new.md").read_text() == "text"


def test_circular_links_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(MemctlError, match="symbolic links"):
        output_file.write(tmp_path / "a", "text")


def test_text_is_written_into_a_pipe(repo: Path) -> None:
    command = [sys.executable, "-m", "memctl", "-C", str(repo), "rehydrate", "--out", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Memory of shop")


def test_file_in_gits_folder_is_refused(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "../second")
    git(repo, "clone", "-q", "--bare", ".", "../bare")
    git(repo.parent / "bare", "worktree", "add", "-q", "inside", "-b", "inside")
    (repo / "to-git").symlink_to(".git")
    config = (repo / ".git" / "config").read_bytes()
    for name in (".git/config", ".git/new.md", ".git/hooks/post-commit", "to-git/config"):
        assert "is a folder of Git's own files" in memctl("rehydrate", "--out", str(repo / name), code=1).err
    assert (repo / ".git" / "config").read_bytes() == config
    assert not (repo / ".git" / "new.md").exists()
    for name in ("second/.git", "bare/config", "bare/worktrees/inside/HEAD"):
        with pytest.raises(MemctlError, match="is a folder of Git's own files"):
            output_file.write(repo.parent / name, "text")
    for name in ("second/out.md", "bare/inside/out.md", "shop/.github.md"):
        output_file.write(repo.parent / name, "text")
        assert (repo.parent / name).read_text() == "text"
