"""The user's index and Git beside memctl's commits: nothing of ours in it too early, and no lock of ours for long."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memctl.git.repository import INDEX_NOTE, open_repository
from tests.conftest import Memctl, changed_in, commits, git, process, slow
from tests.write import killed
from tests.write.test_mishaps import hook

WRAPPER = """#!/bin/sh
{git} "$@"
code=$?
for word in "$@"; do case "$word" in {words}) sleep {seconds} ;; esac; done
exit $code
"""


def slow_git(folder: Path, words: str, seconds: float) -> dict[str, str]:
    """A Git that sleeps after some of its commands, as on a slow disk: the variables for a process that uses it."""
    real = shutil.which("git")
    folder.mkdir()
    (folder / "git").write_text(WRAPPER.format(git=real, words=words, seconds=seconds))
    (folder / "git").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def shape(repo: Path, form: str) -> Path:
    """A repository of another form: with a hook, a split index, or a second worktree, which is returned."""
    if form == "hook":
        hook(repo, "pre-commit", "exit 0")
    elif form == "split index":
        git(repo, "update-index", "--split-index")
    elif form == "worktree":
        git(repo, "worktree", "add", "-q", "-b", "side", str(repo.parent / "other"))
        return repo.parent / "other"
    return repo


def swallowed(repo: Path) -> list[str]:
    """The files of the memory in commits that memctl did not make."""
    out = git(repo, "log", "--format=@%s", "--name-only", "-z", "--diff-filter=ADM")
    found, is_users = [], False
    for word in out.replace("\0", "\n").split("\n"):
        if word.startswith("@"):
            is_users = word.startswith("@user")
        elif is_users and word.startswith(".memory/"):
            found.append(word)
    return found


@pytest.mark.parametrize("form", ["plain", "hook", "split index", "worktree"])
def test_nothing_is_staged_while_a_slow_git_prepares_a_commit(
    repo: Path, memctl: Memctl, tmp_path: Path, form: str
) -> None:
    top = shape(repo, form)
    (top / "mine.txt").write_text("mine\n")
    writer = process(top, "learn", "Slow", "--lesson", "x", env=slow_git(tmp_path / "bin", "add|commit", 0.6))
    seen, lock = set(), open_repository(top).git_dir / "index.lock"
    while writer.poll() is None:
        staged = git(top, "diff", "--cached", "--name-only")
        seen.add(staged and not lock.exists() and git(top, "diff", "--cached", "--name-only"))
        time.sleep(0.02)
    assert writer.wait() == 0
    assert seen <= {"", False}
    assert git(top, "status", "--porcelain") == "?? mine.txt\n"
    assert changed_in(top) == [git(top, "ls-files", ".memory/learnings").strip()]


@pytest.mark.parametrize("lane", ["plain", "hook"])
def test_users_commit_beside_a_slow_write_has_none_of_its_files(
    repo: Path, memctl: Memctl, tmp_path: Path, lane: str
) -> None:
    shape(repo, lane)
    writer = process(repo, "learn", "Slow", "--lesson", "x", env=slow_git(tmp_path / "bin", "add|update-index", 0.8))
    while not list((repo / ".memory").rglob("LRN-*")):
        time.sleep(0.01)
    (repo / "mine.txt").write_text("mine\n")
    git(repo, "add", "mine.txt")
    git(repo, "commit", "-qm", "user's")
    assert changed_in(repo) == ["mine.txt"]
    git(repo, "reset", "-q", "--hard")
    _, said = writer.communicate()
    assert (writer.returncode, "pending" in said) == (0, False)
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert git(repo, "log", "-1", "--format=%s").startswith("docs(memory): learn")
    assert swallowed(repo) == []


@pytest.mark.parametrize("command", ["git add -u", "git add -A"])
def test_files_that_a_hook_adds_are_named_and_stay_as_they_are(repo: Path, memctl: Memctl, command: str) -> None:
    hook = repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)
    (repo / "app.py").write_text("wip = 1\n")
    (repo / "new.py").write_text("new = 1\n")
    added = ["app.py", "new.py"] if command.endswith("-A") else ["app.py"]
    said = memctl("learn", "New", "--lesson", "x").err
    assert f"note: a Git hook added other files to the commit: {', '.join(added)}\n" in said
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert git(repo, "status", "--porcelain") == ("" if len(added) == 2 else "?? new.py\n")


@pytest.mark.parametrize("command", ["echo >> .memory/README.md; git add -u", "git add -A"])
def test_what_a_hook_changes_in_a_first_commit_stays(tmp_path: Path, memctl: Memctl, command: str) -> None:
    repo = tmp_path / "new"
    repo.mkdir()
    git(repo, "init", "-q")
    hook(repo, "pre-commit", command)
    (repo / "app.py").write_text("mine = 1\n")
    memctl("init", where=repo)
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert git(repo, "status", "--porcelain") == ("" if command == "git add -A" else "?? app.py\n")


@pytest.mark.parametrize("command", ["add", "commit"])
def test_users_git_does_not_wait_for_a_pre_commit_hook_of_ours(repo: Path, memctl: Memctl, command: str) -> None:
    noise = "head -c 300000 /dev/zero | tr '\\0' x >&2"
    hook(repo, "pre-commit", f'[ -n "$MEMCTL_COMMITTING" ] || exit 0\n{noise}\ntouch "$PWD/../asked"\nsleep 1')
    (repo / "app.py").write_text("mine = 1\n")
    writer = process(repo, "learn", "New", "--lesson", "x")
    while not (repo.parent / "asked").exists():
        time.sleep(0.01)
    git(repo, "add", "app.py")
    if command == "commit":
        git(repo, "commit", "-qm", "user's")
    assert writer.poll() is None
    assert writer.wait() == 0
    assert git(repo, "status", "--porcelain", "--untracked-files=no") == ("" if command == "commit" else "M  app.py\n")
    assert swallowed(repo) == []
    assert changed_in(repo) == [git(repo, "ls-files", ".memory/learnings").strip()]


def test_hook_that_empties_the_message_is_named(repo: Path, memctl: Memctl) -> None:
    hook = repo / ".git/hooks/commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho > "$1"\n')
    hook.chmod(0o755)
    said = memctl("learn", "New", "--lesson", "x").err
    assert "commit pending: git or a hook (commit-msg) refused the commit" in said
    hook.unlink()
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("seconds", [pytest.param(2, id="short"), *slow(20)])
@pytest.mark.parametrize("lane", ["plain", "hook"])
def test_users_commits_in_a_loop_beside_writers(
    repo: Path, memctl: Memctl, tmp_path: Path, lane: str, seconds: float
) -> None:
    shape(repo, lane)
    env = slow_git(tmp_path / "bin", "add|update-index", 0.3)
    end, writers, made = time.monotonic() + seconds, [], 0
    while time.monotonic() < end:
        while len(writers) < 3:
            writers.append(process(repo, "learn", f"Lesson {made}", "--lesson", "x", env=env))
            made += 1
        (repo / "mine.txt").write_text(str(time.time()))
        git(repo, "add", "mine.txt", check=False)
        git(repo, "commit", "-qm", "user's", check=False)
        for writer in [writer for writer in writers if writer.poll() is not None]:
            said = writer.communicate()[1]
            waits = "waiting at most", "commit pending: another process committed at the same moment\n"
            assert not said or said.startswith(waits)
            writers.remove(writer)
    for writer in writers:
        writer.communicate()
    memctl("commit")
    assert swallowed(repo) == []
    assert git(repo, "diff", "--cached", "--name-only") in ("", "mine.txt\n")
    assert len(memctl("list", "--json", "--limit", "0").data["records"]) == made
    assert not git(repo, "status", "--porcelain", ".memory")


CHANGES = {
    "learn": ("learn", "New", "--lesson", "x"),
    "edit": ("edit", "LRN-2025-11-04-001", "--add", "tags=x"),
    "delete": ("delete", "LRN-2025-11-04-001", "--reason", "r"),
}


@pytest.mark.parametrize("stride", [pytest.param(13, id="some"), *slow(1)])
@pytest.mark.parametrize("form", ["plain", "hook", "split index", "worktree"])
@pytest.mark.parametrize("change", CHANGES)
def test_users_git_works_after_the_next_command_whenever_memctl_was_killed(
    repo: Path, memctl: Memctl, tmp_path: Path, form: str, change: str, stride: int
) -> None:
    memctl("learn", "Old", "--lesson", "x")
    shape(repo, form)
    place, step, code = tmp_path / "place", 1 - stride, -signal.SIGKILL
    while code == -signal.SIGKILL:
        step += stride
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(repo.parent, place, symlinks=True)
        victim = place / repo.name
        if form == "worktree":
            own, victim = victim / ".git" / "worktrees" / "other", place / "other"
            (own / "gitdir").write_text(f"{victim}/.git\n")
            (victim / ".git").write_text(f"gitdir: {own}\n")
        code = killed.run(step, victim, *CHANGES[change]).returncode
        check_after_a_kill(memctl, victim)
    assert code == 0


def check_after_a_kill(memctl: Memctl, victim: Path) -> None:
    """The user's Git commits what the user staged alone, before the next command of memctl or right after it."""
    before = commits(victim)
    (victim / "mine.txt").write_text(f"mine, before {before}\n")
    with suppress(AssertionError):  # it may be locked
        git(victim, "add", "mine.txt")
        git(victim, "commit", "-qnm", "user's first")
        assert changed_in(victim) == ["mine.txt"]
    memctl("list", where=victim)
    assert not list((victim / open_repository(victim).git_dir).glob("index.lock"))
    assert not git(victim, "diff", "--cached", "--name-only", "--", ".memory")
    (victim / "mine.txt").write_text(f"more, before {before}\n")
    git(victim, "add", "mine.txt")
    git(victim, "commit", "-qnm", "user's second")
    assert changed_in(victim) == ["mine.txt"]
    memctl("commit", where=victim)
    assert not git(victim, "status", "--porcelain")
    assert commits(victim) - before in (1, 2, 3)
    assert swallowed(victim) == []
    ours = [line for line in git(victim, "log", "--format=%s").splitlines() if line.startswith("docs(memory)")]
    assert len(ours) == len(set(ours)), "nothing is committed twice"


