"""A healthy memory for each test to plant its faults in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.check import Hand


@pytest.fixture
def repo(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(healthy, tmp_path / "shop", symlinks=True))


@pytest.fixture
def hand(repo: Path) -> Hand:
    return Hand(repo)
