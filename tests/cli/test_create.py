"""`decide`, `issue`, `state` and `learn`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.errors import USAGE
from tests.conftest import Memctl, changed_in, commits, git


def test_decide_commits_one_file(repo: Path, memctl: Memctl) -> None:
    (repo / "app.py").write_text("print('dirty')\n")
    (repo / "new.py").write_text("x = 1\n")
    git(repo, "add", "new.py")
    before, status = commits(repo), git(repo, "status", "--short")
    made = memctl("decide", "Adopt PostgreSQL", "--rationale", "Orders need transactions")
    assert made.out == "DEC-2025-11-04-001 .memory/decisions/2025-11/DEC-2025-11-04-001-adopt-postgresql.md\n"
    assert commits(repo) == before + 1
    assert changed_in(repo) == [made.out.split()[1]]
    assert git(repo, "status", "--short") == status


def test_tags_may_be_given_together(memctl: Memctl) -> None:
    made = memctl("learn", "Together", "--lesson", "x", "--tag", "a, b", "-t", "c").id
    assert memctl("show", made, "--json").data["records"][0]["tags"] == ["a", "b", "c"]
    assert [r["id"] for r in memctl("list", "--tag", "a,c", "--json").data["records"]] == [made]


@pytest.mark.parametrize("marker", ["2.9", "§2.9", "9.9", "§3.1.7", "2.1/../x", "§nowhere"])
def test_a_record_is_put_only_where_there_is_a_section(repo: Path, memctl: Memctl, marker: str) -> None:
    memctl("section", "add", "Payment")
    memctl("detail", "add", "Cards", "--section", "2.1", "--file", "-", stdin="## Limits\n\nNone.\n")
    memctl("decide", "Spaced", "--section", " 2.1 ", "-n")
    made = memctl("learn", "Placed", "--section", "3.1.1").id
    before = commits(repo)
    refused = [
        memctl("decide", "Lost", "--section", marker, code=USAGE).err,
        memctl("decide", "--file", "-", stdin=f"---\nsection: {marker}\n---\n# Lost\n\nText.\n", code=USAGE).err,
        memctl("edit", made, "--set", f"section={marker}", code=USAGE).err,
    ]
    for told in refused:
        assert f"there is no section §{marker.removeprefix('§')}" in told
        assert "the sections and pages of details are §2.1, §3.1" in told
    assert commits(repo) == before
    memctl("check")


def test_record_of_a_removed_section_can_be_edited(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    path = memctl("learn", "Placed", "--section", "2.1").out.split()[1]
    (repo / path).write_text((repo / path).read_text().replace("§2.1", "§2.9"))
    made = git(repo, "diff", "--name-only").strip().rpartition("/")[2][:18]
    memctl("edit", made, "--set", "importance=9")
    text = memctl("show", made).out
    memctl("edit", made, "--file", "-", stdin=text.replace("Placed", "Found"))
    moved = text.replace("§2.9", "§2.8")
    assert "there is no section §2.8" in memctl("edit", made, "--file", "-", stdin=moved, code=USAGE).err


def test_record_may_name_a_missing_section_before_any_pages_exist(memctl: Memctl) -> None:
    assert memctl("list", "--section", "2.1", "--json").data["total"] == 0
    memctl("decide", "First", "--section", "2.1")
    assert "is not a section marker" in memctl("decide", "Odd", "--section", "9.9", code=1).err


def test_name_of_a_file_is_no_text(repo: Path, memctl: Memctl) -> None:
    (repo / "why.txt").write_text("It has transactions\n")
    before = commits(repo)
    for args in (("--rationale", "@why.txt"), ("--alternative", "MongoDB", "--alternative", "@why.txt")):
        refused = memctl("decide", "Adopt PostgreSQL", *args, code=USAGE).err
        assert f"{args[0]} takes a text, and no file: @why.txt" in refused
        assert f"{args[0]} \"$(cat 'why.txt')\"" in refused
    assert commits(repo) == before
    memctl("decide", "Adopt PostgreSQL", "--rationale", "@ada knows it")


@pytest.mark.parametrize("text", ["TBD", "n/a.", "…", "To be determined"])
def test_placeholders_are_refused(repo: Path, memctl: Memctl, text: str) -> None:
    issue = memctl("issue", "Slow", "--attempted", "none").id
    memctl("section", "add", "Payment")
    whole = memctl("show", issue).out.replace("title: Slow", f"title: {text}")
    before = commits(repo)
    for args in (
        ("decide", text),
        ("decide", "--file", "-"),
        ("decide", "Sound", "--rationale", text),
        ("decide", "Sound", "--alternative", "MongoDB", "--alternative", text),
        ("learn", "Sound", "--lesson", text),
        ("resolve", issue, "--resolution", text),
        ("edit", issue, "--set", f"title={text}"),
        ("edit", issue, "--set", f"resolution={text}"),
        ("edit", issue, "--add", f"attempted={text}"),
        ("project", "set", "--goal", text),
        ("project", "set", "--priority", "Speed", "--priority", text),
        ("section", "add", text),
        ("section", "add", "--file", "-"),
        ("section", "edit", "2.1", "--title", text),
    ):
        assert "is a placeholder, not a real text" in memctl(*args, stdin=f"# {text}\n\nBody.\n", code=USAGE).err, args
    assert "is a placeholder, not a real text" in memctl("edit", issue, "--file", "-", stdin=whole, code=USAGE).err
    assert commits(repo) == before
    memctl("decide", "Sound", "--rationale", "", "--alternative", "none")
    for args in (("decide", "Kept", "--alternative", " "), ("edit", issue, "--next", "A step", "--next", "")):
        refused = memctl(*args, code=USAGE).err
        assert f"{args[2]} has an empty text" in refused
        assert f"hint: give a text, or leave {args[2]} out" in refused
    memctl("resolve", issue)


@pytest.mark.parametrize("text", ["red \x1b[31m", "bell \x07", "feed\x0cthrough", "delete \x7f", "größer \x9b2J"])
def test_no_command_writes_a_control_character(repo: Path, memctl: Memctl, text: str) -> None:
    memctl("section", "add", "Payment")
    issue = memctl("issue", "Slow").id
    line = {"memory_type": "decision", "title": "From elsewhere", "content": {"decision": text}}
    before = commits(repo)
    for args, stdin in (
        (("decide", "Sound", "--rationale", text), ""),
        (("decide", "--file", "-"), f"# Sound\n\n## Decision\n\n{text}\n"),
        (("edit", issue, "--add", f"attempted={text}"), ""),
        (("edit", issue, "--file", "-"), f"{memctl('show', issue).out}\n{text}\n"),
        (("resolve", issue, "--resolution", text), ""),
        (("import", "-"), json.dumps(line) + "\n"),
        (("section", "edit", "2.1", "--file", "-"), f"## Purpose\n\n{text}\n"),
    ):
        assert "the control character '\\x" in memctl(*args, stdin=stdin, code=1).err, args
    assert commits(repo) == before
    assert not memctl("status", "--json").data["pending"]


def test_control_characters_in_an_existing_record_survive_edit_and_restore(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Red", "--lesson", "Red here").id
    file = next(repo.rglob(f"{made}*.md"))
    file.write_text(file.read_text().replace("Red here", "Red \x1b[31m here\tand\n\nthere"))
    memctl("commit")
    assert "MEM112" in memctl("check").out
    memctl("edit", made, "--set", "importance=9")
    memctl("delete", made)
    memctl("restore", made)
    assert "\x1b[31m" in file.read_text()
    text = memctl("show", made).out
    memctl("edit", made, "--file", "-", stdin=text.replace("\x1b[31m", ""))
    assert "MEM112" not in memctl("check").out


def test_code_is_named_from_the_folder_in_which_memctl_runs(repo: Path, memctl: Memctl) -> None:
    folder = repo / "src" / "shop"
    folder.mkdir(parents=True)
    (folder / "till.py").write_text("one = 1\n")
    for given, expected in (
        ("till.py:1", "src/shop/till.py:1"),
        ("src/shop/till.py", "src/shop/till.py"),
        ("../shop/till.py", "src/shop/till.py"),
        ("missing.py", "missing.py"),
    ):
        record = memctl("decide", f"By {given}", "--rationale", "It is", "--code", given, where=folder).id
        assert memctl("show", record, "--json").data["records"][0]["code_refs"] == [expected]
    memctl("edit", record, "--code", "till.py", where=folder)
    assert memctl("show", record, "--json").data["records"][0]["code_refs"] == ["missing.py", "src/shop/till.py"]
    memctl("section", "add", "Till", "--path", "till.py", where=folder)
    assert "src/shop/till.py" in (repo / ".memory" / "sections" / "2.1-till.md").read_text()
