"""One odd item keeps no other one out: each way in names what it leaves out, and `--strict` refuses it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.conftest import Memctl, commits, git

KEY = "AKIA" + "IOSFODNN7EXAMPLF"
LATIN = '{"id": "x-6", "memory_type": "issue", "title": "Größe"}'.encode("latin-1")
TASK = "---\nid: task-{0}\ntitle: {1}\n---\n\n## Description\n\n{2}\n"
ADR = "# {0}\n\n## Status\n\nAccepted\n\n## Context\n\n{1}\n"


def _line(number: int, title: object, **values: object) -> bytes:
    return msgspec.json.encode({"id": f"x-{number}", "memory_type": "issue", "title": title, **values})


def _files(folder: Path, files: dict[str, bytes | str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def _sources(folder: Path) -> dict[str, tuple[list[str], int]]:
    """The arguments of an import by format, and how many odd items are beside the one that is fine."""
    odd = [
        _line(1, "Nul", description="a\0b"),
        b"5",
        _line(2, 7),
        _line(3, "Secret", description=KEY),
        _line(4, "\x1b[31mred"),
        LATIN,
        b"[" * 100_000,
        b"not JSON",
        _line(8, "Types", labels="a", tags={"a": 1}),
        _line(9, "Links", dependencies={"a": 1}, blocks="x-1"),
    ]
    only_lines = [
        _line(10, "Time", timestamp="soon"),
        _line(11, "x" * 10_000),
        b'{"memory_type": "issue", "title": "T", "memory_id": ["a"]}',
        b'{"memory_type": "issue", "title": "T", "id": {}}',
        b'{"memory_type": "issue", "title": "T", "id": "ISS-2024-05-01-001", "path": "../x.md"}',
        b'{"memory_type": "issue", "title": "T", "a key": 1}',
        b'{"memory_type": "handoff", "title": "Without giver and taker"}',
    ]
    fine = _line(12, "Fine")
    lines = _files(
        folder / "lines",
        {"beads.jsonl": b"\n".join([*odd, fine]), "records.jsonl": b"\r\n".join([*odd, *only_lines, fine])},
    )
    tasks = _files(
        folder / "tasks",
        {
            "task-1.md": TASK.format(1, "Fine", "x"),
            "task-2.md": TASK.format(2, "Nul", "a\0b"),
            "task-3.md": TASK.format(3, "Secret", KEY),
            "task-4.md": b"---\nid: task-4\ntitle: \xe9\n---\n",
            "task-5.md": "---\nid: task-5\n  title: [\n---\n",
            "task-6.md": "",
            "task-7.md": "---\nid: [1]\ntitle: {a: b\n---\n",
            "task-8.md": TASK.format(1, "Another with this id", "x"),
            "task-9.md": TASK.format(9, "{a: b}", "x"),
        },
    )
    decisions = _files(
        folder / "adr",
        {
            "0001-fine.md": ADR.format("Fine", "C"),
            "0002-nul.md": ADR.format("Nul", "a\0b"),
            "0003-escape.md": ADR.format("Escape", "\x1b[31m"),
            "0004-secret.md": ADR.format("Secret", KEY),
            "0005-long.md": ADR.format("x" * 10_000, "C"),
            "0006-latin.md": ADR.format("Größe", "C").encode("latin-1"),
            "0007-front.md": "---\nstatus: accepted\n# Open\n",
            "0008-empty.md": "",
            "0009-large.md": ADR.format("Large", "word " * 500_000),
        },
    )
    text = f"Lesson: Fine\n\nLesson: red \x1b[31m\n\nBUG-1: Secret {KEY}\n"
    (folder / "text.md").write_text(text)
    return {
        "beads": (["beads", str(lines / "beads.jsonl")], len(odd)),
        "lines": ([str(lines / "records.jsonl")], len(odd) + len(only_lines)),
        "backlog": (["backlog", str(tasks)], 8),
        "adr": (["adr", str(decisions)], 8),
        "markdown": ([str(folder / "text.md")], 2),
    }


@pytest.mark.parametrize("name", ["beads", "lines", "backlog", "adr", "markdown"])
def test_odd_items_are_named_and_the_rest_is_imported(repo: Path, memctl: Memctl, tmp_path: Path, name: str) -> None:
    arguments, odd = _sources(tmp_path)[name]
    before = commits(repo)
    strict = memctl("import", *arguments, "--strict", code=1).err
    assert strict.startswith("error: nothing was imported:\n")
    assert "hint: correct what is listed above, or leave out --strict to import the rest" in strict
    assert commits(repo) == before
    made = memctl("import", *arguments, "--json").data
    assert len(made["refused"]) == odd, "\n".join(made["refused"])
    assert memctl("list", "--json").data["total"] == 1
    assert "Fine" in memctl("list").out
    assert memctl("check").out.count(" error ") == 0
    again = memctl("import", *arguments)
    assert again.err.startswith("nothing to change\n")
    assert again.err.count("warning: not imported: ") == odd
    assert commits(repo) == before + 1


def test_import_of_odd_items_only_is_an_error_with_a_hint(memctl: Memctl, tmp_path: Path) -> None:
    tasks = _files(tmp_path / "backlog", {"README.md": "# Tasks\n"})
    assert "hint: give the folder that has files such as" in memctl("import", "backlog", str(tasks), code=1).err
    lines = _files(tmp_path / "lines", {"x.jsonl": b"5\n"})
    assert "hint: correct these lines" in memctl("import", str(lines / "x.jsonl"), code=1).err
    assert (
        "hint: name the file with the issues of beads" in memctl("import", "beads", str(lines / "x.jsonl"), code=1).err
    )


def test_name_of_a_file_forges_no_line_of_output(memctl: Memctl, tmp_path: Path) -> None:
    tasks = _files(tmp_path / "tasks", {"a\nerror: forged.md": "", "task-1.md": TASK.format(1, "Fine", "x")})
    assert "\nerror: forged" not in memctl("import", "backlog", str(tasks)).err
    decisions = _files(tmp_path / "adr", {"a\nerror: forged.md": "# Notes\n", "0001-fine.md": ADR.format("Fine", "C")})
    assert "\nerror: forged" not in memctl("import", "adr", str(decisions)).err


def test_links_to_left_out_items_are_kept_as_text(memctl: Memctl) -> None:
    lines = [_line(1, "Nul", description="a\0b"), _line(2, "Child", parent="x-1", blocked_by=["x-1", "x-3"])]
    lines.append(_line(3, "First"))
    told = memctl("import", "-", stdin=b"\n".join(lines).decode()).err
    assert "note: line 2: blocked_by: links to records that do not exist are not imported: x-1\n" in told
    assert "unresolved_links" in memctl("show", "x-2").out
    assert memctl("check").out == ""


def test_link_that_looks_like_a_credential_leaves_only_its_own_item_out(repo: Path, memctl: Memctl) -> None:
    lines = [_line(1, "Odd", blocked_by=[KEY]), _line(2, "Odd, too", parent=KEY), _line(3, "Fine")]
    made = memctl("import", "-", "--json", stdin=b"\n".join(lines).decode()).data
    assert [one.partition(":")[0] for one in made["refused"]] == ["line 1", "line 2"]
    assert KEY not in git(repo, "log", "-p")
    assert memctl("list", "--json").data["total"] == 1


def test_items_without_an_id_or_with_links_of_a_wrong_type_are_imported_once(memctl: Memctl) -> None:
    lines = [
        msgspec.json.encode({"id": None, "memory_id": None, "memory_type": "issue", "title": "No id"}),
        _line(2, "One link before", unresolved_links="relates_to y", relates_to=["a\nb", {"c": 1}]),
    ]
    text = b"\n".join(lines).decode()
    assert (
        "note: line 2: relates_to: links to records that do not exist are not imported: a b, {'c': 1}\n"
        in memctl("import", "-", stdin=text).err
    )
    assert "relates_to y\n" in memctl("show", "x-2").out
    assert memctl("import", "-", stdin=text).err.startswith("nothing to change\n")


def test_export_of_an_empty_memory_is_imported_as_nothing(memctl: Memctl) -> None:
    exported = memctl("export", "--json").out
    assert memctl("import", "-", stdin=exported).err == "nothing to change\n"
