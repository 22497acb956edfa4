"""`memctl page impact BASE...HEAD`: what a reviewer of a branch wants to know, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.check.test_formats import check_sarif
from tests.conftest import Memctl, git

PAY = "import psycopg\n\n\ndef pay():\n    return 1\n\n\ndef refund():\n    return 2\n"


@pytest.fixture
def branch(repo: Path, memctl: Memctl) -> Path:
    """Return a repository with a decision, a section and a page, on a new branch `side`."""
    write(repo, "src/pay.py", PAY)
    memctl("section", "add", "Payments", "--path", "src/**", "--overview", "See §4.src/pay.py.")
    reasons = ("--rationale", "Orders need transactions. They come in pairs.")
    memctl("decide", "Adopt PostgreSQL", *reasons, "--alternative", "MongoDB: no joins", "--code", "src/pay.py:4-5")
    git(repo, "checkout", "-qb", "side")
    return repo


def write(repo: Path, name: str, text: str, subject: str = "feat: change the code") -> None:
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    (repo / name).write_text(text)
    git(repo, "add", name)
    git(repo, "commit", "-qm", subject)


def review(memctl: Memctl, kind: str) -> list[dict[str, Any]]:
    rows = memctl("impact", "main...side", "--json").data["review"]
    return [row for row in rows if row["kind"] == kind]


def governing(memctl: Memctl) -> list[tuple[str, list[str], int]]:
    return [(row["name"], row["places"], row["line"]) for row in review(memctl, "governing")]


def rejected(memctl: Memctl) -> list[tuple[str, list[str]]]:
    return [(row["name"], row["places"]) for row in review(memctl, "rejected")]


@pytest.mark.parametrize(
    ("text", "is_governed"),
    [
        (PAY.replace("return 1", "return 3"), True),
        (PAY.replace("    return 1", "    audit()\n    return 1"), True),
        (PAY.replace("    return 1\n", ""), True),
        (PAY.replace("return 2", "return 4"), False),
        ("import os\n" + PAY, False),
        (PAY + "\n\ndef more():\n    return 5\n", False),
    ],
)
def test_decision_governs_the_lines_that_it_names(branch: Path, memctl: Memctl, text: str, is_governed: bool) -> None:
    write(branch, "src/pay.py", text)
    assert bool(governing(memctl)) is is_governed


def test_records_without_code_govern_the_code_of_their_section(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    row = memctl("learn", "Retry once", "--lesson", "Twice charges twice", "--section", "2.3").id
    git(branch, "checkout", "-qB", "side")
    write(branch, "src/pay.py", PAY + "x = 1\n")
    assert governing(memctl) == [(row, ["§2.3"], 1)]


def test_lines_of_a_decision_are_followed_to_where_the_branch_began(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    write(branch, "src/pay.py", "import os\nimport sys\n" + PAY)
    git(branch, "checkout", "-qB", "side")
    write(branch, "src/pay.py", "import os\nimport sys\n" + PAY.replace("return 1", "return 3"))
    assert governing(memctl) == [("DEC-2025-11-04-001", ["src/pay.py:4-5"], 7)]


def test_files_folders_and_deleted_files_are_governed(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    write(branch, "lib/a.py", "a = 1\n")
    whole = memctl("decide", "One file", "--rationale", "x", "--code", "lib/a.py").id
    folder = memctl("learn", "A folder", "--lesson", "x", "--code", "lib/").id
    closed = memctl("decide", "Not any more", "--rationale", "x", "--code", "lib/a.py").id
    memctl("edit", closed, "--status", "deprecated")
    git(branch, "checkout", "-qB", "side")
    git(branch, "rm", "-q", "lib/a.py")
    git(branch, "commit", "-qm", "refactor: less")
    assert [row[:2] for row in governing(memctl)] == [(whole, ["lib/a.py"]), (folder, ["lib/"])]


def test_records_that_the_branch_adds_changes_supersedes_and_deletes(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    issue, gone = memctl("issue", "Slow").id, memctl("learn", "Gone", "--lesson", "x").id
    git(branch, "checkout", "-qB", "side")
    new = memctl("decide", "Adopt SQLite", "--rationale", "x", "--supersedes", "DEC-2025-11-04-001").id
    memctl("resolve", issue, "--resolution", "fixed")
    memctl("delete", gone)
    assert {row["name"]: row["text"] for row in review(memctl, "record")} == {
        "DEC-2025-11-04-001": "superseded (accepted -> superseded): Adopt PostgreSQL",
        new: "added: Adopt SQLite",
        issue: "changed (open -> resolved): Slow",
        gone: "deleted: Gone",
    }


def test_rejected_option_is_found_in_code_records_and_subjects(branch: Path, memctl: Memctl) -> None:
    write(branch, "src/pay.py", PAY.replace("psycopg", "pymongo"), "feat: payments on mongodb")
    tip = git(branch, "rev-parse", "HEAD").strip()
    new = memctl("decide", "Use MongoDB for payments", "--rationale", "Easy to shard").id
    assert rejected(memctl) == [("MongoDB", ["src/pay.py:1", new, f"commit {tip[:10]}"])]


@pytest.mark.parametrize(
    ("name", "text", "subject"),
    [
        ("src/pay.py", PAY + "# unlike MongoDB\n", "feat: a comment"),
        ("src/pay.py", PAY + 'def more():\n    """As MongoDB does."""\n', "feat: a docstring"),
        ("src/pay.js", "/* as in\n   MongoDB */\nlet a = 1\n", "feat: a comment of lines"),
        ("Dockerfile", "FROM scratch\n# mongo:7\n", "build: an image"),
        ("README.md", "We do not use MongoDB, but import pymongo.\n", "feat: a document"),
        ("tests/test_pay.py", "import pymongo\n", "feat: a test"),
        ("uv.lock", 'name = "pymongo"\n', "build: lock"),
        ("src/pay.py", PAY + "x = 1\n", "docs: compare with MongoDB"),
        ("src/pay.py", PAY + "x = 1\n", "refactor: remove what MongoDB needed"),
        ("src/pay.py", PAY + "among = mongolia = 1\n", "feat: names"),
    ],
)
def test_mention_of_a_rejected_option_does_not_bring_it_back(
    branch: Path, memctl: Memctl, name: str, text: str, subject: str
) -> None:
    write(branch, name, text, subject)
    assert rejected(memctl) == []


def test_option_that_the_base_uses_or_that_only_moves_is_not_brought_back(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    write(branch, "src/old.py", "import pymongo\n")
    git(branch, "checkout", "-qB", "side")
    git(branch, "mv", "src/old.py", "src/new.py")
    write(branch, "src/more.py", "import pymongo\n")
    assert rejected(memctl) == []


def test_record_that_answers_the_decision_brings_nothing_back(branch: Path, memctl: Memctl) -> None:
    write(branch, "src/pay.py", "import pymongo\n")
    memctl("decide", "Use MongoDB", "--rationale", "Easy to shard", "--supersedes", "DEC-2025-11-04-001")
    assert rejected(memctl) == []


def test_only_what_the_branch_made_stale_or_wrong_is_reported(branch: Path, memctl: Memctl) -> None:
    git(branch, "checkout", "-q", "main")
    memctl("learn", "Old fault", "--lesson", "See DEC-2020-01-01-001")
    write(branch, "src/other.py", "a = 1\n")
    memctl("section", "add", "Other", "--path", "src/other.py", "--overview", "See §4.src/other.py.")
    write(branch, "src/other.py", "a = 2\n")  # stale before the branch
    git(branch, "checkout", "-qB", "side")
    write(branch, "src/pay.py", PAY + "x = 1\n")
    write(branch, "src/other.py", "a = 2\nb = 3\n")
    memctl("learn", "New fault", "--lesson", "See DEC-2020-01-01-002")
    assert [row["name"] for row in review(memctl, "stale")] == ["§2.3"]  # §2.4 was stale before
    assert ["DEC-2020-01-01-002" in row["text"] for row in review(memctl, "check")] == [True]
    assert memctl("impact", "main...side", "--fail-on", "stale", code=1)
    assert memctl("impact", "main...side", "--fail-on", "rejected", code=0)


def test_id_and_number_that_both_gave_are_named_with_the_renumbering(branch: Path, memctl: Memctl) -> None:
    theirs = memctl("decide", "Use a queue", "--rationale", "x").id
    memctl("section", "add", "Theirs")
    git(branch, "checkout", "-q", "main")
    path = f".memory/decisions/2025-11/{theirs}-use-a-log.md"
    text = next((branch / ".memory/decisions/2025-11").glob("*-001-*")).read_text().replace("-001", "-002")
    write(branch, path, text)
    write(branch, ".memory/sections/2.4-ours.md", (branch / ".memory/sections/2.3-payments.md").read_text())
    assert [row["name"] for row in review(memctl, "shared")] == [theirs, "§2.4"]
    told = memctl("impact", "main...side", "--format", "markdown", "--fail-on", "error", code=1).out
    assert (
        f"- **{theirs}**: the base gave it, too: {path}; after the merge, `memctl renumber` gives one of them a new one"
        in told
    )


def test_markdown_has_no_html_mention_or_link_of_a_record(branch: Path, memctl: Memctl) -> None:
    memctl("learn", "<img src=x> @ada [a](http://x) | `b`", "--lesson", "x")
    told = memctl("impact", "main...side", "--format", "markdown").out
    assert told == (
        "<!-- memctl impact -->\n### memctl: 1 changed record\n\n**Records of this branch**\n\n"
        "- **LRN-2025-11-04-001**: added: \\<img src=x> &#64;ada \\[a\\](http://x) \\| `b` "
        "(`.memory/learnings/2025-11/LRN-2025-11-04-001-img-src-x-ada-a-http-x-b.md`)\n"
    )


def test_github_and_sarif_name_the_changed_lines(branch: Path, memctl: Memctl) -> None:
    write(branch, "src/pay.py", PAY.replace("return 1", "return mongodb()"))
    lines = memctl("impact", "main...side", "--format", "github").out.splitlines()
    assert [line.partition("::")[2].partition("::")[0].split(",title=")[0] for line in lines] == [
        "warning file=src/pay.py,line=5",
        "notice file=src/pay.py,line=5",
        "warning file=.memory/sections/2.3-payments.md,line=7",
    ]
    log = json.loads(memctl("impact", "main...side", "--format", "sarif").out)
    assert [row["ruleId"] for row in check_sarif(log)] == ["MEM701", "MEM703", "MEM208"]


def test_review_of_nothing_says_so(branch: Path, memctl: Memctl) -> None:
    assert "nothing to say about main...side" in memctl("impact", "main...side").err
    assert memctl("impact", "main...side", "--format", "markdown").out == (
        "<!-- memctl impact -->\n### memctl: nothing to say about this change\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["src", "--format", "github"], "--format github is for the review of a branch"),
        (["--fail-on", "error"], "--fail-on is for the review of a branch"),
    ],
)
def test_what_only_a_range_has_is_refused_with_the_range(
    branch: Path, memctl: Memctl, arguments: list[str], message: str
) -> None:
    told = memctl("impact", *arguments, code=2).err
    assert message in told
    assert "...HEAD" in told


def test_revision_alone_gets_a_hint_at_the_range(branch: Path, memctl: Memctl) -> None:
    tip = git(branch, "rev-parse", "--short=10", "HEAD~1").strip()
    told = memctl("impact", "HEAD~1", code=2).err
    assert f"hint: HEAD~1 is the commit {tip}: `memctl page impact HEAD~1...HEAD` reviews what came after it" in told


def test_shallow_clone_says_in_one_line_what_it_needs(branch: Path, memctl: Memctl, tmp_path: Path) -> None:
    write(branch, "src/pay.py", PAY + "x = 1\n")
    git(branch, "checkout", "-q", "main")
    write(branch, "src/b.py", "b = 1\n")
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{branch}", str(clone))
    told = memctl("impact", "main...origin/side", code=1, where=clone).err
    assert "this shallow clone lacks the commit at which the two branches part" in told
    assert "git fetch --unshallow" in told
    git(clone, "fetch", "-q", "--unshallow")
    assert "Pages to review" in memctl("impact", "main...origin/side", where=clone).out
