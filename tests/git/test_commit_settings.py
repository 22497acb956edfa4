"""What Git is asked ahead of a commit."""

from __future__ import annotations

from pathlib import Path

from memctl.git.commits import Preparation
from memctl.git.repository import open_repository


def test_one_ignored_path_among_many_is_found(repo: Path) -> None:
    (repo / ".gitignore").write_text("last\n")
    paths = [*(f"file{number}" for number in range(150)), "last"]
    assert Preparation(open_repository(repo), paths).ignored() == ".gitignore:1:last\tlast"
    assert Preparation(open_repository(repo), paths[:-1]).ignored() == ""
