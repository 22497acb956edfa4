"""Whose an imported record is: its source says so, or else Git; it is not whoever imported it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Memctl, git

BODY = "\n## Context and Problem Statement\n\nWhy?\n\n## Decision Outcome\n\nSo.\n"
MADR_4 = "---\nstatus: accepted\ndate: 2021-03-01\n{}\n---\n\n# Use cents\n"
MADR_2 = "# Use cents\n\n* Status: accepted\n* {}\n* Date: 2021-03-01\n"


def author(memctl: Memctl, number: int = 0) -> str:
    return str(memctl("list", "--type", "decision", "--json").data["records"][number]["agent_id"])


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (MADR_4.format("decision-makers: Ada, Bob"), "Ada, Bob"),
        (MADR_4.format("decision-makers: [Ada, Bob]"), "Ada, Bob"),
        (MADR_4.format("deciders:\n  - Ada\n  - 'Bob'"), "Ada, Bob"),
        (MADR_2.format("Deciders: [Ada](https://example.org/ada), Bob"), "Ada, Bob"),
        (MADR_2.format("Technical Story: none"), "Cyd"),
        (MADR_4.format("decision-makers: {list everyone involved in the decision}"), "Cyd"),
        (MADR_4.format('decision-makers: ""'), "Cyd"),
    ],
)
def test_the_author_is_the_decider_or_else_the_committer(memctl: Memctl, repo: Path, head: str, said: str) -> None:
    (repo / "adr").mkdir()
    (repo / "adr" / "0001-use-cents.md").write_text(head + BODY)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "adr", "--author", "Cyd <cyd@example.org>")
    memctl("import", "adr", str(repo / "adr"))
    assert author(memctl) == said
    memctl("export", "adr", str(repo / "out"))
    assert (repo / "out" / "0001-use-cents.md").read_text() == head + BODY


def test_outside_of_git_the_author_is_the_decider_or_else_the_importer(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "adr").mkdir()
    (tmp_path / "adr" / "0001-a.md").write_text(MADR_4.format("deciders: Ada") + BODY)
    memctl("import", "adr", str(tmp_path / "adr"))
    assert author(memctl) == "Ada"


@pytest.mark.parametrize(
    ("given", "said"),
    [({"agent_id": "ada"}, "ada"), ({"author": "Bob B"}, "Bob B"), ({"author": "b", "agent_id": "a"}, "a")],
)
def test_author_of_a_json_line_is_kept(memctl: Memctl, given: dict[str, str], said: str) -> None:
    memctl("import", "-", stdin=json.dumps({"memory_type": "decision", "title": "Use cents", **given}))
    assert author(memctl) == said


def test_imported_records_do_not_count_as_the_last_session(memctl: Memctl) -> None:
    lines = [
        {"memory_type": "learning", "title": f"L {year}", "timestamp": f"{year}-02-03"} for year in range(2010, 2025)
    ]
    lines.append({"memory_type": "learning", "title": "Nobody knows when"})
    memctl("import", "-", stdin="\n".join(map(json.dumps, lines)))
    assert " session" not in memctl("rehydrate").out
