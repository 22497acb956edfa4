"""The files of a name, as the index file has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import index_names
from memctl.git.repository import open_repository
from tests.conftest import git


@pytest.mark.parametrize("form", ["--index-version=2", "--index-version=4", "--split-index"])
def test_files_of_a_name_are_counted_in_the_index(repo: Path, form: str) -> None:
    for name in ("card.py", "a/card.py", "a/b/card.py", "a/discard.py", "a/card.pyi"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("")
    git(repo, "add", ".")
    git(repo, "update-index", *form.split("="))
    repository = open_repository(repo)
    names = ("card.py", "b/card.py", "a/card.py", "none.py")
    assert [index_names.count(repository, name) for name in names] == [3, 1, 1, 0]
