"""`memctl import adr` and `memctl export adr`: what they say, and what they write when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git

FIRST = "# 1. First\n\nDate: 2024-01-08\n\n## Status\n\nAccepted\n\n## Context\n\nC\n"


@pytest.fixture
def folder(repo: Path) -> Path:
    """A folder of one record and three files that are none."""
    folder = repo / "docs" / "adr"
    folder.mkdir(parents=True)
    (folder / "0001-first.md").write_text(FIRST)
    for name in ("README.md", "index.md", "0000-template.md", ".adr-dir"):
        (folder / name).write_text("# Not a decision\n")
    return folder


def test_an_import_reports_what_it_added_and_what_it_skipped(memctl: Memctl, folder: Path) -> None:
    result = memctl("import", "adr", str(folder))
    assert result.out == "DEC-2024-01-08-001 0001-first.md\n"
    assert "skipped these files, because they are templates: 0000-template.md\n" in result.err
    assert "skipped these files, because they are not decisions: README.md, index.md\n" in result.err
    data = memctl("import", "adr", str(folder), "--json").data
    assert (data["files"], data["known"], data["changed"]) == ({}, ["0001-first.md"], {})
    assert data["changed"] == {}
    assert data["commit"] is None


def test_ambiguous_date_and_unknown_status_are_noted(memctl: Memctl, folder: Path) -> None:
    (folder / "0002-second.md").write_text("# 2. Second\n\nDate: 3/4/2024\n\n## Status\n\nbrewing\n")
    notes = memctl("import", "adr", str(folder)).err
    assert "note: 0002-second.md:7: unknown status 'brewing'; imported as proposed" in notes
    assert "note: 0002-second.md:3: invalid date '3/4/2024'" in notes


def test_a_dry_run_of_an_import_writes_nothing(repo: Path, memctl: Memctl, folder: Path) -> None:
    before = commits(repo)
    result = memctl("import", "adr", str(folder), "-n")
    assert "would import 1 decision of adr" in result.out
    assert "+title: First" in result.out
    assert commits(repo) == before
    assert git(repo, "status", "--porcelain", ".memory") == ""


def test_an_edited_decision_is_exported_to_its_own_file(memctl: Memctl, folder: Path) -> None:
    memctl("import", "adr", str(folder))
    memctl("decide", "Second", "--rationale", "r", "--supersedes", "DEC-2024-01-08-001")
    assert memctl("export", "adr", str(folder)).out.split()[::3] == ["changed", "new"]
    memctl("edit", "DEC-2024-01-08-001", "--allow-accepted", "--title", "The first")
    assert memctl("export", "adr", str(folder)).out.split()[::3] == ["changed", "changed"]  # the link says its title
    text = (folder / "0001-first.md").read_text()
    assert text.startswith("# 1. The first\n")
    assert "nothing to change" in memctl("import", "adr", str(folder)).err
    assert memctl("export", "adr", str(folder)).out == ""
    (folder / "0001-first.md").write_text(text + "\nMore.\n")
    assert "0001-first.md" in memctl("export", "adr", str(folder), code=1).err


def test_an_export_overwrites_an_edit_only_by_force(memctl: Memctl, folder: Path) -> None:
    memctl("import", "adr", str(folder))
    (folder / "0001-first.md").write_text(FIRST + "\nMore.\n")
    memctl("decide", "Second", "--supersedes", "DEC-2024-01-08-001")
    dry = memctl("export", "adr", str(folder), "--dry-run")
    assert dry.out.split() == [
        *("edited", "0001-first.md", "DEC-2024-01-08-001"),
        *("new", "0002-second.md", "DEC-2025-11-04-001"),
    ]
    failed = memctl("export", "adr", str(folder), code=1)
    assert "0001-first.md" in failed.err
    assert "--force" in failed.err
    assert failed.out == ""
    assert (folder / "0001-first.md").read_text() == FIRST + "\nMore.\n"
    assert not (folder / "0002-second.md").exists()
    data = memctl("export", "adr", str(folder), "--force", "--json").data["files"]
    assert data == [
        {"id": "DEC-2024-01-08-001", "file": "0001-first.md", "state": "edited"},
        {"id": "DEC-2025-11-04-001", "file": "0002-second.md", "state": "new"},
    ]
    assert "Superseded by [2. Second](0002-second.md)" in (folder / "0001-first.md").read_text()
    assert "already up to date: 2 files" in memctl("export", "adr", str(folder)).err


def test_an_export_writes_the_decisions_that_filters_select(memctl: Memctl, tmp_path: Path) -> None:
    for title, tag in (("One", "a"), ("Two", "b")):
        memctl("decide", title, "--tag", tag)
    memctl("issue", "Three", "--tag", "b")
    memctl("export", "adr", str(tmp_path / "out"), "--tag", "b")
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["0002-two.md"]
    assert "no decision matches" in memctl("export", "adr", str(tmp_path / "out"), "--tag", "c").err


def test_export_at_a_revision_uses_its_memory(memctl: Memctl, tmp_path: Path) -> None:
    made = memctl("decide", "One", "--status", "proposed").id
    memctl("edit", made, "--set", "status=accepted")
    memctl("export", "adr", str(tmp_path / "out"), "--at", "HEAD~1")
    assert "status: proposed" in (tmp_path / "out" / "0001-one.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "adr"], "is missing"),
        (["import", "adr", "nowhere"], "nowhere can't be read: No such file or directory"),
        (["import", "adr", __file__], f"Not a directory\nhint: give the folder of the file: {Path(__file__).parent}"),
        (["import", "xml", "docs"], "there is no format 'xml'"),
        (["export", "xml"], "there is no format 'xml'"),
        (["export", "adr"], "is missing"),
        (["export", "adr", __file__], "is not a folder"),
        (["export", "adr", "docs", "--out", "x"], "--out can't be combined with `adr`"),
        (["export", "--form", "madr"], "only for `memctl export adr DIR`"),
        (["export", "jsonl", "docs"], "only for `memctl export adr DIR`"),
    ],
)
def test_a_wrong_command_line_is_explained(memctl: Memctl, arguments: list[str], message: str) -> None:
    failed = memctl(*arguments, code=2)
    assert message in failed.err
    assert failed.out == ""


def test_a_folder_without_records_is_an_error(memctl: Memctl, tmp_path: Path) -> None:
    assert "no architecture decision records" in memctl("import", "adr", str(tmp_path), code=1).err


def test_json_lines_are_read_and_printed_with_and_without_their_name(memctl: Memctl, repo: Path) -> None:
    (repo / "records.jsonl").write_text('{"memory_type": "issue", "title": "Dark"}\n')
    memctl("import", str(repo / "records.jsonl"))
    memctl("import", "jsonl", "-", stdin='{"memory_type": "issue", "title": "Darker"}\n')
    assert memctl("export").out == memctl("export", "jsonl").out
    assert memctl("export").out.count("\n") == 2


MADR = "# Use Redis\n\n## Context and Problem Statement\n\nC\n\n## Decision Outcome\n\nChosen option: Redis\n"


@pytest.mark.parametrize(("others", "heading"), [(FIRST, "## Status\n"), (MADR, "## Decision Outcome\n")])
def test_new_decision_is_exported_in_the_form_of_the_folder(
    repo: Path, memctl: Memctl, folder: Path, others: str, heading: str
) -> None:
    """Whether the folder was imported or not, and whatever form the decisions of another folder have."""
    (folder / "0001-first.md").write_text(others)
    memctl("decide", "Queue in PostgreSQL", "--decision", "Jobs", "--rationale", "One service fewer")
    memctl("export", "adr", str(folder))
    new = folder / "0002-queue-in-postgresql.md"
    assert heading in new.read_text()
    other = repo / "other"
    other.mkdir()
    for number in (1, 2):
        (other / f"000{number}-x.md").write_text(MADR if others == FIRST else FIRST)
    memctl("import", "adr", str(other))
    memctl("import", "adr", str(folder))
    new.unlink()
    memctl("export", "adr", str(folder))
    assert heading in (folder / "0002-queue-in-postgresql.md").read_text()


@pytest.mark.parametrize("target", ["exp", "docs/adr", "demo"])
def test_nothing_is_written_through_a_link_that_the_repository_brought(
    target: str, repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    memctl("decide", "Use SQLite", "--rationale", "It is there.")
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / target.partition("/")[0]).symlink_to(outside)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "link")
    command = ("demo", "demo/shop") if target == "demo" else ("export", "adr", str(repo / target))
    error = memctl(*command, code=1).err
    assert f"leads out of the worktree, to {outside}" in error
    assert list(outside.iterdir()) == []
