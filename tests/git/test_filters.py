"""Memories whose files have a filter in Git, as with git-crypt, transcrypt and Git LFS."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git
from tests.store.test_sessions_ref import REF

ROT = "tr 'A-Za-z' 'N-ZA-Mn-za-m'"
CLEAN = (
    "sh -c 'cat >{store}/new; name=$(git hash-object --no-filters {store}/new);"
    " cp {store}/new {store}/$name; echo pointer $name'"
)
SMUDGE = "sh -c 'read -r _ name; cat {store}/$name'"
# attributes, and the programs that encode and decode
FORMS = {
    "all of it encoded": (".memory/** filter=odd", ROT, ROT),
    "attributes inside": (".memory/.gitattributes:* filter=odd", ROT, ROT),
    "pointers for Markdown": ("*.md filter=odd", CLEAN, SMUDGE),
    "another encoding": ("*.md working-tree-encoding=UTF-8", "cat", "cat"),
}


@pytest.fixture(params=FORMS)
def filtered(repo: Path, memctl: Memctl, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A repository whose memory has a filter, with memctl's hook."""
    memctl("install", "git")
    attributes, clean, smudge = FORMS[request.param]
    (tmp_path / "store").mkdir()
    set_up(repo, clean.format(store=tmp_path / "store"), smudge.format(store=tmp_path / "store"))
    name, colon, line = attributes.partition(":")
    file = repo / (name if colon else ".gitattributes")
    file.write_text(f"{line if colon else attributes}\n")
    git(repo, "add", "--renormalize", ".memory")
    git(repo, "add", str(file))
    git(repo, "commit", "-qnm", "filter")
    return repo


def set_up(repo: Path, clean: str, smudge: str) -> None:
    git(repo, "config", "filter.odd.clean", clean)
    git(repo, "config", "filter.odd.smudge", smudge)
    git(repo, "config", "filter.odd.required", "true")


def test_commands_read_filtered_files_as_a_checkout_does(filtered: Path, memctl: Memctl) -> None:
    first, second = memctl("decide", "One", "--rationale", "r"), memctl("decide", "Two words", "--rationale", "r")
    assert first.err == second.err == ""
    titles = [record["title"] for record in memctl("list", "--at", "HEAD", "--json").data["records"]]
    assert sorted(titles) == ["One", "Two words"]
    assert "Two words" in memctl("show", second.id, "--at", "HEAD").out
    assert memctl("check", "--staged").out == ""
    memctl("undo")
    memctl("delete", first.id, "--reason", "r")
    memctl("restore", first.id)
    assert git(filtered, "status", "--porcelain") == ""


def test_users_commit_is_not_refused_for_a_filter(filtered: Path, memctl: Memctl) -> None:
    made = memctl("decide", "One", "--rationale", "r", "--no-commit")
    before = commits(filtered)
    (filtered / "app.py").write_text("# more\n")
    git(filtered, "add", "-A")
    git(filtered, "commit", "-qm", "mine")
    assert commits(filtered) == before + 1
    assert made.id in memctl("list", "--at", "HEAD").out


def test_what_memctl_stores_on_its_own_refs_is_encoded(repo: Path, memctl: Memctl) -> None:
    set_up(repo, ROT, ROT)
    (repo / ".gitattributes").write_text(".memory/** filter=odd\n")
    git(repo, "config", "memctl.commits", "later")
    memctl("learn", "Lighthouse", "--lesson", "x")
    git(repo, "config", "memctl.hookCommits", "records")
    memctl("checkpoint", "save", "--task", "Lighthouse")
    for ref in git(repo, "for-each-ref", "--format=%(refname)", "refs/memctl").split():
        assert ref == REF or ref.startswith("refs/memctl/changes")
        assert "Lighthouse" not in git(repo, "grep", "-h", "", ref, "--", ".memory")


def test_a_filter_that_is_not_set_up_is_named(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    set_up(repo, ROT, ROT)
    (repo / ".gitattributes").write_text(".memory/** filter=odd\n")
    git(repo, "add", ".gitattributes")
    git(repo, "add", "--renormalize", ".memory")
    git(repo, "commit", "-qnm", "filter")
    git(tmp_path, "clone", "-q", str(repo), "locked")
    for args in (("list",), ("check",), ("status",)):
        said = memctl(*args, where=tmp_path / "locked", code=1).err
        assert "config.yaml can't be read: .gitattributes gives it a filter" in said
        assert "git-crypt unlock" in said
    git(repo, "config", "filter.odd.smudge", "false")
    assert "Git can't decode .memory/" in memctl("list", "--at", "HEAD", code=1).err


def test_a_filter_of_records_alone_that_is_not_set_up_is_named(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    memctl("decide", "Sell tea", "--rationale", "x")
    set_up(repo, ROT, ROT)
    (repo / ".gitattributes").write_text(".memory/decisions/** filter=odd\n")
    git(repo, "add", ".gitattributes")
    git(repo, "add", "--renormalize", ".memory")
    git(repo, "commit", "-qnm", "filter")
    git(tmp_path, "clone", "-q", str(repo), "locked")
    for args in (("list",), ("check",), ("search", "tea"), ("rehydrate",)):
        said = memctl(*args, where=tmp_path / "locked", code=None).err
        assert "a filter, which may not have decoded it here" in said, args
        assert "correct the file" not in said, args


def test_sync_does_not_merge_filtered_files(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    set_up(repo, ROT, ROT)
    (repo / ".gitattributes").write_text(".memory/** filter=odd\n")
    git(repo, "add", ".gitattributes")
    git(repo, "add", "--renormalize", ".memory")
    git(repo, "commit", "-qnm", "filter")
    git(tmp_path, "clone", "-q", "--bare", str(repo), "hub.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(tmp_path, "clone", "-qn", "hub.git", "two")
    set_up(tmp_path / "two", ROT, ROT)
    git(tmp_path / "two", "checkout", "-q")
    git(tmp_path / "two", "config", "memctl.trusted", "true")
    memctl("learn", "There", "--lesson", "x", where=tmp_path / "two")
    memctl("sync", where=tmp_path / "two")
    memctl("learn", "Here", "--lesson", "x")
    failed = memctl("sync", "origin", code=1)
    assert "gives files in .memory/ a filter" in failed.err
    git(repo, "merge", "-q", "--no-edit", "origin/main")
    memctl("sync", "origin")
    assert git(repo, "rev-parse", "HEAD") == git(tmp_path / "hub.git", "rev-parse", "main")
