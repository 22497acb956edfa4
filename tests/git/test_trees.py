"""Which files Git has at a revision, and what is in them."""

from __future__ import annotations

from pathlib import Path

from memctl.git import trees
from memctl.git.repository import open_repository
from tests.conftest import git


def test_files_are_listed_with_their_blobs_and_links_as_such(repo: Path) -> None:
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
