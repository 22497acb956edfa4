"""Hostile and broken files: never silently skipped, never followed out, never too large to handle."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, every, git

READS = (["list"], ["search", "good"], ["rehydrate"], ["status"], ["export"])


@pytest.fixture
def good(memctl: Memctl, once: Once) -> str:
    def make() -> str:
        return memctl("decide", "A good one", "--rationale", "it is good").id

    return str(once(make))


def broken(repo: Path, text: str | bytes, name: str = "LRN-2025-11-04-009-broken.md") -> str:
    file = repo / ".memory" / "learnings" / "2025-11" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file.relative_to(repo))


HEAD = """---
id: LRN-2025-11-04-009
memory_id: 019a4f1c-0000-7000-8000-000000000009
memory_type: learning
title: Broken
status: active
importance: 5
timestamp: 2025-11-04T14:32:00Z
project_id: shop
agent_id: claude
---
"""

CASES = {
    "importance": (HEAD.replace("importance: 5", "importance: 11"), 7, "importance", "1 to 10"),
    "octal": (HEAD.replace("importance: 5", "importance: 010"), 7, "importance", "quotes"),
    "norway": (HEAD.replace("title: Broken", "title: no"), 5, "title", "quotes"),
    "number as title": (HEAD.replace("title: Broken", "title: 2025"), 5, "title", "quotes"),
    "duplicate key": (HEAD.replace("status: active", "status: active\nstatus: retracted"), 7, "status", "occurs twice"),
    "status": (HEAD.replace("status: active", "status: accepted"), 6, "status", "active, superseded, retracted"),
    "time": (HEAD.replace("2025-11-04T14:32:00Z", "2025-02-31T14:32:00Z"), 8, "timestamp", "ISO 8601"),
    "missing": (HEAD.replace("project_id: shop\n", ""), 1, "project_id", "missing"),
    "other id": (HEAD.replace("id: LRN-2025-11-04-009", "id: LRN-2025-11-04-008", 1), 2, "id", "the file's name is"),
    "wrong type": (HEAD.replace("memory_type: learning", "memory_type: decision"), 6, "status", "accepted"),
    "conflict": (HEAD + "\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", 13, "", "merge conflict"),
    "no front matter": ("# Just text\n", 1, "", "front matter"),
    "not closed": (HEAD.replace("agent_id: claude\n---\n", "agent_id: claude\n"), 1, "", "must end with a line"),
    "not UTF-8": (HEAD.encode() + b"\n\xff\xfe\n", 13, "", "UTF-8"),
    "not YAML": (HEAD.replace("title: Broken", "title: [open"), 6, "", "not valid YAML"),
    "title of two lines": (HEAD.replace("title: Broken", "title: |\n  Two\n  lines"), 5, "title", "one line"),
    "NUL": (HEAD + "\na\0b\n", 13, "", "NUL"),
    "alias": (HEAD.replace("title: Broken", "title: Broken\na: &a [x]\nb: [*a, *a]"), 6, "", "aliases"),
    "path outside": (HEAD.replace("agent_id", "code_refs:\n  - ../../etc/passwd\nagent_id"), 10, "code_refs", "inside"),
    "too large": (HEAD + "x" * 3_000_000, 1, "", "3,000,2"),
}  # fmt: skip


@pytest.mark.parametrize("name", every(2, CASES))
def test_broken_record_is_named_and_other_records_are_shown(repo: Path, memctl: Memctl, good: str, name: str) -> None:
    text, line, field, message = CASES[name]
    path = broken(repo, text)
    for command in READS:
        result = memctl(*command, code=1)
        assert good in result.out or command == ["status"]
        warning = next(w for w in result.err.splitlines() if w.startswith("warning: "))
        assert warning.startswith(f"warning: {path}:{line}: {field}"), warning
        assert message in warning
    faults = memctl("list", "--json", code=1).json["faults"]
    assert (faults[0]["path"], faults[0]["line"], faults[0]["field"]) == (path, line, field)
    assert path in memctl("show", good).err
    assert "can't be read" in memctl("show", "LRN-2025-11-04-009", code=1).err


def test_all_faults_of_a_file_are_reported_at_once(repo: Path, memctl: Memctl, good: str) -> None:
    text = HEAD.replace("importance: 5", "importance: 0").replace("project_id: shop\n", "").replace("active", "odd")
    broken(repo, text)
    assert [f["field"] for f in memctl("list", "--json", code=1).json["faults"]] == ["project_id", "importance"]


def test_broken_record_at_a_revision_is_named(repo: Path, memctl: Memctl, good: str) -> None:
    path = broken(repo, CASES["octal"][0])
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "broken")
    (repo / path).unlink()
    assert memctl("list").err == ""
    assert f"warning: {path}:7: importance" in memctl("list", "--at", "HEAD", code=1).err


@pytest.mark.parametrize("bomb", ["nested", "laughs", "huge"])
def test_yaml_bombs_and_huge_files_are_refused(repo: Path, memctl: Memctl, good: str, bomb: str) -> None:
    text: str | bytes = HEAD.replace("title: Broken", "title: " + "[" * 30_000)
    if bomb == "laughs":
        lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
        text = HEAD.replace("title: Broken", "\n".join(lines))
    path = broken(repo, text)
    if bomb == "huge":
        os.truncate(repo / path, 100 * 1024 * 1024)
    assert f"warning: {path}:" in memctl("list", code=1).err


@pytest.mark.parametrize("what", ["file", "folder", "memory"])
def test_symbolic_links_are_refused(repo: Path, memctl: Memctl, good: str, what: str) -> None:
    outside = repo.parent / "outside"
    outside.mkdir()
    (outside / "LRN-2025-11-04-009-broken.md").write_text(HEAD)
    learnings = repo / ".memory" / "learnings"
    if what == "file":
        (learnings / "2025-11").mkdir(parents=True)
        (learnings / "2025-11" / "LRN-2025-11-04-009-broken.md").symlink_to(outside / "LRN-2025-11-04-009-broken.md")
        assert "memctl reads no links, folders or devices" in memctl("list", code=1).err
        return
    if what == "folder":
        learnings.symlink_to(outside)
    else:
        (repo / ".memory").rename(outside / "moved")
        (repo / ".memory").symlink_to(outside / "moved")
    assert "is a symbolic link" in memctl("learn", "Escape", code=1).err
    assert not list(outside.glob("**/*escape*"))


def test_memory_of_another_tool_is_refused(repo: Path, memctl: Memctl) -> None:
    folder = repo / "other"
    (folder / ".memory").mkdir(parents=True)
    (folder / ".memory" / "memory.db").touch()
    for command in (["list"], ["init", "--here"], ["decide", "x"]):
        assert "another tool" in memctl(*command, where=folder, code=1).err
    assert os.listdir(folder / ".memory") == ["memory.db"]


def test_newer_format_is_refused(repo: Path, memctl: Memctl) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 2", "format: 3"))
    failed = memctl("list", code=1)
    assert "format 3" in failed.err
    assert "install a newer version of memctl" in failed.err


@pytest.mark.parametrize(
    "text", ["format: one\nproject: x\n", "project: x\n", "format: 1\nproject: [\n", "format: 1\nformat: 1\n"]
)
def test_broken_config_is_an_error_that_names_the_file(repo: Path, memctl: Memctl, text: str) -> None:
    (repo / ".memory" / "config.yaml").write_text(text)
    assert memctl("list", code=1).err.startswith("error: .memory/config.yaml")


def test_credentials_are_refused_with_the_field_named(repo: Path, memctl: Memctl) -> None:
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    refused = memctl("decide", "Cloud", "--rationale", f"the key is {key}", code=1)
    assert refused.err.startswith("error: Rationale: line 1 looks like a credential (AWS access key, AKIA…)")
    assert git(repo, "status", "--porcelain") == ""
    made = memctl("decide", "Cloud", "--rationale", f"the key is {key}", "--allow-secret")
    memctl("edit", made.id, "--add", "tags=cloud")  # what stood there already is not complained of again
    assert "credential" in memctl("edit", made.id, "--add", f"tags={key}x", code=1).err


def test_control_characters_are_not_sent_to_a_terminal(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    from memctl.cli import output

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("memctl.cli.output.sys.stdout", Terminal())
    assert output.plain("a\x1b[2Jb\x07\tc\n") == "a\ufffd[2Jb\ufffd\tc\n"


DOCUMENTS = ("1.0-executive-summary.md", "INDEX.md")


@pytest.fixture
def shown(repo: Path, memctl: Memctl) -> Path:
    """A decision that documents show, and whose file somebody has broken since."""
    made = memctl("decide", "Drop colorama", "--rationale", "It is large", "-i", "9")
    file = repo / made.out.split()[1]
    docs = repo / ".memory" / "docs"
    assert all(made.id in (docs / name).read_text() for name in DOCUMENTS)
    file.write_text(file.read_text().replace("importance: 9", "importance: nine"))
    return file


@pytest.mark.parametrize(
    "command",
    [
        ("learn", "While broken", "--lesson", "x"),
        ("learn", "Held", "--no-commit"),
        ("checkpoint", "save", "--task", "T", "--done", "a", "--next", "n"),
        ("project", "set", "--goal", "Sell"),
        ("render",),
    ],
    ids=lambda command: command[0],
)
def test_write_reports_a_broken_record_and_keeps_it_in_the_documents(
    repo: Path, memctl: Memctl, shown: Path, command: tuple[str, ...]
) -> None:
    result = memctl(*command)
    assert f"warning: {shown.relative_to(repo)}:6: importance" in result.err
    docs = repo / ".memory" / "docs"
    assert all("DEC-2025-11-04-001" in (docs / name).read_text() for name in DOCUMENTS)
    if command[0] == "render":  # a write renders the record as HEAD has it
        named = ", ".join(f".memory/docs/{name}" for name in reversed(DOCUMENTS))
        assert (
            f"these documents show an unreadable file, and are not rendered until it is corrected: {named}"
            in result.err
        )
    assert all("DEC-2025-11-04-001" in git(repo, "show", f"HEAD:.memory/docs/{name}") for name in DOCUMENTS)
    shown.write_text(shown.read_text().replace("importance: nine", "importance: 9"))
    memctl("commit")
    memctl("render")
    memctl("check")


@pytest.mark.parametrize("name", ["project.md", "sections/2.1-payment.md", "details/3.1-cards.md"])
def test_write_reports_a_broken_page_and_keeps_it_in_the_documents(repo: Path, memctl: Memctl, name: str) -> None:
    memctl("project", "set", "--goal", "Sell books to everybody")
    memctl("section", "add", "Payment", "--overview", "Takes money")
    memctl("detail", "add", "Cards", "--section", "2.1")
    page, docs = repo / ".memory" / name, repo / ".memory" / "docs"
    before = {file.name: file.read_text() for file in docs.iterdir()}
    page.write_text("broken\n")
    result = memctl("decide", "Two", "--section", "2.1", "--rationale", "x")
    assert f"warning: .memory/{name}:1: " in result.err
    marker = "Sell books to everybody" if name == "project.md" else f"§{name.partition('/')[2][:3]}"
    for document, text in before.items():
        assert marker not in text or marker in (docs / document).read_text(), document


def test_linked_template_is_one_finding_beside_the_others(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "One", "--rationale", "x")
    templates = repo / ".memory" / "templates"
    templates.mkdir()
    (templates / "INDEX.md.j2").symlink_to("/etc/hostname")
    broken(repo, HEAD.replace("importance: 5", "importance: 11"))
    found = memctl("check", "--json", code=1).data["findings"]
    assert [one["code"] for one in found if "templates" in one["path"]] == ["MEM502"]
    assert "MEM101" in {one["code"] for one in found}


@pytest.mark.parametrize("cone", [True, False])
def test_sparse_checkout_is_reported_with_the_number_of_missing_records(repo: Path, memctl: Memctl, cone: bool) -> None:
    for title in ("One", "Two"):
        memctl("learn", title, "--lesson", "x")
    memctl("decide", "Three", "--rationale", "x")
    memctl("section", "add", "Pay")
    assert "sparse" not in memctl("list").err
    if cone:
        git(repo, "sparse-checkout", "set", "--cone", ".memory/decisions", ".memory/docs", ".memory/sections")
    else:
        git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/.memory/learnings/")
    for args in (
        ("list",),
        ("search", "One"),
        ("rehydrate",),
        ("status",),
        ("show", "DEC-2025-11-04-001"),
        ("export",),
    ):
        result = memctl(*args)
        assert "warning: 2 records and pages of HEAD are not checked out here (sparse checkout)" in result.err, args
        assert "hint: `git sparse-checkout disable` checks these files out" in result.err
    assert "not checked out" in memctl("show", "LRN-2025-11-04-001", code=1).err
    assert "sparse" not in memctl("list", "--at", "HEAD").err
    assert memctl("learn", "Four", "--lesson", "x").id == "LRN-2025-11-04-003"
    git(repo, "sparse-checkout", "disable")
    assert "sparse" not in memctl("list").err
    assert len(memctl("list", "--json").data["records"]) == 4


CONES = {
    "sections": ["--no-cone", "/*", "!/.memory/sections/"],
    "sections and documents": ["--no-cone", "/*", "!/.memory/sections/", "!/.memory/docs/"],
    "decisions only": ["--cone", ".memory/decisions"],
}


@pytest.mark.parametrize("cone", CONES.values(), ids=list(CONES))
def test_documents_committed_in_a_sparse_checkout_show_what_it_leaves_out(
    repo: Path, memctl: Memctl, cone: list[str]
) -> None:
    memctl("section", "add", "Pay")
    memctl("decide", "One", "--rationale", "x", "--section", "2.1")
    git(repo, "update-index", "--refresh")
    git(repo, "sparse-checkout", "set", *cone)
    assert not (repo / ".memory" / "sections").exists()
    memctl("learn", "Two", "--lesson", "x")
    assert "[§2.1 Pay](2.1-pay.md)" in git(repo, "show", "HEAD:.memory/docs/INDEX.md")
    assert "Two" in git(repo, "log", "-1", "--format=%s", "--", ".memory/docs/INDEX.md")
    for args in (["check"], ["render", "--check"]):
        result = memctl(*args)
        assert "not checked out" not in result.err
        assert "MEM" not in result.out
    head = git(repo, "rev-parse", "HEAD")
    memctl("render")
    assert git(repo, "rev-parse", "HEAD") == head
    git(repo, "sparse-checkout", "disable")
    memctl("render", "--check")
    assert git(repo, "status", "--porcelain") == ""
