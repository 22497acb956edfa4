"""Issues of beads and tasks of Backlog.md, as these tools write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import Memctl, commits

BEADS: tuple[dict[str, Any], ...] = (
    {"id": "sh-1", "title": "Checkout", "issue_type": "epic", "status": "open", "priority": 1,
     "created_at": "2025-03-01T10:00:00.123456-07:00", "created_by": "mira"},
    {"id": "sh-2", "title": "Slow till " + "and so on " * 10, "status": "in_progress", "priority": 0,
     "issue_type": "bug", "labels": ["till", "a,b"], "description": "It hangs.", "notes": "The lock is kept.",
     "design": "Wait without it.", "acceptance_criteria": "No hang.", "assignee": "ada",
     "comments": [{"author": "bo", "created_at": "2025-03-02", "text": "Seen twice."}],
     "dependencies": [{"issue_id": "sh-2", "depends_on_id": "sh-1", "type": "parent-child"},
                      {"issue_id": "sh-2", "depends_on_id": "sh-3", "type": "blocks"},
                      {"issue_id": "sh-2", "depends_on_id": "sh-gone", "type": "blocks"},
                      {"issue_id": "sh-2", "depends_on_id": "sh-1", "type": "discovered-from"}]},
    {"id": "sh-3", "title": "Lock", "status": "closed", "priority": 3, "close_reason": "Split in two",
     "dependencies": [{"issue_id": "sh-3", "depends_on_id": "sh-2", "type": "blocks"}]},
    {"id": "sh-4", "title": "Deleted", "status": "tombstone"},
    {"title": "No id"},
)  # fmt: skip
TASK = """---
id: BACK-45.02
title: Print the receipt
status: {status}
assignee: @ada
reporter: @mira
created_date: '2025-07-03 21:21'
labels: [till, paper]
dependencies: [task-46]
parent_task_id: task-45
priority: high
modified_files: [src/print.ts, https://example.org/x]
references: [https://example.org/1]
---

## Description

<!-- SECTION:DESCRIPTION:BEGIN -->
Nothing is printed.
<!-- SECTION:DESCRIPTION:END -->

## Acceptance Criteria
<!-- AC:BEGIN -->
- [x] #1 A receipt comes out
<!-- AC:END -->

## Final Summary

It prints.
"""


@pytest.fixture
def beads(tmp_path: Path) -> Path:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(issue) for issue in BEADS) + b"\n\n")
    return path


@pytest.fixture
def backlog(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "backlog" / "tasks"
    folder.mkdir(parents=True)
    (folder / "back-45.02 - print.md").write_text(TASK.format(status="Done"))
    for number, title in ((45, "The till"), (46, "Paper")):
        head = f"id: BACK-{number}\ntitle: {title}\nstatus: To Do\ncreated_date: '2025-07-01'"
        (folder / f"back-{number} - x.md").write_text(f"---\n{head}\n---\n\n## Description\n\nx\n")
    (folder / "README.md").write_text("# Tasks\n")
    return tmp_path / "project"


def show(memctl: Memctl, identifier: str) -> dict[str, Any]:
    found: dict[str, Any] = memctl("show", identifier, "--json").data["records"][0]
    return found


def test_issues_of_beads_are_imported_with_ids_links_and_fields(repo: Path, memctl: Memctl, beads: Path) -> None:
    made = memctl("import", "beads", str(beads))
    assert "line 5: this is not an issue of beads: `id` or `title` is missing" in made.err
    assert "line 2 (sh-2): blocked_by: links to records that do not exist are not imported: sh-gone" in made.err
    assert "the links form a circle: " in made.err
    epic, slow, lock = (show(memctl, name) for name in ("sh-1", "sh-2", "sh-3"))
    assert (epic["timestamp"], epic["agent_id"], epic["tags"]) == ("2025-03-01T17:00:00Z", "mira", ["epic"])
    assert (slow["severity"], slow["importance"], slow["status"]) == ("critical", 9, "in-progress")
    assert slow["title"].startswith("Slow till and so on")
    assert len(slow["title"]) <= 100
    assert slow["tags"] == ["bug", "till", "a b"]
    assert slow["parent_memory_id"] == epic["memory_id"]
    assert epic["relates_to"] == [slow["id"]]
    assert slow["content"]["description"].endswith("It hangs.")
    assert slow["content"]["investigation_status"] == "The lock is kept."
    assert (lock["status"], lock["content"]["resolution"]) == ("resolved", "Split in two")
    text = memctl("show", "sh-2").out
    for words in ("source_id: sh-2", "blocked_by sh-gone", "## Design", "No hang.", "**bo, 2025-03-02**: Seen twice."):
        assert words in text
    assert memctl("search", "sh-gone").out.split()[1] == slow["id"]
    assert " error " not in memctl("check").out
    before = commits(repo)
    assert "nothing to change" in memctl("import", "beads", str(beads)).err
    assert "nothing to change" in memctl("import", "-", stdin=memctl("export", "--all").out).err
    assert commits(repo) == before


def test_strict_import_is_refused_for_items_to_be_left_out(memctl: Memctl, beads: Path) -> None:
    told = memctl("import", "beads", str(beads), "--strict", code=1).err
    for words in (
        "line 5: this is not an issue of beads",
        "blocked_by: there is no record sh-gone",
        "the links form a circle: ",
    ):
        assert words in told
    assert memctl("list", "--json").data["total"] == 0


def test_tasks_of_backlog_are_imported_with_ids_links_and_fields(repo: Path, memctl: Memctl, backlog: Path) -> None:
    made = memctl("import", "backlog", str(backlog))
    assert "README.md:1: this is not a task of Backlog.md: it has no front matter" in made.err
    till, paper, receipt = (show(memctl, name) for name in ("BACK-45", "back-46", "BACK-45.02"))
    assert (receipt["status"], receipt["severity"]) == ("resolved", "high")
    assert receipt["timestamp"] == "2025-07-03T21:21:00Z"
    assert (receipt["agent_id"], receipt["tags"], receipt["code_refs"]) == ("mira", ["till", "paper"], ["src/print.ts"])
    assert receipt["parent_memory_id"] == till["memory_id"]
    assert (receipt["blocked_by"], paper["blocks"]) == ([paper["id"]], [receipt["id"]])
    assert receipt["content"] == {"description": "Nothing is printed.", "resolution": "It prints."}
    text = memctl("show", "BACK-45.02").out
    assert "- [x] #1 A receipt comes out" in text
    assert "https://example.org/1" in text
    assert "<!--" not in text
    assert " error " not in memctl("check").out
    before = commits(repo)
    assert "nothing to change" in memctl("import", "backlog", str(backlog / "backlog" / "tasks")).err
    assert commits(repo) == before


def test_a_folder_without_tasks_is_refused(memctl: Memctl, tmp_path: Path) -> None:
    assert "has no tasks of Backlog.md" in memctl("import", "backlog", str(tmp_path), code=2).err
    assert "give one of adr, jsonl, beads, backlog" in memctl("import", "jira", str(tmp_path), code=2).err


def test_unknown_values_in_beads_are_named_once_with_their_substitute(memctl: Memctl, tmp_path: Path) -> None:
    odd = {"status": "parked", "priority": 7, "created_at": "yesterday"}
    issues = [{"id": "sh-1", "title": "Till", **odd}, {"id": "sh-2", "title": "Lock", **odd}]
    (tmp_path / "odd.jsonl").write_bytes(b"\n".join(msgspec.json.encode(one) for one in issues))

    said = memctl("import", "beads", str(tmp_path / "odd.jsonl")).err

    assert "2 items with the unknown status 'parked': open was used instead" in said
    assert "2 items with the unknown priority '7': medium was used instead" in said
    assert "2 items with the unknown created_at 'yesterday': the value was left out" in said


def test_unknown_values_in_backlog_are_named_with_their_substitute(memctl: Memctl, tmp_path: Path) -> None:
    text = TASK.format(status="Parked").replace("priority: high", "priority: urgent").replace("'2025-07", "'soon 07")
    (tmp_path / "task-45.md").write_text(text)

    said = memctl("import", "backlog", str(tmp_path)).err

    assert "1 item with the unknown status 'Parked': open was used instead" in said
    assert "1 item with the unknown priority 'urgent': medium was used instead" in said
    assert "1 item with the unknown created_date 'soon 07-03 21:21': the value was left out" in said


@pytest.mark.parametrize(
    ("head", "assignee"),
    [
        ('assignee: [@sam, "@kim"]', "@sam, @kim"),
        ("assignee: [ @sam,@kim ]", "@sam, @kim"),
        ("assignee:\n  - @sam\n  - '@kim'", "@sam, @kim"),
        ("assignee: @sam", "@sam"),
        ("labels: [`a`, %b]", None),
    ],
)
@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix: the cart", "Fix: the cart"),
        ("'It's broken'", "It's broken"),
        ("'It''s fine'", "It's fine"),
        ("@team: look", "@team: look"),
        ('"Quoted: \\"x\\""', 'Quoted: "x"'),
        ("Don't: panic", "Don't: panic"),
    ],
)
def test_task_that_lacks_quotes_is_imported(
    memctl: Memctl, tmp_path: Path, head: str, assignee: str | None, title: str, expected: str
) -> None:
    (tmp_path / "task-3 - a.md").write_text(f"---\nid: task-3\ntitle: {title}\n{head}\n---\n\n## Description\n\nText\n")
    memctl("import", "backlog", str(tmp_path))
    record = show(memctl, "task-3")
    assert (record["title"], record.get("assignee")) == (expected, assignee)


def test_what_a_tracker_has_beyond_a_record_is_named(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "task-3 - a.md").write_text(
        "---\nid: task-3\ntitle: A\nordinal: 4000\nmodified_files:\n  - ../x\n  - src/y.py\n---\n"
    )
    (tmp_path / "task-4 - b.md").write_text('---\nid: task-4\ntitle: B\nordinal: 5000\nbad: "x\n---\n')
    said = memctl("import", "backlog", str(tmp_path)).err
    assert "1 item with 'ordinal': a record has no place for this field" in said
    assert "1 item with the unknown file '../x': the value was left out" in said
    assert "not imported: task-4 - b.md:" in said
    lines = [{"id": "bd-1", "title": "A", "estimate": 5}, {"id": "bd-2", "title": "B", "status": "tombstone"}]
    said = memctl("import", "beads", "-", stdin="\n".join(map(json.dumps, lines))).err
    assert "1 item with 'estimate': a record has no place for this field" in said
    assert "line 2 (bd-2) was deleted in beads" in said


@pytest.mark.parametrize("depth", [19, 20, 200, 900, 5_000])
def test_json_that_is_nested_too_deep_says_so(memctl: Memctl, depth: int) -> None:
    deep = "[" * depth + "1" + "]" * depth
    line = f'{{"memory_type": "learning", "title": "A", "extra": {{"a": {deep}}}}}'
    said = memctl("import", "-", stdin=line, code=0 if depth == 19 else 1).err
    assert ("nested" in said) == (depth > 19)
    assert "memory_id" not in said
    assert memctl("check").code == 0
