"""Changes of batches between clones: the branch has the squash, a ref of memctl's each change."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, git
from tests.write.test_batch import subjects

REF = "refs/memctl/changes/main"


def test_single_changes_go_with_a_sync_and_are_read_in_the_other_clone(memctl: Memctl, one: Path, two: Path) -> None:
    for clone in (one, two):
        git(clone, "config", "memctl.commits", "batch")
    start = len(subjects(memctl, where=one))
    memctl("decide", "By one", where=one)
    memctl("edit", "DEC", "--add", "tags=early", where=one, code=None)
    memctl("learn", "One more", where=one)
    memctl("learn", "By two", where=two)
    memctl("issue", "Seen by two", where=two)
    assert "`memctl sync` first commits these recorded changes on the branch" in memctl("sync", "-n", where=one).err
    memctl("sync", where=one)
    memctl("sync", where=two)
    memctl("sync", where=one)
    assert git(one, "rev-parse", "HEAD", REF) == git(two, "rev-parse", "HEAD", REF)
    read = subjects(memctl, where=one)
    assert read == subjects(memctl, where=two)
    assert {line.split()[0] for line in read[start:]} >= {"decide", "learn", "issue"}
    assert not [line for line in read if " changes: " in line]
    fresh = one.parent / "fresh"
    git(one.parent, "clone", "-q", "--no-local", git(one, "remote", "get-url", "origin").strip(), str(fresh))
    assert [line for line in subjects(memctl, where=fresh) if " changes: " in line or line.startswith("2 changes")]
    memctl("sync", where=fresh)
    assert subjects(memctl, where=fresh) == read


def test_an_open_batch_is_squashed_by_a_sync_and_the_next_one_goes_on(memctl: Memctl, one: Path, two: Path) -> None:
    git(one, "config", "memctl.commits", "batch")
    memctl("decide", "By two, each", where=two)
    memctl("sync", where=two)
    for number in range(2):
        memctl("learn", f"Round {number}", where=one)
        memctl("learn", f"Again {number}", where=one)
        memctl("sync", where=one)
        assert git(one, "status", "--porcelain") == ""
    memctl("sync", where=two)
    assert git(two, "rev-parse", "HEAD") == git(one, "rev-parse", "HEAD")
    assert len([line for line in subjects(memctl, where=two) if "Round" in line or "Again" in line]) == 4


def test_undo_skips_the_merge_of_a_sync(memctl: Memctl, one: Path, two: Path) -> None:
    for clone, kind in ((one, "learn"), (two, "issue")):
        git(clone, "config", "memctl.commits", "batch")
        memctl(kind, f"By {clone.name}", where=clone)
        memctl("sync", where=clone)
    assert "By two" in memctl("undo", where=two).out
    assert "can't be undone: it is a merge made by `memctl sync`" in memctl("undo", "HEAD", where=two, code=1).err
    assert "By two" not in memctl("list", where=two).out
