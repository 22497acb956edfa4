"""Links and images of imported texts lead where they led before, from the record and from the documents."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from memctl.text import markdown
from tests.conftest import Memctl, git

ADR = """# 1. Keep carts in Redis

## Status

Accepted

## Context

![Load](./img/load%20test.png) shows it, as does [the plan](../plan.md#goals "Plan"), [the next](0002-next.md).

## Decision

See [the web](https://example.org/x), [above](#context), `![no](img/load.png)`, [gone](gone.md).

```text
[in code](../plan.md)
```
"""
TARGET = re.compile(r"\]\(([^)\s]+)")


def leads_to(file: Path) -> set[Path]:
    """The files that the relative links of a text lead to."""
    targets = (unquote(target.partition("#")[0]) for target in TARGET.findall(file.read_text()))
    found = ((file.parent / target).resolve() for target in targets if target and "://" not in target)
    return {path for path in found if path.exists()}


def folder_of_decisions(repo: Path) -> Path:
    folder = repo / "docs" / "adr"
    (folder / "img").mkdir(parents=True)
    (folder / "0001-carts.md").write_text(ADR)
    (folder / "0002-next.md").write_text(ADR.replace("# 1. Keep carts in Redis", "# 2. Next"))
    (folder / "img" / "load test.png").write_bytes(b"png")
    (folder.parent / "plan.md").write_text("# Goals\n")
    git(repo, "add", "docs")
    git(repo, "commit", "-qm", "decisions")
    return folder


def test_links_of_a_decision_are_rewritten_and_exported_unchanged(repo: Path, memctl: Memctl) -> None:
    folder = folder_of_decisions(repo)
    made = memctl("import", "adr", str(folder), "--json").data["files"]["0001-carts.md"]
    (record,) = (repo / ".memory" / "decisions").rglob(f"{made}*.md")
    there = {folder / "img" / "load test.png", folder.parent / "plan.md", folder / "0002-next.md"}
    assert leads_to(record) == there
    text = record.read_text()
    assert '[the plan](../../../docs/plan.md#goals "Plan")' in text
    assert "`![no](img/load.png)`, [gone](gone.md)" in text
    assert "[in code](../plan.md)" in text
    assert "already up to date: 2 files" in memctl("export", "adr", str(folder)).err
    assert memctl("import", "adr", str(folder)).err.startswith("nothing to change")
    memctl("section", "add", "Shop")
    memctl("detail", "add", "Carts", "--section", "2.1")
    memctl("edit", made, "--section", "3.1")
    assert there <= leads_to(repo / ".memory" / "docs" / "3.1-carts.md")
    memctl("edit", made, "--allow-accepted", "--set", "context=![Load](../../../docs/adr/img/load%20test.png), still")
    memctl("export", "adr", str(folder))
    assert "![Load](./img/load%20test.png), still" in (folder / "0001-carts.md").read_text()


def test_a_link_out_of_the_repository_is_reported(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "0001-carts.md").write_text(ADR)
    (folder / "0002-next.md").write_text(ADR)
    told = memctl("import", "adr", str(folder)).err
    assert (
        "note: 0001-carts.md: the link to 0002-next.md leads out of this repository, so it does not work in the record"
        in told
    )
    assert "gone.md" not in told


def test_links_of_a_task_are_rewritten(repo: Path, memctl: Memctl) -> None:
    tasks = repo / "backlog" / "tasks"
    tasks.mkdir(parents=True)
    (repo / "backlog" / "plan.md").write_text("# Plan\n")
    (tasks / "task-1 - x.md").write_text("---\nid: task-1\ntitle: X\n---\n\n## Description\n\nSee [it](../plan.md).\n")
    made = memctl("import", "backlog", str(repo / "backlog"), "--json").data["ids"][0]
    (record,) = (repo / ".memory" / "issues").rglob(f"{made}*.md")
    assert leads_to(record) == {repo / "backlog" / "plan.md"}


def test_only_relative_targets_outside_of_code_are_rewritten() -> None:
    text = "[a](b.md) ![c](<d e.md>) [f](/g) [h](#i) [j](k:l) `[m](n)` [o](p.md 'q')\n\n    [code](x.md)\n"
    assert markdown.rewrite_links(text, str.upper) == text.replace("b.md", "B.MD").replace("p.md", "P.MD")
