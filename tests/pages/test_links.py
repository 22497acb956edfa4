"""Links of documents: they lead where they say, and prose becomes links except where it is code."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from memctl.pages.links import Links
from tests.conftest import Memctl, git
from tests.pages.test_levels import detail, memory, project, record, section
from tests.snapshots import renderer

CONTENTS = dict.fromkeys(("src/auth/jwt.py", "src/db.py", "lib/db.py", "web/app.ts"), b"x")
SNAPSHOT = memory(
    project("## Goal\n\nSell.\n"),
    section(1),
    detail(1, "## Schema\n\n## 3.1.4 What, why?\n"),
    record(1),
    contents=CONTENTS,
)
DECISION = "../decisions/2025-11/DEC-2025-11-04-001.md"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See §1.0, §2.1 and §3.1.", "See [§1.0](1.0-executive-summary.md), [§2.1](2.1-s.md) and [§3.1](3.1-d.md)."),
        ("§3.1.1/§3.1.4", "[§3.1.1](3.1-d.md#311-schema)/[§3.1.4](3.1-d.md#314-what-why)"),
        ("(§4.auth.jwt)", "([§4.auth.jwt](../../src/auth/jwt.py))"),
        ("§4.src/auth/jwt.py.", "[§4.src/auth/jwt.py](../../src/auth/jwt.py)."),
        ("§4.src/auth", "[§4.src/auth](../../src/auth)"),
        ("§4.auth/jwt.py", "[§4.auth/jwt.py](../../src/auth/jwt.py)"),  # the end of a path means the file, as in `show`
        ("§4.jwt", "[§4.jwt](../../src/auth/jwt.py)"),
        ("§4.web/gone.ts §4.web/*", "§4.web/gone.ts §4.web/*"),  # a link to nowhere is worse than none
        ("§4.db is two files, §2.9 none", "§4.db is two files, §2.9 none"),
        ("as in DEC-2025-11-04-001.", f"as in [DEC-2025-11-04-001]({DECISION})."),
        ("DEC-2025-11-04-002 is not there", "DEC-2025-11-04-002 is not there"),
        ("[the schema](§3.1.1)", "[the schema](3.1-d.md#311-schema)"),
        ("[see §2.1](https://a.example/DEC-2025-11-04-001)", "[see §2.1](https://a.example/DEC-2025-11-04-001)"),
        ("[DEC-2025-11-04-001](x) DEC-2025-11-04-001", f"[DEC-2025-11-04-001](x) [DEC-2025-11-04-001]({DECISION})"),
        ("[lost](§2.9)", "lost"),
        ("[Details](#21-architecture)", "[Details](2.1-s.md)"),
        ("[Schema: §3.1.1](#4-database-schema)", "[Schema: §3.1.1](3.1-d.md#311-schema)"),
        ("[see §4.auth.jwt](#4-auth)", "[see §4.auth.jwt](../../src/auth/jwt.py)"),
        ("[what](#314-what-why) [own](#goals) [no](#29-x)", "[what](3.1-d.md#314-what-why) [own](#goals) [no](#29-x)"),
        ("![§2.1](picture.png)", "![§2.1](picture.png)"),
        ("`§2.1` and ``§2.1 ` x`` §2.1", "`§2.1` and ``§2.1 ` x`` [§2.1](2.1-s.md)"),
        ("`DEC-2025-11-04-001`", "`DEC-2025-11-04-001`"),
        ("```\n§2.1 DEC-2025-11-04-001\n```\n§2.1", "```\n§2.1 DEC-2025-11-04-001\n```\n[§2.1](2.1-s.md)"),
        ("text\n\n    code(§2.1)\n\n§2.1", "text\n\n    code(§2.1)\n\n[§2.1](2.1-s.md)"),
        ("- item\n  ```\n  §2.1\n  ```\n", "- item\n  ```\n  §2.1\n  ```\n"),
        ("https://a.example/DEC-2025-11-04-001-x", "https://a.example/DEC-2025-11-04-001-x"),
        ("# §2.1\n\n| §2.1 |\n|---|\n", "# [§2.1](2.1-s.md)\n\n| [§2.1](2.1-s.md) |\n|---|\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_markers_and_ids_in_prose_become_links(text: str, expected: str) -> None:
    assert Links(SNAPSHOT).prose(text) == expected


def test_files_are_listed_only_if_a_reference_needs_it() -> None:
    """A dotted reference makes Git look at the whole worktree; pages without one do not."""
    snapshot = memory(section(1))
    snapshot.__dict__["files"] = None
    assert "§2.1" in Links(snapshot).prose("§2.1, §1.0 and DEC-2025-11-04-001")


ODD = (
    "plain.py", "with space.py", "100%.py", "a%20b.py", "c#/notes.py", "f(x).py", "größe.py", "日本/データ.py",
    "a&b.py", "[x].py", "quote'.py", "semi;colon.py", "q?.py", "tick`.py", "pipe|.py", "star*.py", "<tag>.py",
)  # fmt: skip


def links_of(text: str) -> list[str]:
    """Where the links of a document lead, as a browser asks for them."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        found += [str(c.attrs["href"]) for c in token.children or [] if c.type == "link_open"]
    return found


