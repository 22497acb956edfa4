"""The commits that brought the texts of records: by the cache, without it, and where Git can't tell."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from memctl.git.git import GitFailed
from memctl.store import load
from memctl.store.last_commits import LastCommit, last_commits
from memctl.store.load import open_cache
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git


def known(repo: Path, at: str | None = None) -> Mapping[str, LastCommit]:
    """The last commit of every record, by the cache or as of a revision."""
    return last_commits(open_memory(repo, os.environ), records(repo), at)


def records(repo: Path) -> list[str]:
    return [path.relative_to(repo).as_posix() for path in sorted((repo / ".memory/decisions").rglob("*.md"))]


def true(repo: Path) -> dict[str, LastCommit]:
    """The same, asked of Git file by file, which is right in a history in which no text comes twice."""
    commits = {path: git(repo, "log", "-1", "--format=%H", "--", path).strip() for path in records(repo)}
    return {path: brought(repo, commit) for path, commit in commits.items() if commit}


def brought(repo: Path, commit: str, **values: bool) -> LastCommit:
    return LastCommit(commit, seconds=int(git(repo, "log", "-1", "--format=%ct", commit)), **values)


def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD").strip()


def commit(repo: Path, name: str, text: str) -> None:
    (repo / name).write_text(text)
    git(repo, "add", name)
    git(repo, "commit", "-qm", f"{name} {text}")


def test_new_commits_are_added_to_the_table(memctl: Memctl, repo: Path) -> None:
    first = memctl("decide", "One", "--rationale", "a").id
    assert known(repo) == true(repo) == known(repo, "HEAD")
    memctl("decide", "Two", "--rationale", "b")
    memctl("edit", first, "--set", "importance=3")
    assert known(repo) == true(repo) == known(repo, "HEAD")
    assert len(known(repo)) == 2


def test_rewritten_history_replaces_the_table(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    assert known(repo) == true(repo)
    git(repo, "commit", "-q", "--amend", "-m", "other")
    assert known(repo) == true(repo)
    git(repo, "checkout", "-q", "-b", "side", "HEAD~1")
    memctl("decide", "Two", "--rationale", "b")
    assert known(repo) == true(repo)
    git(repo, "checkout", "-q", "main")
    assert known(repo) == true(repo)


@pytest.mark.parametrize("order", ["main into side", "side into main"])
def test_merge_keeps_the_last_commits_of_both_sides(memctl: Memctl, repo: Path, order: str) -> None:
    git(repo, "branch", "side")
    memctl("decide", "One", "--rationale", "a")
    one = head(repo)
    assert {last.commit for last in known(repo).values()} == {one}
    git(repo, "checkout", "-q", "side")
    memctl("decide", "Two", "--rationale", "b")
    two = head(repo)
    if order == "side into main":
        git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "-X", "ours", "--no-edit", "side" if order == "side into main" else "main")
    assert {last.commit for last in known(repo).values()} == {one, two}
    assert known(repo) == known(repo, "HEAD")


def test_pulled_merge_keeps_the_last_commits(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    before = known(repo)
    git(repo, "checkout", "-q", "-b", "theirs", "HEAD~")
    commit(repo, "code.py", "1")
    git(repo, "merge", "-q", "--no-edit", "main")  # main is the second parent
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--ff-only", "theirs")
    assert known(repo) == before == known(repo, "HEAD")


def test_folded_counts_keep_the_last_commit_of_the_text(memctl: Memctl, repo: Path) -> None:
    made = memctl("decide", "One", "--rationale", "a").id
    before = known(repo)
    memctl("show", made)
    memctl("maintain")
    assert "access_count: 1" in (repo / records(repo)[0]).read_text()
    assert known(repo) == before == known(repo, "HEAD")
    memctl("edit", made, "--set", "importance=9")
    after = known(repo)
    assert after == true(repo) != before
    memctl("show", made)
    memctl("maintain")
    assert known(repo) == after == known(repo, "HEAD")


def test_merge_of_counts_keeps_the_last_commit_of_the_text(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    before = known(repo)
    path = repo / records(repo)[0]
    text = path.read_text()
    for branch, count in (("side", 3), ("main", 4)):
        git(repo, "checkout", "-q", *(["-b"] if branch == "side" else []), branch)
        path.write_text(text.replace("agent_id:", f"access_count: {count}\nagent_id:"))
        git(repo, "commit", "-qam", "counts\n\nMemctl-Op: maintain")
    git(repo, "merge", "-q", "--no-edit", "side", check=False)
    path.write_text(text.replace("agent_id:", "access_count: 7\nagent_id:"))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--no-edit")
    assert len(git(repo, "rev-list", "--parents", "-1", "HEAD").split()) == 3
    assert known(repo) == before == known(repo, "HEAD")


def test_edited_record_has_the_commit_of_its_committed_text(memctl: Memctl, repo: Path) -> None:
    made = memctl("decide", "One", "--rationale", "a").id
    commit_before = head(repo)
    memctl("edit", made, "--set", "importance=9", "--no-commit")
    assert list(known(repo).values()) == [brought(repo, commit_before, is_edited=True)]
    assert list(known(repo, "HEAD").values()) == [brought(repo, commit_before)]


def test_edit_of_an_assume_unchanged_file_is_detected(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    [path] = records(repo)
    git(repo, "update-index", "--assume-unchanged", path)
    (repo / path).write_text((repo / path).read_text().replace("title: One", "title: Other"))
    (repo / ".git" / "memctl" / ".memory" / "cache.db").unlink()
    memory = open_memory(repo, os.environ)
    assert [record.title for record in load.disk(memory).records] == ["Other"]
    assert last_commits(memory, [path]) == {path: brought(repo, head(repo), is_edited=True)}


def test_records_without_a_commit_are_left_out(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a", "--no-commit")
    assert len(records(repo)) == 1
    assert known(repo) == {}


def test_repository_without_commits_has_no_last_commits(tmp_path: Path, memctl: Memctl) -> None:
    memctl("init", "--git", "--no-commit", where=tmp_path)
    assert last_commits(open_memory(tmp_path, os.environ), [".memory/decisions/2025-11/never.md"]) == {}


def test_revision_without_the_record_has_no_last_commit(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    assert known(repo, "HEAD~1") == {}


def test_boundary_commits_are_marked_until_the_clone_is_unshallowed(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    one = head(repo)
    memctl("decide", "Two", "--rationale", "b")
    end = head(repo)
    memctl("decide", "Three", "--rationale", "c")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repo}", str(clone))
    first = brought(repo, end, is_boundary=True)
    expected = [first, first, brought(repo, head(repo))]
    assert list(known(clone).values()) == list(known(clone, "HEAD").values()) == expected
    git(clone, "fetch", "-q", "--unshallow")
    assert sorted(last.commit for last in known(clone).values()) == sorted([one, end, head(repo)])
    assert known(clone) == true(clone)


def test_blobless_clone_without_its_remote_finds_all_last_commits(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    made = memctl("decide", "One", "--rationale", "a").id
    memctl("show", made)
    memctl("maintain")
    clone = partial(repo, tmp_path, "blob:none")
    assert known(clone) == true(clone)


def test_treeless_clone_without_its_remote_fails_and_stores_nothing(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    memctl("decide", "Two", "--rationale", "b")
    clone = partial(repo, tmp_path, "tree:0")
    for _ in range(2):
        with pytest.raises(GitFailed):
            known(clone)
    (tmp_path / "away").rename(tmp_path / "origin")
    assert known(clone) == true(clone)


def partial(repo: Path, folder: Path, filtered: str) -> Path:
    """A clone for which Git left something with the remote, which then goes away."""
    shutil.copytree(repo, folder / "origin")
    git(folder / "origin", "config", "uploadpack.allowFilter", "true")
    git(folder / "origin", "config", "uploadpack.allowAnySHA1InWant", "true")
    git(folder, "clone", "-q", f"--filter={filtered}", f"file://{folder}/origin", "clone")
    (folder / "origin").rename(folder / "away")
    return folder / "clone"


def test_cache_of_the_former_version_is_replaced(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "a")
    cache = open_cache(open_memory(repo, os.environ)).database
    cache.execute("CREATE TABLE commits (path TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID")
    cache.execute("INSERT INTO commits VALUES (?, ?)", (records(repo)[0], "0" * 40))
    cache.execute("INSERT OR REPLACE INTO state VALUES ('commits', ?)", (head(repo),))
    cache.execute("UPDATE state SET value = 'older' WHERE key = 'version'")
    cache.execute("DROP TABLE introductions")
    cache.close()
    assert known(repo) == true(repo)
