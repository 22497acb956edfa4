"""`search` and packs over pages, sessions and checkpoints, and what other tools call a record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Memctl, git

PAGE = """---
id: §3.1
title: Core in detail
section: §2.1
---

## Invocation

A context is pushed before a command is invoked.

## UNSET sentinel

`Sentinel.UNSET` must not leak through Context.invoke().
"""


@pytest.fixture
def page(repo: Path, memctl: Memctl) -> Path:
    memctl("section", "add", "Core", "--overview", "Commands and contexts.")
    file = repo / ".memory" / "details" / "3.1-core-in-detail.md"
    file.parent.mkdir()
    file.write_text(PAGE)
    return file


def test_page_heading_is_found_and_packed_before_unrelated_records(page: Path, memctl: Memctl) -> None:
    memctl("learn", "Type annotations", "--lesson", "Annotate the public API")
    [result] = memctl("search", "UNSET sentinel", "--json").data["results"]
    assert (result["type"], result["id"], result["title"]) == ("page", "§3.1.2", "UNSET sentinel")
    assert result["open"] == "memctl show §3.1.2"
    pack = memctl("rehydrate", "--task", "UNSET sentinel leak").out
    assert "Nothing recorded matches" not in pack
    assert pack.index("must not leak") < pack.index("Type annotations")


def test_type_options_choose_the_searched_types(page: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Sentinels", "--lesson", "An UNSET sentinel is no value").id
    memctl("checkpoint", "save", "--task", "Sentinel clean-up", "--doing", "UNSET", "--next", "A test")

    def found(*types: str) -> set[str]:
        options = [word for name in types for word in ("--type", name)]
        return {r["id"] for r in memctl("search", "UNSET sentinel", *options, "--json").data["results"]}

    assert found("record") == found("learning") == {made}
    assert found("page") == {"§3.1.2"}
    [saved] = found("checkpoint")
    assert found("page", "checkpoint") == {"§3.1.2", saved}
    assert found() == {made, "§3.1.2", saved}
    [result] = memctl("search", "sentinel", "--type", "checkpoint", "--json").data["results"]
    assert result["open"] == f"memctl checkpoint show {saved}"
    assert "UNSET" in memctl("checkpoint", "show", saved).out
    assert f"(`memctl checkpoint show {saved}`)" in memctl("search", "sentinel").out


def test_record_is_found_and_shown_by_its_external_id(memctl: Memctl) -> None:
    lines = [
        {"memory_type": "issue", "title": "Threads of messages", "body": "Reply.", "extra": {"external_id": "bd-xmf"}},
        {"memory_type": "issue", "title": "See bd-xmf", "body": "bd-xmf, bd-xmf and bd-xmf again.", "importance": 9},
    ]
    memctl("import", "-", stdin="\n".join(map(json.dumps, lines)))
    results = memctl("search", "bd-xmf", "--json").data["results"]
    assert [result["title"] for result in results] == ["Threads of messages", "See bd-xmf"]
    assert memctl("search", "--related", "bd-xmf", "--json").data["to"] == results[0]["id"]
    assert "Threads of messages" in memctl("show", "BD-xmf").out
    assert "there is no record" in memctl("show", "bd-xmg", code=1).err


def test_files_are_searched_only_with_type_file(repo: Path, memctl: Memctl) -> None:
    (repo / "pager.py").write_text('def open_pager():\n    """Show a zebra on a console."""\n')
    memctl("decide", "Paint the zebra", "--rationale", "It is striped")
    assert [result["kind"] for result in memctl("search", "zebra", "--json").data["results"]] == ["decision"]
    [result] = memctl("search", "zebra", "--type", "file", "--json").data["results"]
    assert (result["type"], result["id"], result["path"], result["open"]) == ("file", *["pager.py"] * 3)
    both = memctl("search", "zebra", "--type", "file", "--type", "record", "--json").data["results"]
    assert {result["kind"] for result in both} == {"decision", "file"}
    assert "its text has zebra" in memctl("search", "zebra", "--type", "file").out
    assert memctl("search", "zebra", "--type", "file", "--importance", "3", "--json").data["results"] == []


def test_files_of_a_revision_are_found_by_their_text_at_that_revision(repo: Path, memctl: Memctl) -> None:
    (repo / "pager.py").write_text("PAGER = 'zebra'\n")
    (repo / "lamp.py").write_text("LAMP = 'zebra'\n")
    (repo / ".memctlignore").write_text("lamp.py\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "zebras")
    (repo / "pager.py").write_text("PAGER = 'okapi'\n")
    (repo / ".memctlignore").unlink()

    def found(word: str, *at: str) -> list[str]:
        return [one["id"] for one in memctl("search", word, "--type", "file", "--json", *at).data["results"]]

    assert (found("zebra", "--at", "HEAD"), found("okapi", "--at", "HEAD")) == (["pager.py"], [])
    assert (found("zebra"), found("okapi")) == (["lamp.py"], ["pager.py"])
    assert found("zebra", "--at", "HEAD~1") == []
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "remote.origin.partialclonefilter", "blob:none")
    assert "leave out --at" in memctl("search", "zebra", "--type", "file", "--at", "HEAD", code=2).err
