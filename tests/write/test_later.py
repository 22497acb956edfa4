"""`commits: later`: no commit of memctl's on the branch, and each change is one on refs/memctl/changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.git.message import parse
from tests.conftest import Memctl, commits, git, process, strides
from tests.write.test_transaction import run_until, steps_of, tree

REF = "refs/memctl/changes"
LATE = {"GIT_AUTHOR_DATE": "2025-11-05T08:00:00Z", "GIT_COMMITTER_DATE": "2025-11-05T08:00:00Z"}


@pytest.fixture
def later(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with `commits: later`, in which the user commits a day after memctl writes."""
    git(repo, "config", "memctl.commits", "later")
    for name, value in LATE.items():
        monkeypatch.setenv(name, value)
    return repo


def subjects(memctl: Memctl, *args: str, where: Path | None = None) -> list[str]:
    """The subjects that `memctl log` has, without the prefix, oldest first; "?" behind those of no branch yet."""
    found = memctl("log", "--limit", "0", "--json", *args, where=where).data["commits"]
    return [
        one["subject"].removeprefix("docs(memory): ") + ("" if one["is_committed"] else " ?") for one in reversed(found)
    ]


def pending(repo: Path) -> list[str]:
    """The files of the journal."""
    folder = repo / ".git" / "memctl" / ".memory" / "pending"
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def staged(repo: Path) -> str:
    return git(repo, "diff", "--cached", "--name-only")


def waiting(memctl: Memctl, where: Path | None = None) -> int:
    data = memctl("status", "--json", where=where).data
    assert data["pending"] == data["uncommitted"] == []
    return int(data["waiting"])


def test_a_change_touches_neither_head_nor_index_and_is_a_commit_of_the_ref(later: Path, memctl: Memctl) -> None:
    (later / "app.py").write_text("staged\n")
    git(later, "add", "app.py")
    before = git(later, "rev-parse", "HEAD"), git(later, "ls-files", "-s")
    made = memctl("decide", "Sign", "--rationale", "Keys are public.", "--reason", "Asked by Ann")
    memctl("edit", made.id, "--add", "tags=x")
    lost = memctl("learn", "Made and gone").id
    memctl("delete", lost)
    assert (git(later, "rev-parse", "HEAD"), git(later, "ls-files", "-s")) == before
    assert git(later, "rev-list", "--first-parent", "--count", REF).strip() == "5"  # the start and four changes
    first = git(later, "rev-parse", f"{REF}~3").strip()
    assert git(later, "show", "--format=", "--name-status", first).split() == ["A", made.out.split()[1]]
    trailers = parse(git(later, "log", "-1", "--format=%B", first))
    assert (trailers.ops, trailers.ids, trailers.actor) == (("decide",), (made.id,), "claude")
    assert (trailers.reason, trailers.branch) == ("Asked by Ann", "main")
    assert memctl("show", made.id, "--at", first, "--json").data["records"][0]["tags"] == []
    assert "Made and gone" in memctl("restore", lost, "-n").out


def test_status_and_check_say_that_changes_wait_and_exit_with_0(later: Path, memctl: Memctl) -> None:
    memctl("decide", "Sign", "--rationale", "Keys are public.")
    memctl("learn", "Refunds take three days", "--lesson", "Bank holidays count.")
    for number, file in enumerate((later / ".git" / "memctl" / ".memory" / "pending").iterdir()):
        file.rename(file.with_name(f"{10**18 + number:020d}{file.name[20:]}"))  # for years
    assert waiting(memctl) == 2
    assert "2 changes not committed yet: your next commit may take " in memctl("status").out
    assert "pending" not in memctl("status").out
    assert "MEM513" not in memctl("check").out
    assert memctl("log").out.count("not committed yet, recorded on main") == 2


