"""`commits: batch`: each change is a commit of its own ref, and one commit of the branch holds all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl import history
from memctl.git import git as plumbing
from tests.conftest import Memctl, commits, every, git, process, slow, strides
from tests.write.test_transaction import run_until, steps_of, tree

REF = "refs/memctl/changes/main"


@pytest.fixture
def batched(repo: Path) -> Path:
    git(repo, "config", "memctl.commits", "batch")
    return repo


def subjects(memctl: Memctl, *args: str, where: Path | None = None) -> list[str]:
    """The subjects that `memctl log` has, without the prefix, oldest first."""
    found = memctl("log", "--limit", "0", "--json", *args, where=where).data["commits"]
    return [one["subject"].partition(": ")[2] for one in reversed(found)]


def head(repo: Path) -> str:
    return git(repo, "log", "-1", "--format=%s").strip()


def code(repo: Path, text: str, *options: str) -> None:
    (repo / "app.py").write_text(text)
    git(repo, "commit", "-q", *(options or ("-m", "code", "app.py")))


def test_each_change_is_read_by_itself_before_and_after_the_squash(batched: Path, memctl: Memctl) -> None:
    (batched / "app.py").write_text("staged\n")
    git(batched, "add", "app.py")
    before = git(batched, "rev-parse", "HEAD"), git(batched, "ls-files", "-s")
    made = memctl("decide", "Sign", "--rationale", "Keys are public.").id
    lost = memctl("learn", "Made and gone").id
    memctl("edit", made, "--add", "tags=x")
    memctl("delete", lost)
    assert (git(batched, "rev-parse", "HEAD"), git(batched, "ls-files", "-s")) == before
    assert memctl("status", "--json").data["pending"] == memctl("status", "--json").data["uncommitted"] == []
    assert "waits" not in memctl("check").out
    assert "batch of 4 changes: " in memctl("status").out
    wanted = ["init shop", f"decide {made} Sign", f"learn {lost} Made and gone", f"edit {made} (tags) Sign"]
    wanted.append(f"delete {lost} Made and gone")

    def reads() -> None:
        assert subjects(memctl) == wanted
        found = memctl("log", made, "--json").data["commits"]
        assert [one["ops"] for one in found] == [["edit"], ["decide"]]
        assert [one["brought_text"] for one in found] == [True, False]
        first = found[1]["commit"]
        assert memctl("show", made, "--at", first, "--json").data["records"][0]["tags"] == []
        assert "- tags" not in memctl("show", made, "--at", first).out
        assert [entry.operations for entry in history.entries(__import__("git").Repo(batched), made)] == [
            ("edit",), ("decide",),
        ]  # fmt: skip
        assert "Made and gone" in memctl("restore", lost, "-n").out

    reads()
    said = memctl("commit").out
    assert "4 changes" in said
    assert git(batched, "log", "-1", "--format=%P").strip() == before[0].strip()
    message = git(batched, "log", "-1", "--format=%B")
    tip = git(batched, "log", "-1", "--format=%(trailers:key=Memctl-Changes,valueonly)").strip()
    assert all(f"- {line}" in message for line in wanted[1:])
    assert git(batched, "merge-base", tip, REF).strip() == tip
    assert git(batched, "status", "--porcelain") == "M  app.py\n"
    reads()
    memctl("undo")
    assert memctl("show", lost).code == 0
    memctl("edit", made, "--add", "tags=y")
    assert subjects(memctl)[-3:] == [wanted[-1], f"undo {git(batched, 'rev-parse', tip)[:10]} {wanted[-1]}",
        f"edit {made} (tags) Sign"]  # fmt: skip
    memctl("commit")
    assert commits(batched) == 4
    clone = batched.parent / "clone"  # of somebody who has the branch alone
    git(batched.parent, "clone", "-q", "--no-local", str(batched), str(clone))
    assert subjects(memctl, where=clone)[-1].startswith("2 changes")
    assert memctl("log", made, "--json", where=clone).data["commits"][0]["brought_text"]


def test_user_commit_is_followed_by_the_squash(batched: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    memctl("decide", "One")
    memctl("learn", "Two")
    code(batched, "1\n")
    assert git(batched, "log", "-2", "--format=%s").splitlines()[1] == "code"
    assert head(batched).startswith("docs(memory): 2 changes: DEC-2025-11-04-001")
    assert git(batched, "status", "--porcelain") == ""
    memctl("learn", "Alone")
    code(batched, "2\n", "-qam", "more")
    assert head(batched) == "docs(memory): learn LRN-2025-11-04-002 Alone"
    memctl("learn", "Taken along")
    (batched / "app.py").write_text("3\n")
    git(batched, "add", "-A")
    git(batched, "commit", "-qm", "all of it")
    assert git(batched, "show", "--format=%s", "--name-only", "HEAD~1").split() == ["all", "of", "it", "app.py"]
    assert head(batched) == "docs(memory): learn LRN-2025-11-04-003 Taken along"
    memctl("learn", "Absorbed")
    git(batched, "add", ".memory")
    git(batched, "commit", "-qm", "records")  # nothing else is in it, so it has them
    assert head(batched) == "records"
    assert git(batched, "status", "--porcelain") == ""
    memctl("learn", "The next")
    assert "learn LRN-2025-11-04-004 Absorbed" in subjects(memctl)


def test_next_write_squashes_first_without_the_hook(batched: Path, memctl: Memctl) -> None:
    memctl("decide", "One")
    memctl("decide", "Two")
    code(batched, "1\n")
    memctl("learn", "Three")
    assert head(batched).startswith("docs(memory): 2 changes")
    git(batched, "commit", "-q", "--amend", "-m", "renamed", "--allow-empty")
    memctl("learn", "Four")
    assert head(batched) == "docs(memory): learn LRN-2025-11-04-001 Three"
    git(batched, "config", "memctl.commits", "each")
    memctl("learn", "Five")
    assert git(batched, "log", "-2", "--format=%s").splitlines() == [
        "docs(memory): learn LRN-2025-11-04-003 Five", "docs(memory): learn LRN-2025-11-04-002 Four",
    ]  # fmt: skip
    assert git(batched, "status", "--porcelain") == ""


@pytest.mark.parametrize("hooks", [True, *slow(False)])
def test_batch_stays_on_its_branch_or_moves_to_a_new_branch(batched: Path, memctl: Memctl, hooks: bool) -> None:
    if hooks:
        memctl("install", "git")
    git(batched, "branch", "old", "HEAD~1")
    memctl("decide", "Early")
    git(batched, "switch", "-qc", "topic")  # the work of a branch often begins before the branch does
    memctl("decide", "Late")
    memctl("commit")
    assert head(batched).startswith("docs(memory): 2 changes")
    assert git(batched, "log", "-1", "--format=%s", "main").strip() == "docs(memory): init shop"
    memctl("learn", "Of the topic")
    git(batched, "switch", "-q", "old", check=False)
    git(batched, "checkout", "-q", "-f", "old") if git(batched, "branch", "--show-current").strip() != "old" else None
    git(batched, "switch", "-q", "main", check=False)
    memctl("learn", "Of main")
    assert {one["title"] for one in memctl("list", "--json").data["records"]} == {"Of main"}
    memctl("commit")
    assert (
        git(batched, "log", "-1", "--format=%s", "topic").strip()
        == "docs(memory): learn LRN-2025-11-04-001 Of the topic"
    )
    assert git(batched, "status", "--porcelain") == ""
    git(batched, "switch", "-q", "topic")
    assert {one["title"] for one in memctl("list", "--json").data["records"]} == {"Early", "Late", "Of the topic"}
    git(batched, "merge", "-q", "--no-edit", "main", check=False)
    memctl("render", code=None)


TAKEN_BACK: dict[str, Callable[[Path], object]] = {
    "reset": lambda repo: git(repo, "reset", "-q", "--hard"),
    "clean": lambda repo: git(repo, "clean", "-fdq"),
    "stash": lambda repo: git(repo, "stash", "-qu"),
    "checkout": lambda repo: git(repo, "checkout", "-q", "--", "."),
}


@pytest.mark.parametrize("way", every(2, TAKEN_BACK))
def test_changes_reverted_by_git_are_restored_by_the_next_write(batched: Path, memctl: Memctl, way: str) -> None:
    kept = memctl("decide", "Kept", "--rationale", "First.").id
    memctl("commit")
    memctl("edit", kept, "--add", "tags=late")
    memctl("learn", "New")
    before = tree(batched)
    TAKEN_BACK[way](batched)
    assert tree(batched) != before
    assert "Git had reverted changes that memctl recorded in" in memctl("learn", "Next").err
    assert {item for item in before.items() if not item[0].startswith("docs/")} <= set(tree(batched).items())
    memctl("commit")
    assert git(batched, "status", "--porcelain") == ""
    assert memctl("check").code == 0


def test_squash_includes_the_documents_of_restored_changes(batched: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    memctl("learn", "Kept")
    memctl("commit")
    memctl("learn", "Taken back")
    git(batched, "stash", "-u", "-q")
    git(batched, "commit", "-q", "--allow-empty", "-m", "code")
    assert ".memory/docs/INDEX.md" in git(batched, "show", "--name-only", "--format=", "HEAD").split("\n")
    assert "MEM308" not in memctl("check").out


def test_branch_may_be_named_below_a_deleted_branch(batched: Path, memctl: Memctl) -> None:
    git(batched, "switch", "-q", "-c", "pay")
    memctl("learn", "Before the new name")
    git(batched, "branch", "-m", "pay/card")
    memctl("learn", "After it")
    memctl("commit")
    assert len(subjects(memctl)) == 3
    assert "2 changes" in head(batched)
    git(batched, "switch", "-q", "main")
    git(batched, "branch", "-q", "-D", "pay/card")
    git(batched, "switch", "-q", "-c", "pay/card/eu")
    memctl("learn", "Below a branch that is gone")
    assert git(batched, "for-each-ref", "--format=%(refname)", "refs/memctl/changes") == (
        "refs/memctl/changes/pay%2Fcard\nrefs/memctl/changes/pay%2Fcard%2Feu\n"
    )


def test_foreign_files_of_a_fetched_ref_reach_no_branch(batched: Path, memctl: Memctl) -> None:
    forged = git(batched, "commit-tree", "-p", "HEAD", "-m", "forged", git(batched, "mktree").strip()).strip()
    git(batched, "update-ref", REF, forged)
    memctl("learn", "Signing is slow")
    git(batched, "switch", "-q", "--detach")
    git(batched, "commit", "-q", "--allow-empty", "-m", "elsewhere")
    memctl("status")
    memctl("learn", "Elsewhere")
    assert git(batched, "diff", "--name-status", "main~1", "main", "--", ":!.memory") == ""
    assert "learn" in git(batched, "log", "-1", "--format=%s", "main")
    assert not [line for line in git(batched, "diff", "--name-status", "main~1", "main").splitlines() if line[0] == "D"]


def test_edits_by_hand_on_top_of_a_batch_are_commits_of_their_own(batched: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Slow")
    file = batched / made.out.split()[1]
    file.write_text(file.read_text() + "\nA note.\n")
    assert memctl("status", "--json").data["uncommitted"] == [made.out.split()[1]]
    memctl("commit")
    assert subjects(memctl)[-2:] == [f"issue {made.id} Slow", f"commit {made.id} changed by hand"]
    assert commits(batched) == 3
    decided = memctl("decide", "Sign", "--rationale", "Keys are public.")
    path = batched / decided.out.split()[1]
    path.write_text(path.read_text().replace("Keys are public.", "Keys are not."))
    code(batched, "1\n")
    assert "is accepted" in memctl("commit", "--batch", code=1).err
    assert head(batched) == "code"
    memctl("commit", "--allow-accepted")
    assert "Keys are not." in git(batched, "show", f"HEAD:{decided.out.split()[1]}")


def test_detached_head_and_new_repository_commit_each_change(batched: Path, memctl: Memctl) -> None:
    git(batched, "switch", "-q", "--detach")
    before = commits(batched)
    memctl("learn", "Nowhere")
    assert commits(batched) == before + 1
    new = batched.parent / "new"
    new.mkdir()
    git(new, "init", "-q", "-b", "main")
    git(new, "config", "memctl.commits", "batch")
    memctl("init", where=new)
    assert commits(new) == 1
    memctl("learn", "Then", where=new)
    assert commits(new) == 1


def test_a_commit_that_can_not_be_made_waits_and_a_rebase_is_left_alone(batched: Path, memctl: Memctl) -> None:
    memctl("decide", "One")
    (batched / ".git" / "MERGE_HEAD").write_text(git(batched, "rev-parse", "HEAD"))
    assert "commit pending: a merge is under way" in memctl("learn", "In a merge").err
    assert memctl("commit", "--batch").err == ""
    (batched / ".git" / "MERGE_HEAD").unlink()
    memctl("learn", "After it")
    assert len(subjects(memctl)) == 4
    hook = batched / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2; exit 1\n")
    hook.chmod(0o755)
    assert "refused the commit" in memctl("commit", code=1).err
    assert "the batch could not be committed" in memctl("status").out
    assert len(subjects(memctl)) == 4
    hook.unlink()
    memctl("commit")
    memctl("learn", "The next")
    assert memctl("status", "--json").data["batch_refused"] is None
    memctl("commit")
    assert commits(batched) == 4


def test_each_worktree_has_its_own_batch(batched: Path, memctl: Memctl) -> None:
    other = batched.parent / "other"
    git(batched, "worktree", "add", "-q", "-b", "topic", str(other))
    memctl("learn", "Of main")
    memctl("learn", "Of topic", where=other)
    assert [memctl("list", where=where).out.count("LRN") for where in (batched, other)] == [1, 1]
    memctl("commit", where=other)
    memctl("commit")
    assert head(other) == "docs(memory): learn LRN-2025-11-04-002 Of topic"
    assert head(batched) == "docs(memory): learn LRN-2025-11-04-001 Of main"


def test_batch_stays_with_its_branch_in_another_worktree(batched: Path, memctl: Memctl) -> None:
    git(batched, "commit", "-q", "--allow-empty", "-m", "start")
    memctl("learn", "First")
    memctl("commit")
    git(batched, "switch", "-q", "-c", "dev")
    other = batched.parent / "other"
    git(batched, "worktree", "add", "-q", str(other), "main")
    memctl("learn", "Of main", where=other)
    memctl("learn", "Of dev")
    assert git(batched, "rev-parse", "--verify", "-q", REF)
    assert any("Of main" in line for line in subjects(memctl, where=other))
    memctl("commit", where=other)
    assert "Of main" in git(other, "log", "-1", "--format=%s")


def test_two_branches_with_batches_merge_as_with_single_commits(batched: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    for branch in ("one", "two"):
        git(batched, "switch", "-qc", branch, "main")
        for number in range(2):
            memctl("decide", f"{branch} {number}")
        memctl("commit")
    git(batched, "switch", "-q", "main")
    git(batched, "merge", "-q", "--no-ff", "--no-edit", "one")
    memctl("learn", "Between")
    git(batched, "commit", "-q", "--allow-empty", "-m", "code")
    git(batched, "merge", "-q", "--no-ff", "--no-edit", "two")
    assert git(batched, "status", "--porcelain") == ""
    assert memctl("check").code == 0
    assert len(memctl("list", "--json").data["records"]) == 5


def test_forged_batch_trailers_are_ignored(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Hostile")
    target = repo / "written"
    here = git(repo, "rev-parse", "HEAD").strip()
    for base, tip in ((f"--output={target}", here), ("0" * 40, here), (here, "-p")):
        file = repo / made.out.split()[1]
        file.write_text(file.read_text().replace("Hostile", f"Hostile {len(base)}"))
        git(repo, "commit", "-qam", f"squash\n\nMemctl-Op: edit\nMemctl-Base: {base}\nMemctl-Changes: {tip}")
        assert subjects(memctl)[-1] == ""
        assert memctl("log", made.id, "--json").data["commits"][0]["brought_text"]
    assert not list(repo.glob("written*"))


def test_read_after_a_branch_switch_shows_no_batch_of_the_other_branch(batched: Path, memctl: Memctl) -> None:
    git(batched, "branch", "old")
    git(batched, "commit", "-q", "--allow-empty", "-m", "code")
    memctl("learn", "Of main")
    git(batched, "switch", "-q", "old")
    assert "belong to a batch of changes on the branch main" in memctl("commit", "-n").err
    assert memctl("list", "--json").data["records"] == []
    assert git(batched, "status", "--porcelain") == ""
    assert git(batched, "log", "-1", "--format=%s", "main") == "docs(memory): learn LRN-2025-11-04-001 Of main\n"


def test_log_needs_as_many_git_calls_for_many_squashes_as_for_one(
    batched: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> int:
        started, spawn = [], plumbing._spawn
        with monkeypatch.context() as patch:
            patch.setattr(
                plumbing, "_spawn", lambda args, *rest, **more: started.append(args) or spawn(args, *rest, **more)
            )
            memctl("log", "--limit", "0")
        return len(started)

    memctl("learn", "One")
    memctl("commit")
    before = asked()
    for number in range(3):
        memctl("learn", f"More {number}")
        memctl("edit", "LRN-2025-11-04-001", "--add", f"tags=t{number}")
        memctl("commit")
    assert asked() == before
    assert len(subjects(memctl)) == 8
    assert [line.split()[0] for line in subjects(memctl, "LRN-2025-11-04-001")] == ["learn", "edit", "edit", "edit"]


def test_commit_of_single_batch_files_is_followed_by_the_rest(batched: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    memctl("learn", "Rest")
    path = memctl("learn", "Chosen").out.split()[1]
    git(batched, "add", path)
    git(batched, "commit", "-q", "-m", "chosen", "--", path)
    assert git(batched, "show", "--format=%s", "--name-only", "HEAD~1").split() == ["chosen", path]
    assert git(batched, "status", "--porcelain") == ""
    assert memctl("check").code == 0


def test_deleted_record_is_restored_by_the_beginning_of_its_id(batched: Path, memctl: Memctl) -> None:
    memctl("learn", "First")
    lost = memctl("learn", "Second").id
    assert lost == "LRN-2025-11-04-002"
    memctl("delete", lost)
    assert len(memctl("log", "lrn-2025-11-04-002", "--json").data["commits"]) == 2
    memctl("delete", "LRN-2025-11-04-001")
    assert "matches several deleted records" in memctl("restore", "LRN-2025-11", code=1).err
    other = memctl("issue", "Slow").id
    memctl("delete", other)
    assert other in memctl("restore", "ISS-2025").out


def test_unknown_commits_setting_is_refused_with_the_valid_lines(repo: Path, memctl: Memctl) -> None:
    lines = ("commits: each", "commits: batch", "git config memctl.commits each")
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


@strides(19)
@pytest.mark.parametrize("operation", ["decide", "commit"])
def test_killed_at_any_step_an_open_batch_has_the_old_or_the_new_state(
    batched: Path, memctl: Memctl, tmp_path: Path, operation: str, stride: int
) -> None:
    old = memctl("decide", "Old").id
    memctl("decide", "New")
    command = {"decide": ("decide", "Third", "--supersedes", old), "commit": ("commit",)}[operation]
    before, log = tree(batched), subjects(memctl)
    last = steps_of(batched, tmp_path, *command)
    done = tmp_path / "done"
    shutil.copytree(batched, done, symlinks=True)
    assert run_until(0, done, *command) == 0
    after = tree(done)
    for step in range(1, last, stride):
        victim = tmp_path / f"victim{step}"
        shutil.copytree(batched, victim, symlinks=True)
        assert run_until(step, victim, *command) == -9, f"step {step}"
        (victim / ".git" / "index.lock").unlink(missing_ok=True)
        memctl("commit", where=victim)
        assert tree(victim) in (before, after), f"step {step}"
        assert git(victim, "status", "--porcelain") == "", f"step {step}"
        assert commits(victim) == 3, f"step {step}"
        assert subjects(memctl, where=victim)[: len(log)] == log, f"step {step}"
        assert len(subjects(memctl, where=victim)) == len(log) + (operation == "decide" and tree(victim) == after)
        assert not memctl("status", "--json", where=victim).data["pending"]
        shutil.rmtree(victim)


@pytest.mark.slow
def test_sixteen_writers_at_once_lose_nothing(batched: Path, memctl: Memctl) -> None:
    running = [process(batched, "learn", f"Number {number}") for number in range(16)]
    assert [one.communicate()[1] for one in running if one.wait() != 0] == []
    assert commits(batched) == 2
    assert len(subjects(memctl)) == 17
    memctl("commit")
    assert commits(batched) == 3
    assert git(batched, "status", "--porcelain") == ""
    assert len({one["id"] for one in memctl("list", "--json").data["records"]}) == 16
    assert os.listdir(batched / ".git" / "memctl" / ".memory" / "pending") == []
