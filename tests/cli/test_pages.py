"""`project`, `section` and `detail`: options, JSON, dry runs, texts from files and editors."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, commits, git

EDITOR = """import pathlib, subprocess, sys
file = pathlib.Path(sys.argv[1])
pathlib.Path({seen!r}).write_text(file.read_text())
text, meanwhile = {text!r}, {meanwhile!r}
if meanwhile:
    subprocess.run(meanwhile, check=True, capture_output=True)
if text is not None:
    file.write_text(text)
"""


def in_editor(repo: Path, text: str | None, *args: str, meanwhile: list[str] | None = None) -> tuple[str, str]:
    """Run memctl on a terminal with an editor that leaves `text` (None: nothing): what it was given, what was said.

    `meanwhile` is a program that runs while the editor is open.
    """
    script, seen = repo.parent / "editor.py", repo.parent / "seen.md"
    script.write_text(EDITOR.format(seen=str(seen), text=text, meanwhile=meanwhile))
    seen.write_text("")
    leader, follower = pty.openpty()
    command = f"{sys.executable} {script}"
    with subprocess.Popen(
        [sys.executable, "-m", "memctl", "-C", str(repo), *args],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "EDITOR": command, "VISUAL": command},
    ) as process:
        os.close(follower)
        parts = []
        while True:
            try:
                parts.append(os.read(leader, 65536))
            except OSError:
                break
            if not parts[-1]:
                break
        process.wait()
    os.close(leader)
    return seen.read_text(), b"".join(parts).decode().replace("\r\n", "\n")


def state(repo: Path) -> tuple[object, ...]:
    texts = {str(f): f.read_bytes() for f in repo.rglob("*") if f.is_file() and ".git" not in f.parts}
    return texts, git(repo, "ls-files", "-s"), git(repo, "rev-parse", "HEAD")


@pytest.fixture
def pages(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        memctl("section", "add", "Payment", "--overview", "Takes money.", "--path", "src/**")
        memctl("detail", "add", "Cards", "--section", "2.1")

    once(make)
    return repo


COMMANDS = (
    (["project", "set", "--goal", "Sell"], "project", "§1.0", ".memory/project.md"),
    (["section", "add", "Orders", "--completion", "0"], "add-section", "§2.2", ".memory/sections/2.2-orders.md"),
    (["section", "edit", "2.1", "--weight", "3"], "edit-section", "§2.1", ".memory/sections/2.1-payment.md"),
    (["detail", "add", "Refunds", "--section", "2.1"], "add-detail", "§3.2", ".memory/details/3.2-refunds.md"),
    (["detail", "edit", "§3.1", "--title", "By card"], "edit-detail", "§3.1", ".memory/details/3.1-cards.md"),
    (["detail", "remove", "3.1"], "remove-detail", "§3.1", ".memory/details/3.1-cards.md"),
)


@pytest.mark.parametrize(("args", "op", "marker", "path"), COMMANDS, ids=[command[1] for command in COMMANDS])
def test_every_command_has_dry_run_commit_and_no_commit(
    pages: Path, memctl: Memctl, args: list[str], op: str, marker: str, path: str
) -> None:
    before = state(pages)
    shown = memctl(*args, "--dry-run").out
    assert shown.startswith(f"would {op} {marker} ")
    assert f"would delete {path}" in shown if op.startswith("remove") else f"+++ b/{path}" in shown
    planned = memctl(*args, "--json", "-n").data
    assert (planned["op"], planned["ids"], planned["commit"], planned["changed"]) == (op, [marker], None, True)
    assert [*planned["writes"], *planned["deletes"]] == [path]
    assert state(pages) == before

    held = memctl(*args, "--json", "--no-commit").data
    assert (held["commit"], held["pending"]) == (None, "--no-commit was given")
    assert commits(pages) == int(git(pages, "rev-list", "--count", "HEAD"))
    assert git(pages, "rev-parse", "HEAD") == before[2]
    assert memctl("commit", "--json").data["commits"][0]["op"] == op

    git(pages, "reset", "-q", "--hard", "HEAD~1")
    done = memctl(*args, "--json")
    assert (done.json["kind"], done.err) == ("change", "")
    assert done.data["paths"] == [path]
    assert done.data["commit"] == git(pages, "rev-parse", "HEAD").strip()
    if path in planned["writes"]:
        assert (pages / path).read_text() == planned["writes"][path]
    committed = git(pages, "show", "--format=", "--name-only", "HEAD").splitlines()
    assert sorted(done.data["paths"] + done.data["documents"]) == sorted(committed)


def test_a_write_prints_marker_and_file(pages: Path, memctl: Memctl) -> None:
    assert memctl("section", "add", "Orders").out == "§2.2 .memory/sections/2.2-orders.md\n"
    assert memctl("section", "remove", "2.2").out == "removed §2.2 .memory/sections/2.2-orders.md\n"
    assert memctl("project", "set", "--title", "Shop").out == "§1.0 .memory/project.md\n"


def test_pages_are_listed_for_people_and_programs(pages: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Größe", "--number", "2.10", "--completion", "5", "--path", "a", "--path", "b")
    assert memctl("section", "list").out == ("§2.1        Payment  src/**\n§2.10  5 %  Größe    a, b\n")
    assert memctl("detail", "list").out == "§3.1    Cards  of §2.1\n"
    found = memctl("section", "list", "--json")
    assert found.json["kind"] == "sections"
    assert [page["id"] for page in found.data["sections"]] == ["§2.1", "§2.10"]
    first = found.data["sections"][0]
    assert first["path"] == ".memory/sections/2.1-payment.md"
    assert (first["paths"], first["kind"], first["weight"]) == (["src/**"], "section", 1)
    assert "Takes money." in first["body"]
    assert [page["id"] for page in memctl("section", "list", "--json", "--at", "HEAD~1").data["sections"]] == ["§2.1"]
    assert memctl("detail", "list", "--json", "--at", "HEAD~2").data == {"total": 0, "details": []}


def test_an_empty_list_names_the_command_that_adds_a_page(repo: Path, memctl: Memctl) -> None:
    listed = memctl("detail", "list")
    assert (listed.out, listed.err) == ("", "there are no details; `memctl page detail add TITLE` adds one\n")


def test_pages_that_can_not_be_read_are_named_and_the_others_listed(pages: Path, memctl: Memctl) -> None:
    (pages / ".memory" / "sections" / "2.2-broken.md").write_text("---\nid: §2.2\n---\n")
    listed = memctl("section", "list", code=1)  # as `memctl list` does with broken records
    assert listed.out.startswith("§2.1")
    assert "warning: .memory/sections/2.2-broken.md:1: title: is missing" in listed.err
    found = memctl("section", "list", "--json", code=1)
    assert [page["id"] for page in found.data["sections"]] == ["§2.1"]
    assert found.json["faults"] == [
        {"path": ".memory/sections/2.2-broken.md", "line": 1, "field": "title", "message": "is missing"}
    ]


def test_a_broken_page_is_named_in_the_list_of_its_own_kind(pages: Path, memctl: Memctl) -> None:
    details = pages / ".memory" / "details" / "3.1-cards.md"
    details.write_text("x\n")
    assert memctl("section", "list").err == ""
    listed = memctl("detail", "list", code=1)
    assert listed.out == ""
    assert listed.err.startswith("warning: .memory/details/3.1-cards.md:1: ")
    assert len(listed.err.splitlines()) == 1  # and not that there are none
    assert memctl("detail", "list", "--at", "HEAD").err == ""


@pytest.mark.parametrize("group", ["project", "section", "detail"])
def test_a_group_without_a_command_is_refused(pages: Path, memctl: Memctl, group: str) -> None:
    told = memctl(group, code=2).err
    assert told.startswith("error: Missing command.\nhint: give one of ")
    assert told.endswith(f"; `memctl {group} -h` shows the arguments and options\n")
    assert memctl(group, "-h").out.startswith(f"Usage: memctl {group} ")


def test_help_begins_with_examples(pages: Path, memctl: Memctl) -> None:
    commands = ("section edit", "section remove", "detail add", "section list", "project set")
    for args in map(str.split, commands):
        text = memctl(*args, "-h").out
        assert text.split("\n\n")[1].startswith(f"Examples:\n  memctl page {' '.join(args)}")
        assert "an empty text clears" in " ".join(text.split()) or args[1] not in ("edit", "set")


def test_bad_input_is_reported_on_standard_error_and_nothing_is_written(pages: Path, memctl: Memctl) -> None:
    before = state(pages)
    for args, code, said in (
        (["project", "set"], 2, "no option says what to set"),
        (["section", "edit"], 2, "Missing argument '§2.N'"),
        (["section", "edit", "2.1"], 2, "no terminal"),
        (["section", "add", "T", "--edit"], 2, "no terminal"),
        (["section", "add", "T", "--completion", "101"], 2, "101"),
        (["section", "add", "T", "--completion", "half"], 2, "half"),
        (["section", "add", "T", "--weight", "0"], 2, "0"),
        (["section", "add", "T", "--file", "missing.md"], 2, "missing.md can't be read"),
        (["detail", "add", "T", "--section", "2.1", "--goal", "x"], 2, "--goal"),
        (["section", "add", "T", "--file", ""], 2, "can't be read"),
        (["section", "nonsense"], 2, "nonsense"),
        (["section", "edit", "2.9", "--title", "x"], 1, "there is no section §2.9"),
    ):
        failed = memctl(*args, code=code)
        assert failed.out == "", args
        assert failed.err.startswith("error: "), args
        assert said in failed.err, args
        assert state(pages) == before, args


def test_editor_begins_with_the_page_and_its_text_is_saved(pages: Path) -> None:
    text = "# By card\n\n## Overview\n\nTakes money by card.\n"
    given, _ = in_editor(pages, text, "section", "edit", "2.1")
    assert given == "# Payment\n\n## Overview\n\nTakes money.\n"
    page = (pages / ".memory" / "sections" / "2.1-payment.md").read_text()
    assert "title: By card\n" in page
    assert page.endswith("---\n\n## Overview\n\nTakes money by card.\n")
    assert git(pages, "status", "--porcelain") == ""


def test_a_new_page_is_written_under_the_headings_that_it_may_have(pages: Path) -> None:
    text = "# Orders\n\n## Overview\n\nTakes orders.\n\n## Status\n\n## Next actions\n"
    given, _ = in_editor(pages, text, "section", "add", "--edit")
    assert [line for line in given.split("\n") if line.startswith("#")] == [
        "# Title", "## Overview", "## Status", "## Next actions",
    ]  # fmt: skip
    page = (pages / ".memory" / "sections" / "2.2-orders.md").read_text()
    assert page.endswith("---\n\n## Overview\n\nTakes orders.\n")  # headings under which nothing was written are gone


def test_editor_begins_with_the_text_of_the_options(pages: Path, memctl: Memctl) -> None:
    text = "# Orders\n\n## Overview\n\nTakes orders.\n\n```py\na = 1\n\n\nb = 2  # <!-- x -->\n```\n\n## Mine\n"
    options = ("--overview", "Takes.", "--next", "a", "--completion", "5")
    given, _ = in_editor(pages, text, "section", "add", "Ordering", *options, "--edit")
    assert given == "# Ordering\n\n## Overview\n\nTakes.\n\n## Status\n\n## Next actions\n\n- a\n"
    page = (pages / ".memory" / "sections" / "2.2-orders.md").read_text()
    assert "completion_percentage: 5\n" in page
    assert page.endswith(text.partition("\n")[2])  # what the editor left has the last word
    given, _ = in_editor(pages, text, "section", "edit", "2.1", "--status", "Well.", "--edit")
    assert given == "# Payment\n\n## Overview\n\nTakes money.\n\n## Status\n\nWell.\n"
    (pages / "notes.md").write_text("# Noted\n\nFrom a file.\n")
    file = str(pages / "notes.md")
    given, _ = in_editor(pages, "# Noted\n\nEdited.\n", "detail", "add", "--section", "2.1", "--file", file, "--edit")
    assert given == "# Noted\n\nFrom a file.\n"
    assert (pages / ".memory" / "details" / "3.2-noted.md").read_text().endswith("---\n\nEdited.\n")


def test_the_editor_of_a_project_begins_with_its_name(repo: Path) -> None:
    given, _ = in_editor(repo, "# shop\n\n## Goal\n\nSell.\n\n## Status\n\n## Priorities\n", "project", "set", "--edit")
    assert given == "# shop\n\n## Goal\n\n## Status\n\n## Priorities\n"
    assert (repo / ".memory" / "project.md").read_text().endswith("---\n\n## Goal\n\nSell.\n")


def test_editor_text_without_a_title_is_refused_and_kept(pages: Path) -> None:
    before = state(pages)
    _, said = in_editor(pages, "# Title\n\n## Overview\n\nAn hour's work.\n", "section", "add", "--edit")
    assert "error: the new page has no title" in said
    assert state(pages) == before
    kept = Path(said.split("your text is in ")[1].split("\n")[0])
    assert kept.read_text() == "# Title\n\n## Overview\n\nAn hour's work.\n"


def test_a_title_that_is_not_edited_stays_unchanged(pages: Path, memctl: Memctl) -> None:
    memctl("section", "edit", "2.1", "--title", "In C #")
    in_editor(pages, "# In C #\n\n## Overview\n\nOther.\n", "section", "edit", "2.1")
    assert 'title: "In C #"\n' in (pages / ".memory" / "sections" / "2.1-payment.md").read_text()


@pytest.mark.parametrize(
    ("args", "meanwhile", "said"),
    [
        (
            ["section", "edit", "2.1"],
            ["section", "edit", "2.1", "--next", "a"],
            "the file of §2.1 was changed while you edited its text",
        ),
        (
            ["section", "edit", "2.1"],
            ["section", "edit", "2.1", "--weight", "2"],
            "the file of §2.1 was changed while you edited",
        ),
        (["detail", "edit", "3.1"], ["detail", "remove", "3.1"], "there is no detail §3.1"),
        (
            ["project", "set", "--edit"],
            ["project", "set", "--goal", "Sell"],
            "the file of §1.0 was changed while you edited its text",
        ),
    ],
)
def test_page_changed_during_an_edit_is_not_overwritten(
    pages: Path, args: list[str], meanwhile: list[str], said: str
) -> None:
    command = [sys.executable, "-m", "memctl", "-C", str(pages), *meanwhile]
    _, shown = in_editor(pages, "# T\n\nAn hour's work.\n", *args, meanwhile=command)
    assert f"error: {said}" in shown
    assert "An hour's work." in Path(shown.split("your text is in ")[1].split("\n")[0]).read_text()


@pytest.mark.parametrize(
    ("left", "args"),
    [
        (None, ["section", "edit", "2.1"]),
        (None, ["section", "add", "--edit"]),
        (None, ["detail", "add", "--edit", "--section", "2.1"]),
        ("", ["section", "add", "--edit"]),
        ("\n", ["section", "edit", "2.1"]),
        ("", ["project", "set", "--edit"]),
    ],
)
def test_editor_closed_without_text_changes_nothing(pages: Path, left: str | None, args: list[str]) -> None:
    before = state(pages)
    _, said = in_editor(pages, left, *args)
    assert "error: " in said
    assert state(pages) == before


def test_unchanged_skeleton_makes_no_page(pages: Path) -> None:
    before = state(pages)
    _, said = in_editor(pages, "# Title\n\n## Overview\n\n## Status\n\n## Next actions\n", "section", "add", "--edit")
    assert "error: " in said
    assert state(pages) == before
    for text, args in (
        ("# Title\n\n", ["detail", "add", "--edit", "--section", "2.1"]),
        ("# shop\n\n## Goal\n\n## Status\n\n## Priorities\n", ["project", "set", "--edit"]),
    ):
        assert "error: the edited text is empty" in in_editor(pages, text, *args)[1]
        assert state(pages) == before


@pytest.mark.parametrize(
    ("args", "title"),
    [
        (["section", "edit", "2.1", "--edit"], "x" * 101),
        (["section", "add", "--edit", "--number", "2.1"], "Taken"),
        (["detail", "add", "--edit", "--section", "2.9"], "Of nothing"),
        (["project", "set", "--edit"], "Key " + "ghp_" + "a1B2" * 9),
    ],
)
def test_refused_text_from_an_editor_is_kept_in_a_file(pages: Path, args: list[str], title: str) -> None:
    text = f"# {title}\n\n## Overview\n\nAn hour's work.\n"
    _, said = in_editor(pages, text, *args)
    assert "error: " in said
    assert "your text is in" in said
    kept = Path(said.split("your text is in ")[1].split("\n")[0])
    assert "An hour's work." in kept.read_text()


def test_open_editor_does_not_block_other_writes(pages: Path, memctl: Memctl) -> None:
    script = pages.parent / "writes.py"
    script.write_text(
        "import subprocess, sys\n"
        f"other = [{sys.executable!r}, '-m', 'memctl', '-C', {str(pages)!r}, 'learn', 'Meanwhile']\n"
        "try:\n    subprocess.run(other, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)\n"
        "except subprocess.TimeoutExpired:\n    pass\n"
        "open(sys.argv[1], 'a').write('\\nWritten meanwhile.\\n')\n"
    )
    leader, follower = pty.openpty()
    command = f"{sys.executable} {script}"
    env = {**os.environ, "EDITOR": command, "VISUAL": command}
    edit = [sys.executable, "-m", "memctl", "-C", str(pages), "section", "edit", "2.1"]
    with subprocess.Popen(edit, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL, env=env) as process:
        assert process.wait() == 0
    os.close(leader)
    os.close(follower)
    assert [record["title"] for record in memctl("list", "--json").data["records"]] == ["Meanwhile"]
    assert "Written meanwhile." in (pages / ".memory" / "sections" / "2.1-payment.md").read_text()
