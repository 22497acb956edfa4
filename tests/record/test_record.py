"""Records: what their files may hold, and how faults are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memctl.record import frontmatter, frontmatter_edit, parser
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.record import FIELDS, Record
from tests.conftest import Memctl

PATH = "decisions/2025-11/DEC-2025-11-04-001-adopt.md"
VALUES: dict[str, Any] = {
    "id": "DEC-2025-11-04-001",
    "memory_id": "019a4f3e-0000-7000-8000-000000000001",
    "memory_type": "decision",
    "title": "Adopt it",
    "status": "accepted",
    "importance": 7,
    "timestamp": "2025-11-04T14:32:00Z",
    "project_id": "shop",
    "agent_id": "claude",
}


def text(body: str = "", **changes: Any) -> str:
    return frontmatter.compose({**VALUES, **changes}, body)


def parsed(**changes: Any) -> Record:
    return parser.parse(text(**changes), PATH)[0]


def faults(source: str, path: str = PATH) -> list[tuple[int, str]]:
    with pytest.raises(InvalidRecord) as caught:
        parser.parse(source, path)
    return [(fault.line, fault.field) for fault in caught.value.faults]


def test_record_has_its_path_and_kind() -> None:
    found, body = parser.parse(text("Body\n"), PATH)
    assert (found.path, found.kind, body) == (PATH, DECISION, "Body\n")


def test_fields_are_all_values_but_the_path() -> None:
    assert set(FIELDS) == set(Record.__struct_fields__) - {"path"}


@pytest.mark.parametrize(
    "changes", [{"is_archived": True}, {"status": "superseded"}, {"status": "rejected"}, {"status": "deprecated"}]
)
def test_archived_and_closed_records_are_not_open(changes: dict[str, Any]) -> None:
    assert parsed().is_open
    assert not parsed(**changes).is_open


def test_times_are_made_canonical() -> None:
    assert parsed(timestamp="2025-11-04T16:32:00+02:00").timestamp == "2025-11-04T14:32:00Z"


def test_unknown_keys_are_ignored() -> None:
    assert parsed(colour="blue") == parsed()


def test_windows_line_ends_are_read() -> None:
    assert parser.parse(text("a\nb\n").replace("\n", "\r\n"), PATH) == parser.parse(text("a\nb\n"), PATH)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "memory_type"])
def test_a_missing_field_is_named(name: str) -> None:
    without: dict[str, Any] = {name: None}
    assert faults(text(**without)) == [(1, name)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", ""),
        ("title", "x" * 101),
        ("title", 5),
        ("status", "open"),
        ("status", ""),
        ("importance", 0),
        ("importance", 11),
        ("importance", "7"),
        ("importance", 6.5),
        ("importance", True),
        ("timestamp", "yesterday"),
        ("timestamp", "2025-02-31T00:00:00Z"),
        ("timestamp", "2025-02-31"),
        ("timestamp", "0000-01-01T00:00:00Z"),
        ("expires_at", "2025-06-31T00:00:00Z"),
        ("archived_at", "never"),
        ("last_accessed", "2025"),
        ("memory_id", "019A4F3E-0000-7000-8000-000000000001"),
        ("memory_type", "decisions"),
        ("severity", "urgent"),
        ("completion_percentage", 101),
        ("completion_percentage", -1),
        ("access_count", -1),
        ("is_archived", "yes"),
        ("section", "2.1"),
        ("section", "§5.1"),
        ("section", "§2.1\n"),
        ("tags", {"a": "db"}),
        ("tags", ["a,b"]),
        ("tags", [" "]),
        ("tags", ["a\nb"]),
        ("tags", ["a\0b"]),  # YAML writes it as `\0`, so that only what is rendered would be binary to Git
        ("tags", ["a\u202eb"]),
        ("supersedes", ["DEC-1"]),
        ("memory_id", "019a4f3e-0000-7000-8000-000000000001\n"),
        ("blocks", ["DEC-2025-11-04-001\n"]),
        ("code_refs", ["../x"]),
        ("code_refs", ["/etc/passwd"]),
        ("code_refs", ["~/x"]),
        ("code_refs", [".git/config"]),
        ("code_refs", ["C:/x"]),
        ("code_refs", ["a\\b"]),
        ("code_refs", ["a\nb"]),
        ("code_refs", [" "]),
    ],
)
def test_invalid_value_is_reported_with_its_line(name: str, value: Any) -> None:
    source = text(**{name: value})
    assert faults(source) == [(next((b.line for b in frontmatter_edit.blocks(source) if b.key == name), 1), name)]


def test_all_faults_are_reported_at_once() -> None:
    assert faults(text(importance=0, severity="urgent", agent_id=None)) == [
        (1, "agent_id"),
        (10, "severity"),
        (7, "importance"),
    ]


def test_id_of_another_type_is_refused() -> None:
    assert faults(text(id="ISS-2025-11-04-001"), "") == [(2, "id")]


def test_id_that_differs_from_the_file_name_is_refused() -> None:
    assert faults(text(id="DEC-2025-11-04-002")) == [(2, "id")]


def test_an_error_names_file_line_field_value_and_the_allowed_values() -> None:
    with pytest.raises(InvalidRecord) as caught:
        parser.parse(text(importance=12), PATH)
    assert str(caught.value) == f"{PATH}:7: importance: '12' is not a whole number from 1 to 10"


def test_number_in_place_of_a_text_is_refused_with_a_hint_to_quotes() -> None:
    assert parser.problems({**VALUES, "project_id": 42}) == [
        ("project_id", "'42' is not a text (put numbers in quotes)")
    ]


def test_long_value_is_shortened_in_the_message() -> None:
    [(_, message)] = parser.problems({**VALUES, "title": "x" * 500})
    assert len(message) < 150


def test_broken_front_matter_is_a_fault() -> None:
    assert faults("no front matter\n") == [(1, "")]
    assert faults("---\nid: a\nid: b\n---\n") == [(3, "id")]


@pytest.mark.parametrize("marker", ["§1", "§2.1", "§3.1.2", "§4.src/auth.py", "§4.a-b"])
def test_valid_section_markers_are_accepted(marker: str) -> None:
    assert parsed(section=marker).section == marker


@pytest.mark.parametrize("path", ["src/auth.py", "src/auth.py:10", "a/..b/c", ".github/x", "Makefile", "café.py"])
def test_paths_inside_the_repository_are_accepted(path: str) -> None:
    assert not parser.is_unsafe_path(path)


@pytest.mark.parametrize(
    "path", ["", "..", "a/../../b", "/a", "~", ".git", ".GIT/hooks", "c:\\x", "a\x00b", "a\u2028b"]
)
def test_paths_out_of_the_repository_are_refused(path: str) -> None:
    assert parser.is_unsafe_path(path)


def test_null_is_a_missing_value() -> None:
    assert parser.parse(text().replace("project_id", "tags: null\nproject_id"), PATH)[0] == parsed()


@pytest.mark.parametrize(
    "lines",
    [
        ["tags: a, b"],
        ['tags: "a,b"'],
        ["tags: [a, b]"],
        ["tags: # what it is about", "- a", "- 'b'"],
        ["tags:", "  - a", "  -", "  - b"],
        ["'tags': [a, b,]"],
    ],
)
@pytest.mark.parametrize(("begin", "end"), [("---", "---"), ("--- ", "---\t"), ("---", "..."), ("---", "... ")])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_front_matter_as_other_programs_write_it_is_read(lines: list[str], begin: str, end: str, newline: str) -> None:
    head = "\n".join([*text().split("\n")[1:-2], *lines, "expires_at: NULL", "is_archived: False"])
    source = f"\ufeff{begin}\n{head}\n{end}\n\nBody\n\n---\n\n...\n".replace("\n", newline)
    record, body = parser.parse(source, PATH)
    assert (record.tags, record.expires_at, record.is_archived) == (["a", "b"], None, False)
    assert body == "Body\n\n---\n\n...\n"


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        (
            "relates_to: DEC-2025-11-04-002, ISS-2025-11-04-001",
            "relates_to",
            ["DEC-2025-11-04-002", "ISS-2025-11-04-001"],
        ),
        ("code_refs: src/a, b.py", "code_refs", ["src/a, b.py"]),
        ("tags: [2024, v2]", "tags", ["2024", "v2"]),
        ("tags: ''", "tags", []),
        ('agent_id: "Ada \\ud83d\\ude00"', "agent_id", "Ada \U0001f600"),
        ("agent_id: >-\n  Ada\n  Lovelace", "agent_id", "Ada Lovelace"),
        ("importance: +7", "importance", 7),
        ("is_archived: TRUE", "is_archived", True),
        ("timestamp: 2025-11-04 14:32:00", "timestamp", "2025-11-04T14:32:00Z"),
        ("timestamp: !!timestamp 2025-11-04", "timestamp", "2025-11-04T00:00:00Z"),
    ],
)
def test_value_as_other_programs_write_it_is_read(line: str, field: str, value: Any) -> None:
    kept = [other for other in text().split("\n")[1:-2] if not other.startswith(f"{field}:")]
    record, _ = parser.parse("\n".join(["---", *kept, line, "---", ""]), PATH)
    assert getattr(record, field) == value


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("tags: [#a]", "put the value in quotes"),
        ("tags: [@a]", "put the value in quotes"),
        ("agent_id: Ada: me", "put the value in quotes"),
        ("tags:\n\t- a", "indent with blanks"),
        ("agent_id: &a Ada", "write the value itself"),
        ("agent_id: !user Ada", "the tag !user means nothing to memctl: remove it"),
    ],
)
def test_front_matter_that_cannot_be_read_says_how_to_mend_it(line: str, hint: str) -> None:
    kept = [other for other in text().split("\n")[1:-2] if not other.startswith("agent_id:")]
    with pytest.raises(InvalidRecord, match=hint):
        parser.parse("\n".join(["---", *kept, line, "---", ""]), PATH)


def test_record_of_another_program_is_listed_edited_and_checked(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Adopt it", "--rationale", "x", "--tag", "db").id
    file = next((repo / ".memory/decisions").rglob("*.md"))
    lines = file.read_text().replace("tags:\n  - db\n", "tags: db, cache\n").replace("---\n\n", "...\n\n", 1)
    file.write_bytes(("\ufeff" + lines).replace("\n", "\r\n").encode())
    assert memctl("list", "--tag", "cache").out.count(made) == 1
    memctl("edit", made, "--tag", "new")
    assert memctl("show", made, "--json").data["records"][0]["tags"] == ["db", "cache", "new"]
    assert file.read_text().startswith("---\n")
    assert memctl("check").code == 0
