"""Hints: one line for whoever writes a record that is of little use, or names what is not there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git

DIFF = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-the old line of it\n+the new line of it\n"
TRACE = '  File "x.py", line 3, in run\n  File "y.py", line 9, in go\n'
LOG = "2025-11-04 10:00:01 worker started with 4 threads\n2025-11-04 10:00:02 worker stopped\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["decide", "Use a queue"], "the decision gives no reason"),
        (["decide", "Perhaps use Redis", "--rationale", "It is fast"], "'perhaps'"),
        (["decide", "Use Redis", "--rationale", "not decided yet"], "'not decided'"),
        (["learn", "Test duration", "--lesson", "took 41.7 s"], "the lesson is only a program's output"),
        (["learn", "Patch", "--lesson", DIFF], "the lesson is only a program's output"),
        (["learn", "Trace", "--lesson", TRACE], "the lesson is only a program's output"),
        (["learn", "Log", "--lesson", LOG], "the lesson is only a program's output"),
        (["issue", "Slow", "--code", "src/nope.py"], "src/nope.py is not a file of the repository"),
        (["issue", "Slow", "--code", "src/n*.py"], "src/n*.py is not a file of the repository"),
        (["issue", "Slow", "--description", "As in DEC-2020-01-01-001"], "DEC-2020-01-01-001 does not exist"),
        (["section", "add", "Core", "--path", "src/clik/**"], "src/clik/** matches no file"),
        (["learn", "Slow", "--timestamp", "9999-12-31"], ", 9999-12-31T00:00:00Z, is in the future"),
        (["learn", "Slow", "--timestamp", "0001-01-01"], ", 0001-01-01T00:00:00Z, is before 1970"),
        (["learn", "Slow", "--expires", "2020-01-01"], " expired at 2020-01-01T23:59:59Z, so packs leave it out"),
        (["learn", "Slow", "--lesson", "word " * 3200], "tokens; the limit is 3,000"),
    ],
)
def test_record_that_lacks_something_gets_one_hint_and_is_refused_if_strict(
    repo: Path, memctl: Memctl, arguments: list[str], hint: str
) -> None:
    before = commits(repo)
    refused = memctl(*arguments, "--strict", code=1)
    assert hint in refused.err
    assert "nothing was written" in refused.err
    assert (commits(repo), git(repo, "status", "--short")) == (before, "")
    told = memctl(*arguments).err
    assert told.startswith("hint: ")
    assert hint in told
    assert told.count("\n") == 1


def test_record_with_a_reason_and_existing_code_gets_no_hint(repo: Path, memctl: Memctl) -> None:
    (repo / "src").mkdir()
    (repo / "src/pool.py").write_text("x = 1\n")
    memctl("section", "add", "Core", "--path", "src/**")
    for arguments in (
        ["decide", "Use a heap instead of a list"],
        ["decide", "Use Redis", "--alternative", "A file: locks", "--code", "src/pool.py:1", "--section", "2.1"],
        ["decide", "Perhaps a tree", "--status", "proposed", "--context", "Lookups are slow"],
        ["learn", "Pool size beats retries", "--lesson", "With 30 s of retries the pool of 8 looks empty, see §2.1"],
        ["issue", "Flaky", "--description", LOG, "--code", "src"],
    ):
        assert memctl(*arguments, "--strict").err == ""


def test_missing_file_or_line_gets_a_hint_with_the_nearest_file(repo: Path, memctl: Memctl) -> None:
    (repo / "pool.py").write_text("x = 1\n")
    assert (
        "pool.py has 1 line, so line 900 does not exist"
        in memctl("issue", "Slow", "--code", "pool.py:900", "--strict", code=1).err
    )
    assert "did you mean pool.py?" in memctl("issue", "Slow", "--code", "pol.py").err


def test_edit_gets_hints_only_for_what_it_adds(memctl: Memctl) -> None:
    made = memctl("decide", "Use a queue").id
    assert memctl("edit", made, "--set", "importance=9").err == ""
    assert "nope.py" in memctl("edit", made, "--add", "code_refs=nope.py").err
    assert "gone.py" in memctl("edit", made, "--add", "code_refs=gone.py", "--strict", code=1).err
    text = memctl("show", made).out
    assert (
        "'maybe'"
        in memctl(
            "edit", made, "--allow-accepted", "--file", "-", stdin=text.replace("Use a queue", "Maybe a queue")
        ).err
    )


def test_record_from_a_file_or_edited_by_hand_gets_hints(repo: Path, memctl: Memctl) -> None:
    assert "'perhaps'" in memctl("decide", "--file", "-", stdin="# DECISION: perhaps Redis\n\nRationale: fast\n").err
    path = repo / memctl("learn", "Pool", "--lesson", "Retries hide an exhausted pool").out.split()[1]
    path.write_text(path.read_text().replace("Retries hide an exhausted pool", "took 41.7 s"))
    refused = memctl("commit", "--strict", code=1)
    assert "the lesson is only a program's output" in refused.err
    assert "the lesson is only a program's output" in memctl("commit", "-n").err
    assert "hint: the lesson is only a program's output" in memctl("commit").err
    assert memctl("show", path.name[:18], "--json").data["records"][0]["content"]["lesson"] == "took 41.7 s"


def test_json_output_has_the_hints(memctl: Memctl) -> None:
    assert "the decision gives no reason" in memctl("decide", "Use a queue", "--json").data["advice"][0]


def test_record_deleted_by_hand_is_committed_as_deleted(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Pool", "--lesson", "Retries hide an exhausted pool")
    (repo / made.out.split()[1]).unlink()
    assert f"{made.id} deleted by hand" in memctl("commit").out


@pytest.mark.parametrize("command", ["learn", "decide", "issue", "state"])
def test_second_record_of_a_title_gets_a_hint_that_names_the_first(memctl: Memctl, command: str) -> None:
    reason = ["--rationale", "r"] if command == "decide" else []
    first = memctl(command, "Pool size", *reason)
    assert first.err == ""
    second = memctl(command, "Pool size", *reason, *(["--new"] if command == "state" else []))
    assert second.err.startswith(f"hint: near: {first.id} Pool size: `memctl ")
    given = second.err.split("`")[1]
    assert memctl("state" if command == "issue" else "issue", "Pool size").err == ""
    memctl(*shlex.split(given)[1:])  # as the hint says
    if command != "issue":
        assert memctl(command, "Pool size", *reason, "--supersedes", second.id).err == ""
    assert memctl(command, "Other size", *reason).err == ""


def test_glob_as_a_code_reference_is_answered_with_its_folder_by_the_command_and_by_check(
    repo: Path, memctl: Memctl
) -> None:
    (repo / "src").mkdir()
    (repo / "src/pool.py").write_text("x = 1\n")
    hint = "code references can't be globs; name each file, or a folder such as src/"
    assert hint in memctl("learn", "Slow pool", "--lesson", "Never open the pool twice.", "--code", "src/p*.py").err
    assert f"hint: {hint}\n" in memctl("check", code=None).out
    elsewhere = memctl("learn", "Old card", "--lesson", "Its reader is wiped weekly.", "--code", "srcx/p*.py").err
    assert "code references can't be globs; name each file, or a folder\n" in elsewhere


def test_former_name_of_a_file_is_answered_with_the_new_one(repo: Path, memctl: Memctl) -> None:
    (repo / "src").mkdir()
    (repo / "src/pool.py").write_text("".join(f"x = {number}\n" for number in range(20)))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "pool")
    git(repo, "mv", "src/pool.py", "connections.py")
    for _ in range(2):  # staged, then committed
        for path in ("src/pool.py:3", "src/pool.py"):
            assert "it was renamed to connections.py" in memctl("issue", f"Slow {path}", "--code", path).err
        git(repo, "commit", "-qm", "connections", "--allow-empty")


def test_record_that_takes_up_a_rejected_option_gets_a_hint_that_names_the_decision(memctl: Memctl) -> None:
    old = memctl("decide", "Adopt PostgreSQL", "--rationale", "Orders", "--alternative", "MongoDB: no joins").id
    told = memctl("decide", "Use MongoDB for payments", "--rationale", "Easy to shard").err
    assert (
        f'rejected before: {old} Adopt PostgreSQL, alternative "MongoDB: no joins": `memctl supersede {old} DEC-'
        in told
    )
    for title, arguments in (
        ("Drop MongoDB", ()),
        ("Use MongoDB for carts", ("--supersedes", old)),
    ):
        assert "rejected before" not in memctl("decide", title, "--rationale", "x", *arguments).err
    assert "rejected before" not in memctl("learn", "MongoDB loses writes", "--lesson", "x").err


def test_option_that_the_code_uses_gets_no_hint(repo: Path, memctl: Memctl) -> None:
    (repo / "db.py").write_text("import pymongo\n")
    git(repo, "add", "db.py")
    git(repo, "commit", "-qm", "feat: orders")
    memctl("decide", "Adopt PostgreSQL", "--rationale", "Orders", "--alternative", "MongoDB: no joins")
    assert "rejected before" not in memctl("decide", "Use MongoDB for payments", "--rationale", "x").err


def test_a_short_form_of_not_is_a_negation(memctl: Memctl) -> None:
    memctl("decide", "We use PostgreSQL for orders", "--rationale", "It has transactions.")
    told = memctl("decide", "We don't use PostgreSQL for orders", "--rationale", "Nobody runs it here.").err
    assert "may contradict: DEC-2025-11-04-001" in told
