"""A sync pushes no unresolved conflict, and no two records with one id, that a merge by Git made."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Memctl, git


def test_a_sync_is_refused_while_two_records_share_an_id(one: Path, two: Path, memctl: Memctl) -> None:
    memctl("decide", "First", where=one)
    memctl("sync", where=one)
    memctl("decide", "Second", where=two)
    git(two, "fetch", "-q")
    git(two, "merge", "-q", "-X", "ours", "--no-edit", "origin/main")
    there = git(two, "ls-remote", "origin", "refs/heads/main")
    refused = memctl("sync", where=two, code=1)
    assert "nothing was pushed: .memory/decisions/" in refused.err
    assert "(MEM104)" in refused.err
    assert "hint: `memctl renumber`" in refused.err
    assert git(two, "ls-remote", "origin", "refs/heads/main") == there
    memctl("render", where=two)
    memctl("renumber", where=two)
    memctl("sync", where=two)
    memctl("sync", where=one)
    titles = [record["title"] for record in memctl("list", "--json", where=one).data["records"]]
    assert {"First", "Second"} <= set(titles)
    assert "MEM104" not in memctl("check", where=one, code=None).out


def test_unresolved_conflict_markers_are_not_pushed(one: Path, memctl: Memctl) -> None:
    path = memctl("learn", "Broken", "--lesson", "One", where=one).out.split()[1]
    text = (one / path).read_text().replace("One", "<<<<<<< HEAD\nOne\n=======\nTwo\n>>>>>>> other")
    (one / path).write_text(text)
    git(one, "commit", "-qam", "oops")
    refused = memctl("sync", where=one, code=1)
    assert "this line begins an unresolved merge conflict" in refused.err
    assert "hint: resolve the conflict and commit" in refused.err
