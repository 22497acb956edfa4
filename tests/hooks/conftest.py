from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import git
from tests.hooks.session import Session


@pytest.fixture
def session(repo: Path, tmp_path: Path) -> Session:
    git(repo, "config", "memctl.hookCommits", "all")  # so that tests find pages and checkpoints as files
    return Session(repo, tmp_path / "5f6c2a10-7d1e.jsonl")