KILLS = int(os.environ.get("MEMCTL_TEST_KILLS", "40"))  # of which 3 in 10 leave a journal or a lock


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_counted_kills_leave_the_old_state_or_the_new(repo: Path, memctl: Memctl, tmp_path: Path, seed: int) -> None:
    import random

    random_ = random.Random(seed)
    memctl("learn", "Old", "--lesson", "x")
    starts = [repo.parent]
    for form in ("hook", "split index"):
        starts.append(tmp_path / form)
        shutil.copytree(repo.parent, starts[-1], symlinks=True)
        shape(starts[-1] / repo.name, form)
    kills = within = tried = 0
    while kills < KILLS // 2 or within < KILLS * 3 // 20:
        tried += 1
        place, change = tmp_path / "place", random_.choice(list(CHANGES))
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(random_.choice(starts), place, symlinks=True)
        victim = place / repo.name
        if killed.run(random_.randint(1, 45), victim, *CHANGES[change]).returncode != -signal.SIGKILL:
            continue
        kills += 1
        private = open_repository(victim).private
        is_within = (private / INDEX_NOTE).exists() or any((private / "pending").rglob("*.json"))
        within += is_within
        check_after_a_kill(memctl, victim)
        found = {(one["title"], "x" in one["tags"]) for one in memctl("list", "--json", where=victim).data["records"]}
        new = {"learn": {("Old", False), ("New", False)}, "edit": {("Old", True)}, "delete": set[tuple[str, bool]]()}
        assert found in ({("Old", False)}, new[change])
        assert is_within or found == {("Old", False)} or commits(victim) > 2
        print(f"{tried} commands, {kills} kills, {within} of them between journal, index and branch", flush=True)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["plain", "hook"])
def test_killed_at_random_moments_beside_a_slow_git(repo: Path, memctl: Memctl, tmp_path: Path, form: str) -> None:
    import random

    shape(repo, form)
    random_ = random.Random(43)
    env = slow_git(tmp_path / "bin", "add|commit", 0.1)
    for number in range(25):
        writer = process(repo, "learn", f"Lesson {number}", "--lesson", "x", env=env, start_new_session=True)
        time.sleep(random_.uniform(0.1, 0.6))
        with suppress(ProcessLookupError):
            (os.killpg if number % 2 else os.kill)(writer.pid, signal.SIGKILL)
        writer.communicate()
        check_after_a_kill(memctl, repo)
