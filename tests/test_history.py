"""The history for programs, and every way of committing read back by GitPython: a reader that is not ours."""

from __future__ import annotations

from pathlib import Path

import git as gitpython
import pytest

from memctl import history
from memctl.errors import MemctlError
from tests.conftest import Memctl, git
from tests.git.test_commits import hook


def written_by(commit: gitpython.Commit) -> set[str]:
    """Return the paths that a commit added, changed or deleted, by GitPython's own diff of two trees."""
    before = commit.parents[0] if commit.parents else gitpython.NULL_TREE
    return {str(one.b_path or one.a_path) for one in commit.diff(before)}


def test_entries_of_a_record_are_commits_with_what_was_done(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Adopt PostgreSQL", "--reason", "asked for")
    memctl("learn", "Something else")
    memctl("edit", made.id, "--add", "tags=db")
    memctl("delete", made.id)
    found = history.entries(gitpython.Repo(repo), made.id)
    assert [one.operations for one in found] == [("delete",), ("edit",), ("decide",)]
    assert all(one.record_ids == (made.id,) for one in found)
    assert found[-1].reason == "asked for"
    assert found[-1].commit.author.name == git(repo, "log", "-1", "--format=%an").strip()
    assert found[0].commit.parents == (found[1].commit,)
    assert made.id in str(found[-1].commit.summary)


def test_entries_of_the_memory_begin_with_the_newest_and_stop_at_the_limit(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "One")
    memctl("learn", "Two")
    (repo / "app.py").write_text("print('not of the memory')\n")
    git(repo, "commit", "-qam", "code")
    opened = gitpython.Repo(repo)
    assert [one.operations for one in history.entries(opened, limit=2)] == [("learn",), ("learn",)]
    assert [one.operations for one in history.entries(opened)][-1] == ("init",)
    assert len(history.entries(opened, revision="HEAD~2", limit=1)) == 1


def test_entries_of_the_memory_include_commits_of_the_sessions_ref(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "One")
    before = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "config", "memctl.hookCommits", "records")
    memctl("session", "start", "monday", "--intent", "Two")
    memctl("session", "end", code=None)
    memctl("learn", "Three")
    opened = gitpython.Repo(repo)
    found = [one.commit.hexsha for one in history.entries(opened)]
    assert set(git(repo, "rev-list", "refs/memctl/sessions").split()) < set(found)
    assert len({*found}) == len(found)
    assert before in found
    assert opened.commit("refs/memctl/sessions").hexsha not in [
        one.commit.hexsha for one in history.entries(opened, "LRN-2025-11-04-001")
    ]


@pytest.mark.parametrize("lane", ["fast-import", "commit --only", "detached", "merge", "pending"])
def test_gitpython_reads_what_each_lane_commits(repo: Path, memctl: Memctl, lane: str) -> None:
    (repo / "staged.txt").write_text("mine\n")
    git(repo, "add", "staged.txt")
    if lane == "commit --only":
        hook(repo, "pre-commit", "exit 0")
    elif lane == "detached":
        git(repo, "checkout", "-q", "--detach")
    elif lane == "merge":
        git(repo, "commit", "-qm", "mine")
        git(repo, "checkout", "-qb", "side", "HEAD~1")
        memctl("learn", "On a side")
        git(repo, "checkout", "-q", "-")
        memctl("learn", "On the other")
        git(repo, "merge", "-q", "--no-edit", "side")
    elif lane == "pending":
        (repo / ".git" / "MERGE_HEAD").touch()
    tip = gitpython.Repo(repo).head.commit
    made = memctl("decide", "Read back", "--rationale", "By somebody else")
    if lane == "pending":
        assert gitpython.Repo(repo).head.commit == tip
        (repo / ".git" / "MERGE_HEAD").unlink()
        memctl("commit")
    opened = gitpython.Repo(repo)
    commit = opened.head.commit
    path = made.out.split()[1]
    assert commit.parents == (tip,)
    assert path in written_by(commit)
    assert all(name.startswith(".memory/") for name in written_by(commit))
    assert commit.tree[path].data_stream.read() == (repo / path).read_bytes()
    assert commit.trailers_dict["Memctl-Op"] == ["decide"]
    assert commit.trailers_dict["Memctl-Id"] == [made.id]
    assert lane == "merge" or "staged.txt" in {str(one.a_path) for one in opened.index.diff("HEAD")}
    assert not list(opened.index.diff(None))
    assert [one.commit for one in history.entries(opened, made.id)] == [commit]


def test_sha256_repository_is_refused_with_a_hint(tmp_path: Path, memctl: Memctl) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    memctl("init", where=tmp_path)
    with pytest.raises(MemctlError, match="SHA-256") as refused:
        history.entries(gitpython.Repo(tmp_path))
    assert "memctl log --json" in str(refused.value.hint)


def test_a_bare_repository_and_an_unknown_id_are_refused(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    with pytest.raises(MemctlError, match="bare"):
        history.entries(gitpython.Repo(tmp_path / "bare"))
    with pytest.raises(MemctlError, match="DEC-2020-01-01-001"):
        history.entries(gitpython.Repo(repo), "DEC-2020-01-01-001")


def test_no_command_imports_gitpython(repo: Path) -> None:
    from tests.test_architecture import loaded_by

    assert "git" not in loaded_by(f"import memctl.cli.main as m; m.main(['-C', {str(repo)!r}, 'log'])")
