"""A healthy memory for each test to plant its faults in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.check import Hand, build


@pytest.fixture(scope="session")
def healthy(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(built, tmp_path_factory.mktemp("healthy") / "shop")


@pytest.fixture
def repo(healthy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(healthy, tmp_path / "shop", symlinks=True))


@pytest.fixture
def hand(repo: Path) -> Hand:
    return Hand(repo)
