"""Where the project is, and what the environment says of it: GIT_DIR, submodules, hubs, hooks, dates, encodings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memctl.git import locks
from tests.conftest import Memctl, commits, git
from tests.write.test_mishaps import hook


@pytest.fixture
def dotfiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose files are in a Git directory elsewhere, as with yadm, and the variables that lead to it."""
    home = tmp_path / "home"
    (home / "sub").mkdir(parents=True)
    (home / ".bashrc").write_text("x\n")
    git(tmp_path, "init", "-q", "--bare", "dot.git")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "dot.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(home))
    git(home, "add", ".")
    git(home, "commit", "-qm", "start")
    return home


def test_git_dir_and_its_worktree_are_followed(dotfiles: Path, memctl: Memctl) -> None:
    memctl("init", where=dotfiles)
    made = memctl("decide", "Use zsh", "--rationale", "r", where=dotfiles / "sub")
    assert made.err == ""
    memctl("edit", made.id, "--add", "tags=x", where=dotfiles)
    assert made.id in memctl("list", "--at", "HEAD", where=dotfiles).out
    assert commits(dotfiles) == 4
    assert git(dotfiles, "status", "--porcelain") == ""


def test_worktree_in_the_settings_of_git_dir_is_followed(
    dotfiles: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_WORK_TREE")
    assert "GIT_WORK_TREE" in memctl("init", where=dotfiles, code=1).err
    git(dotfiles.parent, "config", "core.bare", "false")
    git(dotfiles.parent, "config", "other.worktree", "/elsewhere")
    assert "GIT_WORK_TREE" in memctl("init", where=dotfiles, code=1).err
    git(dotfiles.parent, "config", "core.worktree", str(dotfiles))
    memctl("init", where=dotfiles)
    assert memctl("learn", "Use zsh", "--lesson", "x", where=dotfiles).err == ""


def test_git_dir_of_another_place_is_named(dotfiles: Path, memctl: Memctl, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    said = memctl("list", where=elsewhere, code=1).err
    assert f"not in a worktree of the Git repository that GIT_DIR names, {tmp_path}/dot.git" in said
    assert "git init" not in said


def test_git_dir_is_not_followed_where_a_repository_is(
    repo: Path, memctl: Memctl, dotfiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memctl("learn", "Here", "--lesson", "x").err == ""
    assert commits(dotfiles) == 1
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_WORK_TREE")
    assert git(repo, "log", "-1", "--format=%s").startswith("docs(memory)")


@pytest.mark.parametrize("kind", ["submodule", "clone inside"])
def test_memory_of_the_repository_around_is_named(repo: Path, memctl: Memctl, tmp_path: Path, kind: str) -> None:
    git(tmp_path, "init", "-q", "lib")
    git(tmp_path / "lib", "commit", "-qm", "lib", "--allow-empty")
    if kind == "submodule":
        git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "lib"), "vendor/lib")
    else:
        git(tmp_path, "clone", "-q", "lib", str(repo / "vendor" / "lib"))
    said = memctl("list", where=repo / "vendor" / "lib", code=1).err
    assert f"inside of {repo}, which has a memory: `memctl -C {repo} …`" in said


def test_submodule_with_a_memory_of_its_own_uses_that(repo: Path, memctl: Memctl) -> None:
    git(repo, "init", "-q", "lib")
    memctl("init", where=repo / "lib")
    memctl("decide", "Inner", where=repo / "lib")
    assert "Inner" in memctl("list", where=repo / "lib").out
    assert "Inner" not in memctl("list").out


@pytest.mark.parametrize("args", [("list",), ("init",), ("learn", "x")])
def test_bare_hub_names_its_worktrees(memctl: Memctl, repo: Path, tmp_path: Path, args: tuple[str, ...]) -> None:
    (hub := tmp_path / "hub").mkdir()
    git(hub, "clone", "-q", "--bare", str(repo), ".bare")
    (hub / ".git").write_text("gitdir: ./.bare\n")
    git(hub, "worktree", "add", "-q", "main")
    said = memctl(*args, where=hub, code=1).err
    assert f"the Git repository of {hub} is bare" in said
    assert f"run memctl in one of its worktrees: {hub}/main" in said
    git(hub, "config", "memctl.trusted", "true")
    assert memctl("learn", "In a worktree", "--lesson", "x", where=hub / "main").err == ""


@pytest.mark.parametrize("args", [("list",), ("learn", "x"), ("init",)])
def test_memory_that_is_a_submodule_is_refused(repo: Path, memctl: Memctl, args: tuple[str, ...]) -> None:
    git(repo / ".memory", "init", "-q")
    before = git(repo, "status", "--porcelain")
    assert f"{repo}/.memory is a Git repository of its own" in memctl(*args, code=1).err
    assert git(repo, "status", "--porcelain") == before


@pytest.mark.parametrize("role", ["AUTHOR", "COMMITTER"])
@pytest.mark.parametrize("date", ["garbage", "1970-01-01"])
def test_date_that_git_can_not_read_is_named(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, role: str, date: str
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")
    monkeypatch.setenv(f"GIT_{role}_DATE", date)
    said = memctl("decide", "Dated").err
    assert f"Git can't read the date in GIT_{role}_DATE, {date!r}" in said
    assert "who you are" not in said
    monkeypatch.delenv(f"GIT_{role}_DATE")
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("encoding", ["latin1", "cp932", "utf-16"])
def test_names_and_titles_are_read_whatever_encoding_the_user_reads_logs_in(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("MEMCTL_AGENT", "Zoë Müller")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Zoë Müller")
    made = memctl("decide", "Größe prüfen", "--code", "app.py")
    git(repo, "config", "i18n.logOutputEncoding", encoding)
    for args in (("log",), ("log", made.id), ("why", "app.py:1"), ("rehydrate",)):
        out = memctl(*args).out
        assert "Größe prüfen" in out or args[0] == "why"
        assert "\\x" not in out
    assert "Zoë Müller" in memctl("log", made.id).out


CALL = "cd {place} && {python} -m memctl{options} learn 'From a hook' --lesson x >{log} 2>&1"


@pytest.mark.parametrize("way", ["cd", "-C"])
@pytest.mark.parametrize("maker", ["git commit", "memctl"])
def test_hook_of_another_repository_may_write(
    repo: Path, memctl: Memctl, tmp_path: Path, maker: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "other")
    memctl("init", where=tmp_path / "other")
    place, options = (tmp_path / "other", "") if way == "cd" else (".", f" -C {tmp_path / 'other'}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    hook(repo, "pre-commit", CALL.format(place=place, python=sys.executable, options=options, log=tmp_path / "log"))
    if maker == "memctl":
        memctl("learn", "Mine", "--lesson", "x")
    else:
        git(repo, "commit", "-qm", "mine", "--allow-empty")
    assert "pending" not in (tmp_path / "log").read_text()
    assert git(tmp_path / "other", "status", "--porcelain") == ""
    hook(repo, "pre-commit", CALL.format(place=".", python=sys.executable, options="", log=tmp_path / "log"))
    git(repo, "commit", "-qm", "mine", "--allow-empty")
    assert "pending" in (tmp_path / "log").read_text()


def test_deletion_of_a_lock_is_not_advised_while_git_runs(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {tmp_path}/open\nwhile [ -e {tmp_path}/open ]; do sleep .05; done\n")
    editor.chmod(0o755)
    (repo / "app.py").write_text("# more\n")
    env = {**os.environ, "GIT_EDITOR": str(editor)}
    user = subprocess.Popen(["sh", "-c", "git commit -qa -m mine -e; exit $?"], cwd=repo, env=env)
    while not (tmp_path / "open").exists():
        time.sleep(0.02)
    hint = locks.describe(repo / ".git" / "index.lock")[1]
    assert "rm" not in hint.split()
    assert "git is still running here (process " in hint
    assert "rm '" not in memctl("status").out
    (tmp_path / "open").unlink()
    assert user.wait() == 0
    (repo / ".git" / "index.lock").touch()
    assert f"rm '{repo}/.git/index.lock'" in locks.describe(repo / ".git" / "index.lock")[1]


def test_staged_version_that_an_edit_replaces_is_named(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Staged", "--lesson", "one")
    file = repo / made.out.split()[1]
    before = file.read_text()
    file.write_text(before.replace("one", "staged"))
    git(repo, "add", str(file))
    assert "staged version" not in memctl("edit", made.id, "--add", "tags=x").err
    text = file.read_text()
    file.write_text(text.replace("staged", "lost"))
    git(repo, "add", str(file))
    blob = git(repo, "ls-files", "-s", str(file)).split()[1]
    file.write_text(text)
    said = memctl("edit", made.id, "--add", "tags=y").err
    assert f"the staged version of {made.out.split()[1]}, which differed from the file, is replaced" in said
    assert f"`git cat-file blob {blob[:10]}`" in said
    assert "lost" in git(repo, "cat-file", "blob", blob[:10])
