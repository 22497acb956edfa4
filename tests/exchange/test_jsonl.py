"""Import: all lines or none, and what a line may leave out."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conftest import Memctl, commits, git


def lines(*objects: dict[str, object]) -> str:
    return "".join(msgspec.json.encode(o).decode() + "\n" for o in objects)


def test_many_records_are_imported_in_one_commit(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    days = [f"2024-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 26)]
    many = [
        {"memory_type": "learning", "title": f"Lesson {n}", "lesson": f"text {n}", "timestamp": days[n % 300]}
        for n in range(310)
    ]
    memctl("import", "-", stdin=lines(*many))
    assert commits(repo) == before + 1
    assert memctl("status", "--json").data["records"] == {"learning": {"active": 310}}
    assert git(repo, "status", "--porcelain") == ""
    assert "Memctl-Count: 310" in git(repo, "log", "-1", "--format=%B")
    assert memctl("log", "LRN-2024-01-01-001", "--json").data["commits"][0]["ops"] == ["import"]


def test_wrong_lines_are_reported_and_a_strict_import_imports_nothing(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    text = lines(
        {"memory_type": "decision", "title": "Fine"},
        {"memory_type": "decision", "title": "x" * 101},
        {"memory_type": "novel", "title": "Wrong"},
        {"memory_type": "issue", "title": "Wrong", "severity": "awful"},
        {"memory_type": "issue", "title": "Wrong", "content": {"plot": "none"}},
    )
    failed = memctl("import", "-", "--strict", stdin=text + "not json\n", code=1)
    for number in (2, 3, 4, 5, 6):
        assert f"line {number}: " in failed.err
    assert "line 1: " not in failed.err
    assert commits(repo) == before
    assert memctl("list", "--json").data["total"] == 0
    assert "hint: correct what is listed above, or leave out --strict to import the rest" in failed.err
    made = memctl("import", "-", "--json", stdin=text + "not json\n").data
    assert [line.partition(": ")[0] for line in made["refused"]] == [f"line {n}" for n in (2, 3, 4, 5, 6)]
    assert len(made["ids"]) == 1
    assert commits(repo) == before + 1


def test_unpaired_surrogate_is_refused_with_its_line(memctl: Memctl) -> None:
    fine = r'{"memory_type": "issue", "title": "Whole \ud83d\ude00, and \\\\ud800 spelled out"}'
    half = r'{"memory_type": "issue", "title": "Use \ud800 so"}'
    failed = memctl("import", "-", "--strict", stdin=f"{fine}\n{half}\n", code=1)
    assert "line 2: " in failed.err
    assert "line 1: " not in failed.err
    assert "not a JSON object" in memctl("decide", "--file", "-", stdin=r'{"title": "Use it \ud800"}', code=1).err


def test_ids_are_kept_or_assigned(memctl: Memctl) -> None:
    text = lines(
        {"memory_type": "decision", "title": "Kept", "id": "DEC-2024-05-01-007", "timestamp": "2024-05-01"},
        {"memory_type": "decision", "title": "Given", "timestamp": "2024-05-02T10:00:00+02:00"},
    )
    memctl("import", "-", stdin=text)
    assert [r["id"] for r in memctl("list", "--sort", "id", "--json").data["records"]] == [
        "DEC-2024-05-01-007",
        "DEC-2024-05-02-001",
    ]


def test_same_id_with_another_text_is_refused(memctl: Memctl) -> None:
    made = memctl("decide", "Mine")
    failed = memctl("import", "-", stdin=lines({"memory_type": "decision", "title": "Other", "id": made.id}), code=1)
    assert f"a different record with the id {made.id}" in failed.err
    twice = lines(*[{"memory_type": "decision", "title": "Twice", "id": "DEC-2024-05-01-007"}] * 2)
    assert "line 2 is skipped: it is the same as line 1" in memctl("import", "-", "-n", stdin=twice).err
    other = twice + lines({"memory_type": "decision", "title": "Third", "id": "DEC-2024-05-01-007"})
    assert (
        "line 3: line 1 has a different item with the same id"
        in memctl("import", "-", "--strict", stdin=other, code=1).err
    )


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "decisions/2025-11/DEC-2025-11-04-002-x.md",
        "decisions/2025-11/DEC-2025-11-04-001-../x.md",
        5,
    ],
)
def test_a_path_that_is_not_the_records_own_is_refused(memctl: Memctl, path: object) -> None:
    text = lines({"memory_type": "decision", "title": "Out", "id": "DEC-2025-11-04-001", "path": path})
    assert "line 1: path" in memctl("import", "-", stdin=text, code=1).err


def test_unknown_keys_survive(memctl: Memctl) -> None:
    extra = {"reviewers": ["ada", "bob"], "ticket": 4711, "nested": {"a": [1, {"b": None}]}, "ratio": 0.5}
    memctl("import", "-", stdin=lines({"memory_type": "decision", "title": "Extra", **extra}))
    out = msgspec.json.decode(memctl("export").out)
    assert out["extra"] == extra
    memctl("edit", out["id"], "--add", "tags=x")
    lines_out = memctl("export").out
    assert msgspec.json.decode(lines_out)["extra"] == extra
    memctl("delete", out["id"])
    memctl("import", "-", stdin=lines_out)
    assert memctl("export").out == lines_out


def test_credentials_are_refused(memctl: Memctl) -> None:
    text = lines({"memory_type": "learning", "title": "Key", "lesson": "AKIA" + "IOSFODNN7EXAMPLF"})
    assert "credential" in memctl("import", "-", stdin=text, code=1).err


def test_a_markdown_or_json_file_makes_a_record(repo: Path, memctl: Memctl) -> None:
    (repo / "note.md").write_text(
        "---\ntags: [a, b]\nseverity: high\n---\n# A title\n\nIntro.\n\n## Description\n\nWrong.\n"
    )
    one = memctl("issue", "--file", str(repo / "note.md"))
    record = memctl("show", one.id, "--json").data["records"][0]
    assert (record["title"], record["tags"], record["severity"]) == ("A title", ["a", "b"], "high")
    assert record["body"] == "Intro.\n\n## Description\n\nWrong.\n"
    two = memctl("issue", "Other title", "-f", "-", stdin='{"title": "t", "next_actions": ["x"], "tags": ["c"]}')
    record = memctl("show", two.id, "--json").data["records"][0]
    assert (record["title"], record["content"]) == ("Other title", {"next_actions": ["x"]})


def test_links_get_both_ends_by_any_id_and_check_is_clean(repo: Path, memctl: Memctl) -> None:
    there = memctl("issue", "Here before").id
    text = lines(
        {"memory_type": "issue", "title": "Epic", "id": "bd-1", "timestamp": "2024-05-01"},
        {"memory_type": "issue", "title": "Part", "id": "bd-2", "parent": "bd-1", "blocked_by": ["bd-3", there]},
        {"memory_type": "issue", "title": "First", "id": "BD-3", "relates_to": ["ISS-2024-05-01-009"]},
        {"memory_type": "issue", "title": "Numbered", "id": "ISS-2024-05-01-009", "timestamp": "2024-05-01"},
        {"memory_type": "decision", "title": "New", "rationale": "r", "supersedes": ["d-old"]},
        {"memory_type": "decision", "title": "Old", "rationale": "r", "id": "d-old"},
    )
    made = memctl("import", "-", "--json", stdin=text).data
    assert memctl("check").out == ""
    epic, part, first = (memctl("show", name, "--json").data["records"][0] for name in ("bd-1", "bd-2", "bd-3"))
    assert part["parent_memory_id"] == epic["memory_id"]
    assert (set(part["blocked_by"]), first["blocks"]) == ({first["id"], there}, [part["id"]])
    assert memctl("show", there, "--json").data["records"][0]["blocks"] == [part["id"]]
    assert memctl("show", "d-old", "--json").data["records"][0]["status"] == "superseded"
    assert memctl("search", "bd-2").out.split()[1] == part["id"]
    assert len(made["ids"]) == 7
    before = commits(repo)
    again = memctl("import", "-", stdin=text)
    assert "nothing to change" in again.err
    assert "skipped these items, because they were imported before: " in again.err
    assert commits(repo) == before
    assert "nothing to change" in memctl("import", "-", stdin=memctl("export", "--all").out).err


def test_second_import_of_the_same_lines_adds_nothing(repo: Path, memctl: Memctl) -> None:
    line = {"memory_type": "learning", "title": "Pool", "lesson": "Retries hide an exhausted pool"}
    assert "line 2 is skipped: it is the same as line 1" in memctl("import", "-", stdin=lines(line, line)).err
    before = commits(repo)
    memctl("import", "-", stdin=lines(line))
    assert commits(repo) == before
    more = {**line, "title": "Another"}
    memctl("import", "-", stdin=lines(line, more))
    assert memctl("list", "--json").data["total"] == 2


def test_circle_through_an_existing_record_is_broken(repo: Path, memctl: Memctl) -> None:
    first, second = (memctl("issue", title).id for title in ("First", "Second"))
    memctl("link", first, second, "--as", "blocks")
    made = {"memory_type": "issue", "title": "Between", "blocks": [first], "blocked_by": [second]}
    assert "the links form a circle: " in memctl("import", "-", stdin=lines(made)).err
    assert memctl("check", "--json", code=None).code == 0
    (between,) = [one for one in memctl("list", "--json").data["records"] if one["title"] == "Between"]
    assert len(between["blocks"] + between["blocked_by"]) == 1


def test_circles_and_links_to_nothing_are_refused(repo: Path, memctl: Memctl) -> None:
    issue = {"memory_type": "issue", "title": "One", "id": "a", "blocked_by": ["b"]}
    other = {"memory_type": "issue", "title": "Two", "id": "b", "blocked_by": ["a"], "parent": "c"}
    told = memctl("import", "-", "--strict", stdin=lines(issue, other), code=1).err
    assert "the links form a circle: " in told
    assert "line 2: parent: there is no record c" in told
    child = {"memory_type": "issue", "title": "Child", "id": "c", "parent": "c"}
    assert "the links form a circle: " in memctl("import", "-", "--strict", stdin=lines(child), code=1).err
    wrong = {"memory_type": "issue", "title": "New", "supersedes": ["d"]}
    old = {"memory_type": "issue", "title": "Old", "id": "d"}
    assert "can't be superseded" in memctl("import", "-", "--strict", stdin=lines(wrong, old), code=1).err
    assert memctl("list", "--json").data["total"] == 0
    told = memctl("import", "-", stdin=lines(issue, other, child, wrong, old)).err
    assert told.count(": the link is left out") == 3
    assert memctl("check").out == ""


def test_a_misspelt_field_is_named_with_the_nearest(memctl: Memctl) -> None:
    slip = {"memory_type": "issue", "title": "Slow", "sevrity": "high"}
    told = memctl("import", "-", stdin=lines(slip), code=1).err
    assert "line 1: unknown field 'sevrity'; did you mean severity?" in told
    memctl("import", "-", stdin=lines({"memory_type": "issue", "title": "Slow", "extra": {"sevrity": "high"}}))
    memctl("import", "-", stdin=lines({"memory_type": "issue", "title": "Slow", "team": "payments"}))


def test_json_arrays_envelopes_and_multiline_objects_are_read(memctl: Memctl) -> None:
    made = memctl("import", "-", "--json", stdin='[{"memory_type": "issue", "title": "A"}, 5]').data
    assert (len(made["ids"]), made["refused"]) == (1, ["item 2: this is not a JSON object"])
    memctl("import", "-", stdin='{\n  "memory_type": "issue",\n  "title": "B"\n}\n')
    whole, lines = memctl("export", "--json").out, memctl("export").out
    for record in memctl("list", "--json").data["records"]:
        memctl("delete", record["id"])
    memctl("import", "-", stdin=whole)
    assert memctl("export").out == lines
    beads = '[{"id": "x-1", "title": "C", "dependencies": []}]'
    assert "imported 1 record" in memctl("import", "beads", "-", stdin=beads).out