def anchors_of(text: str) -> set[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    titles = [
        "".join(c.content for c in tokens[n + 1].children or [])
        for n, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(repo: Path, folder: str = ".memory") -> list[tuple[str, str]]:
    """The relative links of all documents that lead to no file, or to no heading of a document."""
    broken = []
    for document in (repo / folder / "docs").glob("*.md"):
        for link in links_of(document.read_text()):
            if link.startswith("https:"):
                continue
            path, _, anchor = link.partition("#")
            file = document.parent / unquote(path)
            if not file.exists() or (
                file.parent.name == "docs" and anchor and unquote(anchor) not in anchors_of(file.read_text())
            ):
                broken.append((document.name, link))
    return broken


@pytest.mark.parametrize("folder", ["", "packages/my shop"])
def test_every_link_of_every_document_leads_to_something(repo: Path, memctl: Memctl, folder: str) -> None:
    """Whatever files are called, and wherever in the repository the memory is."""
    where = repo / folder
    where.mkdir(parents=True, exist_ok=True)
    if folder:
        memctl("init", "--here", "--project", "inner", where=where)
    for name in ODD:
        file = repo / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('"""Does `a | b` | c."""\n')
    git(repo, "add", "src")
    git(repo, "commit", "-qm", "odd names")
    memctl(
        "section",
        "add",
        "Größe (alt) & #1",
        "--path",
        "src/**",
        "--path",
        "src/c#/*",
        "--path",
        "src/with space.py",
        where=where,
    )
    codes = [part for name in ODD for part in ("--code", f"src/{name}")]
    text = "See §4.src/plain.py and §3.1.2.\n\n## Größe (neu) & #2\n\n## `Code` in *it* § 100 %\n\n### Deeper\n\nx\n"
    memctl("detail", "add", "Détails [x](y)", "--section", "2.1", *codes, "--file", "-", stdin=text, where=where)
    memctl(
        "decide", "Ein [Link](https://evil.example)", "--section", "2.1", "--tag", "a|b", "--tag", "größe", where=where
    )
    memctl("render", where=where)
    prefix = f"{folder}/.memory" if folder else ".memory"
    assert broken_links(repo, prefix) == []
    linked = {unquote(link) for link in links_of((repo / prefix / "docs" / "4-sources.md").read_text())}
    up = "../" * (prefix.count("/") + 2)
    assert {f"{up}src/{name}" for name in ODD} <= linked
    linked = {unquote(link) for link in links_of((repo / prefix / "docs" / "3.1-details-x-y.md").read_text())}
    assert {f"{up}src/{name}" for name in ODD} <= linked


def test_special_characters_of_file_names_break_no_table_cell(repo: Path, memctl: Memctl) -> None:
    for name in ("a|b.py", "`x`.py", "plain.py"):
        (repo / name).write_text('"""Does `a | b` | c."""\n')
    memctl("section", "add", "All", "--path", "*.py")
    listed = (repo / ".memory/docs/4-sources.md").read_text()
    assert listed.endswith(
        "- [`a|b.py`](../../a%7Cb.py): Does `a | b` \\| c.\n- [`plain.py`](../../plain.py): Does `a | b` \\| c.\n"
    )
    tokens = MarkdownIt("commonmark").enable("table").parse(memctl("show", "§4").out)
    cells = [
        "".join(c.content for c in tokens[n + 1].children or []) for n, t in enumerate(tokens) if t.type == "td_open"
    ]
    rows = [cells[n : n + 5] for n in range(0, len(cells), 5)]
    assert [row[0] for row in rows] == ["[`x`.py]", "[app.py]", "[a|b.py]", "[plain.py]"]
    assert [row[4] for row in rows] == ["Does a | b | c.", "", "Does a | b | c.", "Does a | b | c."]


def test_a_document_of_a_page_is_named_after_its_file() -> None:
    making = renderer(memory(project(), section(2), section(10), detail(3)))
    assert making.names() == ("INDEX.md", "1.0-executive-summary.md", "2.2-s.md", "2.10-s.md", "3.3-d.md")
