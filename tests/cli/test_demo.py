"""`memctl demo`: the example's repository, in a folder that stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Memctl, git
from tests.example import MEMORY


def test_demo_creates_a_memory_that_passes_check_and_can_be_written(tmp_path: Path, memctl: Memctl) -> None:
    made = memctl("demo", "lantern", where=tmp_path)
    folder = tmp_path / "lantern"
    assert str(folder) in made.out
    assert "memctl rehydrate" in made.err
    assert git(folder, "status", "--porcelain") == ""
    assert int(git(folder, "rev-list", "--count", "HEAD")) == 7
    assert "error" not in memctl("check", "--ignore", "MEM401", where=folder).out
    memctl("why", "src/lantern/db/pool.py", where=folder)
    memctl("learn", "Tried it", where=folder)
    assert git(folder, "log", "-1", "--format=%s").startswith("docs(memory): learn")


def test_demo_needs_no_identity_and_runs_no_hook_of_the_user(
    tmp_path: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    settings = tmp_path / "settings"
    settings.write_text(f"[core]\n\thooksPath = {hooks}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    memctl("demo", "lantern", where=tmp_path)
    assert git(tmp_path / "lantern", "log", "-1", "--format=%an").strip() == "Mira"


def test_demo_never_writes_into_a_folder_with_files(tmp_path: Path, memctl: Memctl) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine\n")
    assert "already exists" in memctl("demo", "mine", where=tmp_path, code=1).err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    memctl("demo", "mine", "--dry-run", where=tmp_path, code=1)
    memctl("demo", "new", "--dry-run", where=tmp_path)
    assert not (tmp_path / "new").exists()


def test_the_example_without_its_code_is_one_finding(tmp_path: Path, memctl: Memctl) -> None:
    git(tmp_path, "init", "-q")
    shutil.copytree(MEMORY, tmp_path / ".memory")
    git(tmp_path, "add", ".memory")
    git(tmp_path, "commit", "-qm", "copied")
    lines = memctl("check", "--ignore", "MEM401", "--ignore", "MEM314", where=tmp_path, code=1).out.splitlines()
    assert [line for line in lines if "MEM" in line] == [lines[0]]
    assert "MEM210" in lines[0]
    assert "memctl demo" in lines[1]
