"""What `init` names and does next, by what lies in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Memctl, git

ADR = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Context\n\nOne system.\n\n## Decision\n\nPostgreSQL.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    for path, text in {
        "docs/adr/0001-use-postgresql.md": ADR,
        "docs/guide.md": "# Guide\n",
        "CLAUDE.md": "# Rules\n",
        "src/pay/a.py": "x = 1\n",
        "src/pay/b.py": "x = 1\n",
        "src/order-mail/m.py": "x = 1\n",
        "tests/test_a.py": "x = 1\n",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    git(top.parent, "init", "-q", "-b", "main", "project")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "start")
    return top


def test_init_names_the_next_commands_for_the_repository(project: Path, memctl: Memctl) -> None:
    named = memctl("init", where=project).err
    expected = ("memctl import adr docs/adr ", "memctl install claude-code ", "memctl install git ")
    assert [named.index(line) for line in expected] == sorted(named.index(line) for line in expected)
    assert not (project / ".claude").exists()


def test_decisions_whose_folder_is_deleted_are_not_proposed(project: Path, memctl: Memctl) -> None:
    shutil.rmtree(project / "docs")
    named = memctl("init", where=project).err
    assert "import adr" not in named
    assert "memctl install git " in named


def test_init_yes_imports_and_installs(project: Path, memctl: Memctl) -> None:
    done = memctl("init", "--yes", where=project)
    assert "Use PostgreSQL" in memctl("list", where=project).out, done
    assert "memctl hook claude-code" in (project / ".claude" / "settings.json").read_text()
    assert (project / ".git" / "hooks" / "pre-commit").exists()


def test_init_yes_in_an_existing_memory_imports_once(project: Path, memctl: Memctl) -> None:
    memctl("init", where=project)
    for _ in range(2):
        memctl("init", "--yes", where=project)
        assert memctl("list", "--json", where=project).data["total"] == 1
        assert (project / ".claude" / "settings.json").exists()
    assert "already has a memory" in memctl("init", "--yes", "--project", "other", where=project, code=1).err


def test_sections_are_proposed_from_the_tree_and_added_once(project: Path, memctl: Memctl) -> None:
    memctl("init", where=project)
    proposed = memctl("init", "--sections", where=project).out.splitlines()
    assert proposed == [
        "memctl section add Pay --path 'src/pay/**'",
        "memctl section add 'Order mail' --path 'src/order-mail/**'",
    ]
    assert memctl("section", "list", where=project).out == ""
    memctl("init", "--sections", "--yes", where=project)
    assert "Order mail" in memctl("section", "list", where=project).out
    assert "no section to propose" in memctl("init", "--sections", where=project).err


def test_an_empty_repository_has_next_commands_too(tmp_path: Path, memctl: Memctl) -> None:
    (tmp_path / "new").mkdir()
    made = memctl("init", "--git", "--json", where=tmp_path / "new").data
    assert len(made["next"]) == 3
    assert "--yes" in memctl("init", "--yes", "--json", where=tmp_path / "new", code=2).err


def test_init_offers_default_branch_documents_only_with_a_remote(project: Path, memctl: Memctl) -> None:
    git(project, "remote", "add", "origin", "https://example.org/project.git")
    assert "memctl init --docs default-branch" in memctl("init", where=project).err
    assert memctl("init", "--docs", "default-branch", where=project).code == 0
    assert "docs: default-branch" in (project / ".memory" / "config.yaml").read_text()
    other = project.parent / "other"
    other.mkdir()
    memctl("init", "--git", "--docs", "false", where=other)
    assert "\ndocs: false\n" in (other / ".memory" / "config.yaml").read_text()


def test_next_commands_name_the_folder_of_the_memory(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert f"next steps in {tmp_path / 'new'} (" in memctl("init", "--git", where=tmp_path / "new").err
