"""What Git is asked ahead of a commit."""

from __future__ import annotations

from pathlib import Path

from memctl.git.commits import Preparation, Variables
from memctl.git.repository import open_repository


def test_one_ignored_path_among_many_is_found(repo: Path) -> None:
    (repo / ".gitignore").write_text("last\n")
    repository = open_repository(repo)
    variables = Variables(repository)
    paths = [*(f"file{number}" for number in range(150)), "last"]
    assert Preparation(repository, paths, variables).ignored_path() == ".gitignore:1:last\tlast"
    assert Preparation(repository, paths[:-1], variables).ignored_path() == ""