WAYS: dict[str, Callable[[Path], object]] = {
    "add": lambda repo: (git(repo, "add", ".memory", "app.py"), git(repo, "commit", "-qm", "code")),
    "amend": lambda repo: (
        git(repo, "commit", "-qm", "first", "app.py"), git(repo, "add", "-A"),
        git(repo, "commit", "-q", "--amend", "-m", "code"),
    ),
    "add -A": lambda repo: (git(repo, "add", "-A"), git(repo, "commit", "-qm", "code")),
    "fixup": lambda repo: (
        git(repo, "commit", "-qm", "code", "app.py"), git(repo, "add", "-A"),
        git(repo, "commit", "-q", "--fixup", "HEAD"),
        git(repo, "-c", "sequence.editor=true", "rebase", "-qi", "--autosquash", "HEAD~2"),
    ),
    "cherry-pick": lambda repo: (
        git(repo, "switch", "-qc", "topic"), git(repo, "add", "-A"), git(repo, "commit", "-qm", "code"),
        git(repo, "switch", "-q", "main"), git(repo, "cherry-pick", "topic"),
    ),
    "memctl": lambda repo: git(repo, "commit", "-qm", "code", "app.py"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_done_once_a_commit_has_its_text(later: Path, memctl: Memctl, way: str) -> None:
    made = memctl("decide", "Sign", "--rationale", "Keys are public.").id
    memctl("edit", made, "--add", "tags=x")
    (later / "app.py").write_text("2\n")
    WAYS[way](later)
    if way == "memctl":
        assert memctl("commit").out.count("\n") == 1
    assert git(later, "status", "--porcelain") == ""
    assert waiting(memctl) == 0
    assert "?" not in "".join(subjects(memctl))
    assert memctl("check", "--strict").code == 0
    found = memctl("log", made, "--json").data["commits"]
    (own,) = [one for one in found if not one["recorded_on"]]
    assert own["deeds"] == [{"action": "created", "id": made, "reason": ""}]
    assert [one["ops"] for one in found if one["recorded_on"]] == [["edit"], ["decide"]]
    assert f"created {made}" in memctl("log", made).out
    memctl("learn", "Next")
    assert len(pending(later)) == 1


def test_commit_of_tracked_files_takes_edits_and_leaves_new_records(later: Path, memctl: Memctl) -> None:
    old = memctl("learn", "Old").id
    memctl("commit")
    memctl("edit", old, "--add", "tags=x")
    new = memctl("learn", "New").id
    (later / "app.py").write_text("2\n")
    git(later, "commit", "-qam", "code")
    assert waiting(memctl) == 1
    assert staged(later) == ""
    deeds = {old: "edited"}
    assert {deed["id"]: deed["action"] for deed in memctl("log", "--json").data["commits"][0]["deeds"]} == deeds
    git(later, "add", "-A")
    git(later, "commit", "-qm", "rest")
    assert waiting(memctl) == 0
    assert memctl("log", new, "--json").data["commits"][0]["subject"] == "rest"


def test_commit_of_one_file_leaves_the_others_unstaged(later: Path, memctl: Memctl) -> None:
    memctl("learn", "Rest")
    path = memctl("learn", "Chosen").out.split()[1]
    git(later, "add", path)
    git(later, "commit", "-qm", "chosen", "--", path)
    assert git(later, "show", "--format=", "--name-only", "HEAD").split() == [path]
    assert (waiting(memctl), staged(later)) == (1, "")


def test_part_of_a_record_is_committed_and_the_rest_waits(later: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Slow", "--description", "\n\n".join(f"Word {n}." for n in range(9)))
    path = made.out.split()[1]
    memctl("commit")
    file = later / path
    file.write_text(file.read_text() + "\nBy hand.\n")
    memctl("edit", made.id, "--add", "tags=x")
    answers = "y\n" + "n\n" * 8
    git(later, "add", "-p", path, stdin=answers)
    assert path in staged(later)
    memctl("check", "--staged")
    git(later, "commit", "-qm", "part")
    assert waiting(memctl) == 1
    assert staged(later) == ""
    git(later, "commit", "-qam", "rest")
    assert waiting(memctl) == 0


def test_refused_and_aborted_commits_change_nothing(later: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    memctl("learn", "Kept")
    git(later, "add", "-A")
    git(later, "-c", "core.editor=true", "commit", check=False)  # an empty message
    hook = later / ".git" / "hooks" / "commit-msg"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git(later, "commit", "-qm", "refused", check=False)
    hook.unlink()
    assert commits(later) == 2
    assert waiting(memctl) == 1
    git(later, "commit", "-qm", "at last")
    assert waiting(memctl) == 0


def test_revert_of_the_users_commit_needs_no_second_one(later: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Wrong").id
    git(later, "add", "-A")
    git(later, "commit", "-qm", "code")
    git(later, "revert", "--no-edit", "HEAD")
    assert waiting(memctl) == 0
    memctl("learn", "Next")
    assert len(pending(later)) == 1
    assert memctl("show", made, code=1).code == 1
    assert [deed["action"] for deed in memctl("log", made, "--json").data["commits"][0]["deeds"]] == ["deleted"]


def test_switch_takes_waiting_changes_along_or_is_refused(later: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Everywhere", "--lesson", "One.").id
    memctl("commit")
    git(later, "branch", "other")
    memctl("edit", made, "--add", "tags=main")
    memctl("learn", "Of the work at hand")
    git(later, "switch", "-q", "other")
    assert waiting(memctl) == 2
    memctl("commit")
    git(later, "switch", "-q", "main")
    assert waiting(memctl) == 0
    memctl("edit", made, "--add", "tags=again")
    git(later, "switch", "-q", "other", check=False)
    assert git(later, "branch", "--show-current").strip() == "main"
    assert waiting(memctl) == 1
    assert "?" in subjects(memctl)[-1]


def test_rebase_goes_on_beside_new_records_and_refuses_as_git_does(later: Path, memctl: Memctl) -> None:
    git(later, "switch", "-qc", "topic")
    (later / "app.py").write_text("2\n")
    git(later, "commit", "-qam", "code")
    old = memctl("learn", "Waits").id
    git(later, "add", "-A")
    git(later, "commit", "-qm", "record")
    memctl("learn", "New")
    git(later, "checkout", "-q", "--", ".memory/docs")
    git(later, "switch", "-q", "main")
    git(later, "commit", "-q", "--allow-empty", "-m", "upstream")
    git(later, "rebase", "-q", "main", "topic")
    assert waiting(memctl) == 1
    memctl("edit", old, "--add", "tags=x")
    before = tree(later)
    git(later, "rebase", "-q", "--autostash", "main~1")
    assert tree(later) == before
    assert (waiting(memctl), staged(later)) == (2, "")


def test_the_precommit_framework_stashes_and_restores_what_waits(later: Path, memctl: Memctl) -> None:
    pytest.importorskip("pre_commit", reason="the pre-commit framework is not installed")
    run = f"{sys.executable} -m memctl check --staged"
    hooks = f"[{{id: memctl, name: memctl, entry: {run}, language: system, pass_filenames: false, always_run: true}}]"
    (later / ".pre-commit-config.yaml").write_text(f"repos:\n- repo: local\n  hooks: {hooks}\n")
    git(later, "add", ".pre-commit-config.yaml")
    git(later, "commit", "-qm", "hooks")
    old = memctl("learn", "Old").id
    memctl("commit")
    subprocess.run([sys.executable, "-m", "pre_commit", "install"], cwd=later, check=True, capture_output=True)
    memctl("edit", old, "--add", "tags=x")
    path = memctl("learn", "New").out.split()[1]
    before = tree(later)
    git(later, "add", path)
    git(later, "commit", "-qm", "one of two")
    assert git(later, "show", "--format=", "--name-only").split() == [path]
    assert tree(later) == before
    assert (waiting(memctl), staged(later)) == (1, "")


TAKEN_BACK: dict[str, Callable[[Path], object]] = {
    "reset": lambda repo: (git(repo, "add", "-A"), git(repo, "reset", "-q", "--hard")),
    "clean": lambda repo: git(repo, "clean", "-fdxq"),
    "stash drop": lambda repo: (git(repo, "stash", "-qu"), git(repo, "stash", "drop", "-q")),
    "checkout": lambda repo: git(repo, "checkout", "-q", "--", "."),
}


@pytest.mark.parametrize("way", TAKEN_BACK)
def test_texts_that_git_took_away_come_back(later: Path, memctl: Memctl, way: str) -> None:
    kept = memctl("decide", "Kept", "--rationale", "First.").id
    memctl("commit")
    memctl("edit", kept, "--add", "tags=late")
    memctl("learn", "New", "--lesson", "One.")
    before = tree(later)
    TAKEN_BACK[way](later)
    assert tree(later) != before
    gone = len([one for one in memctl("status", "--json").data["pending"] if one["undone"]])
    assert gone == {"clean": 1, "checkout": 1}.get(way, 2)
    again = memctl("commit", "--again").out.splitlines()
    assert [line.partition(": ")[0] for line in again] == ["written again, not committed yet"] * gone
    assert tree(later) == before
    assert waiting(memctl) == 2
    memctl("commit")
    assert git(later, "status", "--porcelain") == ""


@pytest.mark.parametrize(("way", "is_kept"), [("add", True), ("rm", False)])
def test_a_file_that_one_side_deleted_is_committed_once_the_conflict_is_resolved(
    later: Path, memctl: Memctl, way: str, is_kept: bool
) -> None:
    old, other = (memctl("learn", title, "--lesson", "One.") for title in ("Old", "Other"))
    memctl("commit")
    memctl("edit", old.id, "--add", "tags=late")
    path = old.out.split()[1]
    git(later, "stash", "push", "-q")
    git(later, "rm", "-q", path)
    git(later, "commit", "-qm", "gone")
    git(later, "stash", "pop", check=False)
    assert git(later, "status", "--porcelain", "--", path).startswith("DU ")
    with (later / other.out.split()[1]).open("a") as file:
        file.write("\nMore.\n")
    head = git(later, "rev-parse", "HEAD")
    for _ in range(2):
        said = memctl("commit", code=1).err
        assert f"commit pending: {path} is in an unresolved conflict: one side deleted it" in said
        assert f"`git add {path}` keeps the file, and `git rm {path}` deletes it" in said
        assert path not in git(later, "diff", "--name-only", head.strip(), "HEAD")
    memctl("edit", old.id, "--add", "tags=more")
    assert path not in git(later, "diff", "--name-only", head.strip(), "HEAD")
    git(later, way, path)
    memctl("commit", code=None)
    assert (git(later, "ls-tree", "HEAD", path) != "") == is_kept
    assert git(later, "ls-files", "--unmerged") == ""


def test_texts_of_a_removed_worktree_come_back(later: Path, memctl: Memctl) -> None:
    old = memctl("learn", "Old", "--lesson", "One.").id
    memctl("commit")
    other = later.parent / "other"
    git(later, "worktree", "add", "-q", "-b", "topic", str(other))
    lost = memctl("decide", "Sign", "--rationale", "Keys are public.", where=other).id
    memctl("edit", old, "--add", "tags=late", where=other)
    assert waiting(memctl, where=other) == 2
    assert waiting(memctl) == 0
    git(later, "worktree", "remove", "--force", str(other))
    assert memctl("log").out.count("not committed yet, recorded on topic") == 2
    memctl("restore", lost)
    edit = memctl("log", old, "--json").data["commits"][0]
    assert edit["recorded_on"] == "topic"
    memctl("restore", old, "--at", edit["commit"])
    assert "Keys are public." in memctl("show", lost).out
    assert memctl("show", old, "--json").data["records"][0]["tags"] == ["late"]
    assert waiting(memctl) == 2


def test_undo_takes_back_what_waits_and_then_what_is_committed(later: Path, memctl: Memctl) -> None:
    old = memctl("learn", "Old", "--lesson", "One.").id
    (later / "app.py").write_text("2\n")
    git(later, "add", "-A")
    git(later, "commit", "-qm", "code and a record")
    before = tree(later)
    new = memctl("learn", "New", "--lesson", "Two.").id
    memctl("edit", new, "--add", "tags=x")
    assert memctl("undo").out.endswith(f"edit {new} (tags) New\n")
    assert memctl("show", new, "--json").data["records"][0]["tags"] == []
    assert memctl("undo").out.endswith(f"learn {new} New\n")
    assert tree(later) == before
    assert git(later, "status", "--porcelain") == ""
    assert waiting(memctl) == 0
    assert memctl("undo").out.endswith("code and a record\n")
    assert memctl("show", old, code=1).code == 1
    assert (later / "app.py").read_text() == "2\n"
    assert waiting(memctl) == 1
    by_name = git(later, "rev-parse", "--short", REF).strip()
    memctl("undo", by_name)
    assert tree(later) == before


def test_undo_of_a_commit_of_code_reverts_the_memory_alone(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Kept", "--lesson", "One.", "--no-commit")
    (repo / "app.py").write_text("2\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "feat: both")
    memctl("undo")
    assert (repo / "app.py").read_text() == "2\n"
    assert git(repo, "log", "-1", "--format=%s").startswith("docs(memory): undo ")
    assert not (repo / made.out.split()[1]).exists()


def test_an_upgrade_is_committed_at_once(later: Path, memctl: Memctl) -> None:
    config = later / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 2", "format: 1"))
    git(later, "commit", "-qam", "before")
    memctl("upgrade", "--yes")
    assert git(later, "log", "-1", "--format=%s").strip() == "docs(memory): upgrade to format 2"
    assert git(later, "status", "--porcelain") == ""


def test_a_handoff_is_committed_at_once(later: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("own", "acquire", "2.1")
    memctl("learn", "Waits")
    before = commits(later)
    words = ("--reason", "The design is done", "--immediate", "Write it", "--success", "It runs")
    made = memctl("handoff", "--to", "bob", "--section", "2.1", *words, "--json").data["id"]
    assert commits(later) == before + 1
    assert all(made in path or "/docs/" in path for path in git(later, "show", "--format=", "--name-only").split())
    assert waiting(memctl) == 2


def test_check_of_staged_files_passes_with_half_of_the_records(later: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    old = memctl("decide", "Old", "--rationale", "First.").id
    memctl("commit")
    path = memctl("decide", "New", "--rationale", "Second.", "--supersedes", old).out.split()[1]
    (later / "app.py").write_text("2\n")
    git(later, "add", "app.py", path)
    git(later, "commit", "-qm", "half of it")
    assert (waiting(memctl), staged(later)) == (1, "")


def test_sync_leaves_waiting_changes_and_the_ref_in_the_clone(later: Path, memctl: Memctl) -> None:
    remote = later.parent / "remote.git"
    git(later.parent, "init", "-q", "--bare", "-b", "main", str(remote))
    git(later, "remote", "add", "origin", str(remote))
    git(later, "push", "-qu", "origin", "main")
    memctl("learn", "Waits")
    assert "not synced, since not committed yet: 1 change" in memctl("sync").err
    assert "changes" not in git(remote, "for-each-ref")
    assert waiting(memctl) == 1


def test_the_setting_batch_of_older_versions_means_later(repo: Path, memctl: Memctl) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "commits: batch\n")
    git(repo, "commit", "-qam", "config")
    before = commits(repo)
    memctl("learn", "One")
    git(repo, "config", "memctl.commits", "batch")
    memctl("learn", "Two")
    assert (commits(repo), waiting(memctl)) == (before, 2)
    assert git(repo, "rev-parse", "--verify", "-q", REF)
    git(repo, "config", "memctl.commits", "each")
    memctl("learn", "Three")
    assert (commits(repo), waiting(memctl)) == (before + 1, 2)


def test_unknown_commits_setting_is_refused_with_the_valid_lines(repo: Path, memctl: Memctl) -> None:
    lines = ("commits: each", "commits: later", "git config memctl.commits each")
    git(repo, "config", "memctl.commits", "sometimes")
    refused = memctl("learn", "Never", code=1).err
    assert "memctl.commits is 'sometimes'" in refused
    assert "memctl.commits is 'sometimes'" in memctl("status").out
    assert "memctl.commits is 'sometimes'" in memctl("check").err
    assert all(line in refused for line in lines)
    git(repo, "config", "--unset", "memctl.commits")
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "commits: never\n")
    refused = memctl("learn", "Never", code=1).err
    assert ".memory/config.yaml: commits: " in refused
    assert all(line in refused for line in lines)
    config.write_text(config.read_text().replace("commits: never\n", "docs: maybe\n"))
    assert "docs: default-branch " in memctl("status", code=1).err
    config.write_text(config.read_text().replace("docs: maybe\n", "docs: default-branch\ndefault_branch: nope\n"))
    for told in (memctl("status").out, memctl("check").err):
        assert ".memory/config.yaml: default_branch is 'nope', but there is no such branch" in told
    assert not list(repo.rglob("*never*"))


def test_during_a_merge_and_on_a_detached_head_a_change_waits_as_always(later: Path, memctl: Memctl) -> None:
    (later / ".git" / "MERGE_HEAD").write_text(git(later, "rev-parse", "HEAD"))
    assert memctl("learn", "In a merge").err == ""
    (later / ".git" / "MERGE_HEAD").unlink()
    git(later, "switch", "-q", "--detach")
    memctl("learn", "On no branch")
    assert waiting(memctl) == 2
    assert "recorded on HEAD" in memctl("log").out


def test_a_memory_in_a_folder_has_a_ref_of_its_own(later: Path, memctl: Memctl) -> None:
    part = later / "services" / "pay"
    part.mkdir(parents=True)
    memctl("init", "--here", "--project", "pay", where=part)
    memctl("learn", "Of the part", where=part)
    memctl("learn", "Of the whole")
    listed = git(later, "for-each-ref", "--format=%(refname)", "refs/memctl").split()
    assert listed == [REF, "refs/memctl/in-services%2Fpay/changes"]


def test_a_ref_that_can_not_be_written_does_not_stop_a_write(later: Path, memctl: Memctl) -> None:
    memctl("learn", "First")
    lock = later / ".git" / f"{REF}.lock"
    lock.touch()
    told = memctl("learn", "Second")
    assert "has no copy of the change" in told.err
    assert (later / told.out.split()[1]).is_file()
    lock.unlink()
    memctl("learn", "Third")
    assert git(later, "rev-list", "--count", REF).strip() == "4"


@strides(19)
@pytest.mark.parametrize("operation", ["decide", "commit"])
def test_killed_at_any_step_has_the_old_or_the_new_state(
    later: Path, memctl: Memctl, tmp_path: Path, operation: str, stride: int
) -> None:
    old = memctl("decide", "Old").id
    memctl("decide", "New")
    command = {"decide": ("decide", "Third", "--supersedes", old), "commit": ("commit",)}[operation]
    before = tree(later)
    last = steps_of(later, tmp_path, *command)
    done = tmp_path / "done"
    shutil.copytree(later, done, symlinks=True)
    assert run_until(0, done, *command) == 0
    after = tree(done)
    for step in range(1, last, stride):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(later, victim, symlinks=True)
        if run_until(step, victim, *command) == 0:  # the last steps are not the same in each run
            assert step > last - 5
            break
        (victim / ".git" / "index.lock").unlink(missing_ok=True)
        memctl("commit", where=victim)
        assert tree(victim) in (before, after), f"step {step}"
        assert git(victim, "status", "--porcelain") == "", f"step {step}"
        assert commits(victim) == 3, f"step {step}"
        assert waiting(memctl, where=victim) == 0
        shutil.rmtree(victim)


@pytest.mark.slow
def test_sixteen_writers_at_once_lose_nothing(later: Path, memctl: Memctl) -> None:
    running = [process(later, "learn", f"Number {number}") for number in range(16)]
    assert [one.communicate()[1] for one in running if one.wait() != 0] == []
    assert commits(later) == 2
    assert git(later, "rev-list", "--count", REF).strip() == "17"
    memctl("commit")
    assert commits(later) == 3
    assert git(later, "status", "--porcelain") == ""
    assert len({one["id"] for one in memctl("list", "--json").data["records"]}) == 16
    assert pending(later) == []
