"""A healthy memory for each test to plant its faults in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check import Hand
from tests.conftest import copied


@pytest.fixture
def repo(healthy: Path, tmp_path: Path) -> Path:
    return copied(healthy, tmp_path / "shop")


@pytest.fixture
def hand(repo: Path) -> Hand:
    return Hand(repo)
