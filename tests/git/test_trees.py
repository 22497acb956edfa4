"""Which files Git has at a revision, and what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import trees
from memctl.git.git import GitFailed
from memctl.git.repository import open_repository
from tests.conftest import git


def test_listed_files_have_blobs_and_links_are_not_regular(repo: Path) -> None:
    (repo / "new").mkdir()
    (repo / "new" / "long.txt").write_text("x" * 100)
    (repo / "new" / "link").symlink_to("long.txt")
    git(repo, "add", "new")
    git(repo, "commit", "-qm", "new")
    repository = open_repository(repo)
    found = {entry.path: entry for entry in trees.entries(repository, "HEAD", "new")}
    assert {path: entry.is_regular for path, entry in found.items()} == {"new/long.txt": True, "new/link": False}
    assert trees.entries(repository, "HEAD~1", "new") == []
    blob, link = found["new/long.txt"].blob, found["new/link"].blob
    assert trees.blobs(repository, [blob, link, blob], 50) == {blob: None, link: b"long.txt"}
    assert trees.blobs(repository, [], 50) == {}


def test_blob_ids_in_commits_exclude_folders_and_submodules(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD").strip()
    (repo / "a").mkdir()
    (repo / "a" / "b.py").write_text("b = 1\n")
    git(repo, "add", "a")
    git(repo, "commit", "-qm", "a folder")
    second = git(repo, "rev-parse", "HEAD").strip()
    asked = [
        (second, "app.py"),
        (first, "a/b.py"),
        (second, "a/b.py"),
        (second, "app.py/x"),
        (second, "a"),
        (second, "c/d"),
    ]
    found = trees.blob_ids_at(open_repository(repo), asked)
    blobs = {path: git(repo, "rev-parse", f"{second}:{path}").strip() for path in ("app.py", "a/b.py")}
    assert found == {(second, path): blob for path, blob in blobs.items()}


def test_files_of_any_name_are_hashed_by_one_process(repo: Path) -> None:
    names = ["plain", "with space", '"quoted"', 'a "quoted" one', "two\nlines", '"\\\n', "back\\slash", "ü"]
    for number, name in enumerate(names):
        (repo / name).write_text(f"{number}\n")
    repository = open_repository(repo)
    found = trees.worktree_blob_ids(repository, names[:4])
    process = repository.hashes.process
    found |= trees.worktree_blob_ids(repository, names[4:])
    assert repository.hashes.process is process
    expected = [git(repo, "hash-object", "--stdin", stdin=f"{number}\n").strip() for number in range(len(names))]
    assert [found[name] for name in names] == expected
    with pytest.raises(GitFailed, match="gone"):
        trees.worktree_blob_ids(repository, ["gone"])
