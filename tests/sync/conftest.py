"""Clones of one bare repository that has a memory. They have one tag, so that their ids can collide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git, set_tag, share_templates

Clone = Callable[[str], Path]


@pytest.fixture
def bare(repo: Path, tmp_path: Path, memctl: Memctl, once: Once) -> Path:
    """What all clones come from: a memory with two sections, a decision and a learning."""

    def make() -> None:
        memctl("section", "add", "Payment")
        memctl("decide", "Base", "--context", "One line.\n\nAnother line.", "--tag", "first")
        memctl("learn", "Shared", "--lesson", "Nothing yet.")
        git(repo, "repack", "-adq")  # a few files to copy for each test, not dozens
        git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "bare.git"))
        for name in ("one", "two"):
            git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), str(tmp_path / name))
            git(tmp_path / name, "config", "memctl.trusted", "true")
            set_tag(tmp_path / name)
        share_templates(repo, tmp_path / "one", tmp_path / "two")

    once(make)
    return tmp_path / "bare.git"


@pytest.fixture
def clone(bare: Path, repo: Path, tmp_path: Path) -> Clone:
    """Make another clone of it."""

    def make(name: str) -> Path:
        git(tmp_path, "clone", "-q", str(bare), str(tmp_path / name))
        share_templates(repo, tmp_path / name)
        set_tag(tmp_path / name)
        git(tmp_path / name, "config", "memctl.trusted", "true")
        return tmp_path / name

    return make


@pytest.fixture
def one(bare: Path) -> Path:
    return bare.parent / "one"


@pytest.fixture
def two(bare: Path) -> Path:
    return bare.parent / "two"
