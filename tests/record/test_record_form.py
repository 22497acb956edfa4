"""The slim form of a record's front matter: what is written, what is read, and what plain Git merges."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.record import config, frontmatter, parser, record_form
from memctl.record.kinds import KINDS
from memctl.record.record import FIELDS, Record
from tests.conftest import Memctl, git

SLIM = """---
title: 'Say "hi"'
id: ISS-2025-11-04-001
status: open
memory_id: 019a4f3e-0000-7000-8000-000000000001
severity: high
timestamp: 2025-11-04T14:32:00Z
agent_id: claude
---

Body
"""
PATH = "issues/2025-11/ISS-2025-11-04-001-say-hi.md"
FULL = """---
id: ISS-2025-11-04-001
memory_id: 019a4f3e-0000-7000-8000-000000000001
memory_type: issue
title: "Say \\"hi\\""
status: open
severity: high
importance: 8
timestamp: 2025-11-04T14:32:00Z
project_id: shop
agent_id: claude
is_archived: false
access_count: 0
---

Body
"""
SETTINGS = config.Config(format=2, project="shop")


def record(text: str) -> Record:
    return parser.parse(text, PATH)[0].of_project("shop")


def head(text: str) -> list[str]:
    return frontmatter.split(text)[0].split("\n")[:-1]


def test_slim_record_has_the_values_of_the_full_one() -> None:
    assert record(SLIM) == record(FULL)
    assert record(SLIM).importance == 8


def test_full_record_is_rewritten_slim_with_the_same_body() -> None:
    assert record_form.to_slim(FULL, "shop") == SLIM
    assert record_form.to_slim(SLIM, "shop") == SLIM
    assert "project_id: shop\n" in record_form.to_slim(FULL, "other")


def test_complete_values_are_those_of_the_full_form() -> None:
    full = frontmatter.read(FULL)[0]
    assert list(record_form.complete(frontmatter.read(SLIM)[0], "shop").items()) == list(full.items())
    assert record_form.complete(full, "other") == full


def test_keys_may_have_any_order_and_defaults_may_be_written() -> None:
    lines = head(SLIM)
    text = "---\n" + "\n".join(reversed([*lines, "is_archived: false", "importance: 8"])) + "\n---\n\nBody\n"
    assert record(text) == record(SLIM)
    assert record_form.replace(text, {"is_archived": False, "importance": 8}) == text


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"importance": 8}, ""),
        ({"importance": 9}, "importance: 9"),
        ({"severity": "low", "importance": 4}, ""),
        ({"access_count": 0}, ""),
        ({"access_count": 2}, "access_count: 2"),
        ({"is_archived": False, "archived_at": None}, ""),
        ({"assignee": "@ada"}, 'assignee: "@ada"'),
    ],
)
def test_edit_writes_a_line_for_what_is_no_default(changes: dict[str, Any], line: str) -> None:
    text = record_form.replace(SLIM, changes)
    added = [found for found in head(text) if found not in head(SLIM) and not found.startswith("severity")]
    assert added == ([line] if line else [])
    for name, value in changes.items():
        assert getattr(record(text), name) == value


def test_importance_that_was_removed_leaves_no_line() -> None:
    text = record_form.replace(SLIM, {"importance": 9})
    assert record_form.replace(text, {"importance": 8}) == SLIM


def test_edit_of_a_full_record_leaves_it_full() -> None:
    assert record_form.replace(FULL, {"importance": 9}) == FULL.replace("importance: 8", "importance: 9")


COMMENTED = FULL.replace("importance: 8\n", "# why it matters\nimportance: 9 # more than usual\n\n")


def test_comments_keep_their_places() -> None:
    text = record_form.to_slim(COMMENTED, "shop")
    assert record(text) == record(COMMENTED)
    assert "severity: high\n# why it matters\nimportance: 9 # more than usual\n" in text
    assert "memory_type" not in text


def test_assignees_of_another_tool_are_read_as_text() -> None:
    assert record(FULL.replace("is_archived", 'assignee:\n  - "@ada"\n  - bob\nis_archived')).assignee == "@ada, bob"
    assert record(FULL.replace("is_archived", "assignee: 5\nis_archived")).assignee == "5"


@pytest.mark.parametrize("identifier", ["id: ISS-1", "id: 5", "id: []", ""])
def test_slim_record_without_a_valid_id_is_invalid(identifier: str) -> None:
    with pytest.raises(parser.InvalidRecord) as caught:
        record(SLIM.replace("id: ISS-2025-11-04-001", identifier, 1))
    assert [fault.field for fault in caught.value.faults] == ["id"]


_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=30).filter(
    str.isprintable
)
_LINKS = st.lists(st.sampled_from(["DEC-2025-11-01-001", "LRN-2025-11-01-002"]), unique=True)
values = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(sorted(KINDS)),
        "title": _TEXT.filter(lambda text: bool(text.strip())),
        "agent_id": _TEXT,
        "importance": st.integers(1, 10),
        "is_archived": st.booleans(),
        "access_count": st.integers(0, 3),
        "project_id": st.sampled_from(["shop", "other"]),
    },
    optional={
        "severity": st.sampled_from(["critical", "low"]),
        "completion_percentage": st.integers(0, 100),
        "tags": st.lists(_TEXT.filter(lambda text: "," not in text and bool(text.strip()))),
        "relates_to": _LINKS,
        "supersedes": _LINKS,
        "assignee": _TEXT,
        "own": st.one_of(_TEXT, st.integers(), st.lists(_TEXT), st.dictionaries(_TEXT, st.lists(_TEXT))),
    },
)


@given(values)
def test_rewriting_a_record_loses_nothing(given_values: dict[str, Any]) -> None:
    kind = KINDS[given_values.pop("kind")]
    identifier = f"{kind.prefix}-2025-11-04-001"
    whole = {
        "id": identifier,
        "memory_id": "019a4f3e-0000-7000-8000-000000000001",
        "memory_type": kind.name,
        "status": kind.statuses[0],
        "timestamp": "2025-11-04T14:32:00Z",
        **given_values,
    }
    path = f"{kind.folder}/2025-11/{identifier}.md"
    full = record_form.compose(whole, "Body\n", msgspec.structs.replace(SETTINGS, format=1))
    slim = record_form.to_slim(full, "shop")
    before, after = (parser.parse(text, path) for text in (full, slim))
    assert (after[0].of_project("shop"), after[1]) == before
    if not isinstance(whole.get("own"), dict):  # a mapping stays as it was written
        assert slim == record_form.compose(whole, "Body\n", SETTINGS)
    assert frontmatter.read(slim)[0].get("own") == (None if whole.get("own") == [] else whole.get("own"))
    complete = record_form.complete(frontmatter.read(slim)[0], "shop")
    assert {name: complete[name] for name in whole if name in FIELDS and whole[name] != []} == {
        name: value for name, value in whole.items() if name in FIELDS and value != []
    }


_EDITS: dict[str, dict[str, Any]] = {
    "title": {"title": "Slower"},
    "section": {"section": "§2.2"},
    "importance": {"importance": 9},
    "tags": {"tags": ["a", "b"]},
    "code_refs": {"code_refs": ["a.py", "b.py"]},
    "relates_to": {"relates_to": ["DEC-2025-11-01-001", "DEC-2025-11-01-002"]},
    "archive": {"is_archived": True, "archived_at": "2025-12-01T00:00:00Z"},
    "retrievals": {"access_count": 3, "last_accessed": "2025-12-01T00:00:00Z"},
    "expires_at": {"expires_at": "2026-12-01T00:00:00Z"},
}
_OF_KIND: dict[str, dict[str, dict[str, Any]]] = {
    "decision": {},
    "issue": {
        "severity": {"severity": "low"},
        "assignee": {"assignee": "ada"},
        "blocks": {"blocks": ["ISS-2025-11-01-001"]},
    },
    "state": {"completion": {"completion_percentage": 65}, "assignee": {"assignee": "ada"}},
    "learning": {},
}
# docs/records.md names these groups: changes of two keys of one group are changes of neighbouring lines.
_NEIGHBOURS = (
    {"title", "section"},
    {"status", "archive"},
    {"severity", "completion", "importance", "expires_at"},
    {"retrievals", "assignee", "tags"},
    {"relates_to", "blocks", "code_refs"},
)
_APART_IF_THERE = {("assignee", "tags"), ("retrievals", "tags"), ("code_refs", "relates_to"), ("blocks", "code_refs")}


@pytest.mark.parametrize("has_lists", [True, False], ids=["with lists", "without"])
@pytest.mark.parametrize("kind", _OF_KIND)
def test_plain_git_merges_two_edits_of_a_record(repo: Path, memctl: Memctl, kind: str, has_lists: bool) -> None:
    options = ["--section", "2.1", "--tag", "a", "--code", "a.py"] if has_lists else []
    if has_lists:
        (repo / "a.py").write_text("1\n")
        memctl("section", "add", "Pay")
        memctl("decide", "Earlier", "--rationale", "x", "--timestamp", "2025-11-01")
        options += ["--relates-to", "DEC-2025-11-01-001"]
    file = repo / memctl(KINDS[kind].verb, "Slow", *options).out.split()[1]
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "base", "--allow-empty")
    text, edits = file.read_text(), {**_EDITS, **_OF_KIND[kind], "status": {"status": KINDS[kind].statuses[-1]}}
    for name, changes in edits.items():
        git(repo, "checkout", "-qb", name, "main")
        file.write_text(record_form.replace(text, changes))
        git(repo, "commit", "-qam", name)
    refused = set()
    for pair in combinations(sorted(edits), 2):
        merged = git(repo, "merge-tree", "--write-tree", *pair, check=False)
        if "CONFLICT" in merged:
            refused.add(pair)
            continue
        result = git(repo, "show", f"{merged.split()[0]}:{file.relative_to(repo)}")
        found = msgspec.structs.asdict(parser.parse(result, str(file.relative_to(repo / ".memory")))[0])
        for name in pair:
            assert {key: found[key] for key in edits[name]} == edits[name]
    near = {pair for group in _NEIGHBOURS for pair in combinations(sorted(group), 2) if {*pair} <= edits.keys()}
    assert refused == near - (_APART_IF_THERE if has_lists else set())


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.help], ids=lambda kind: kind.name)
def test_a_short_record_has_at_most_8_lines_of_front_matter(repo: Path, memctl: Memctl, kind: Any) -> None:
    memctl("section", "add", "Pay")
    file = repo / memctl(kind.verb, "Slow", f"--{kind.fields[0].option}", "It waits", "--section", "2.1").out.split()[1]
    assert len(head(file.read_text())) <= 8


def test_a_pull_request_with_4_records_touches_4_files(repo: Path, memctl: Memctl) -> None:
    memctl("init", "--docs", "default-branch")
    git(repo, "checkout", "-qb", "side")
    for verb in ("decide", "issue", "state", "learn"):
        memctl(verb, "Slow")
    assert len(git(repo, "diff", "--name-only", "main...side").split()) == 4
