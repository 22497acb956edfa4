"""Where renamed files and folders are now, in repositories with a history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.git import renames
from memctl.git.repository import open_repository
from tests.conftest import git


@pytest.fixture
def history(repo: Path) -> Path:
    """A repository whose folder `web` has had files that began under other names, left it, or were deleted."""
    names = ("auth.py", "models.py", "urls.py", "old/one.py", "old/two.py", "dropped.py", "tools.py")
    for name in names:
        _write(repo, f"web/{name}")
    _commit(repo, "web")
    for old, new in (("auth.py", "_auth.py"), ("models.py", "_models.py"), ("urls.py", "_urls.py")):
        _move(repo, f"web/{old}", f"web/{new}")
    _move(repo, "web/old", "elsewhere")
    _move(repo, "web/tools.py", "tools/web.py")
    git(repo, "rm", "-q", "web/dropped.py")
    _commit(repo, "drop")
    return repo


def _write(repo: Path, path: str) -> None:
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text("".join(f"{path} {number}\n" for number in range(20)))


def _commit(repo: Path, subject: str) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", subject)


def _move(repo: Path, old: str, new: str) -> None:
    (repo / new).parent.mkdir(parents=True, exist_ok=True)
    git(repo, "mv", old, new)
    _commit(repo, f"{old} -> {new}")


def _now(repo: Path, *paths: str) -> dict[str, str]:
    found = renames.renamed_stepwise(open_repository(repo), paths, git(repo, "rev-parse", "HEAD").strip())
    return {path: found[path] for path in paths if path in found}


def _whole(repo: Path) -> None:
    _move(repo, "web", "src/web")


def _twice(repo: Path) -> None:
    _move(repo, "web", "app")
    _move(repo, "app", "src/web")


def _above(repo: Path) -> None:
    _move(repo, "web", "lib/web")
    _move(repo, "lib", "src")


def _file_by_file(repo: Path) -> None:
    for name in ("_auth.py", "_models.py", "_urls.py"):
        _move(repo, f"web/{name}", f"src/web/{name}")


def _with_a_rest(repo: Path) -> None:
    _write(repo, "web/README.txt")
    _commit(repo, "rest")
    for name in ("_auth.py", "_models.py", "_urls.py"):
        (repo / "src/web").mkdir(parents=True, exist_ok=True)
        git(repo, "mv", f"web/{name}", "src/web/")
    _commit(repo, "move")
    git(repo, "rm", "-q", "web/README.txt")
    _commit(repo, "rest")


@pytest.mark.parametrize("move", [_whole, _twice, _above, _file_by_file, _with_a_rest])
def test_a_folder_is_where_its_last_files_went(move: Callable[[Path], None], history: Path) -> None:
    move(history)
    assert _now(history, "web", "web/", "web/_auth.py", "web/auth.py") == {
        "web": "src/web",
        "web/": "src/web/",
        "web/_auth.py": "src/web/_auth.py",
        "web/auth.py": "src/web/_auth.py",
    }


def _deleted(repo: Path) -> None:
    git(repo, "rm", "-qr", "web")
    _commit(repo, "delete")


def _split(repo: Path) -> None:
    git(repo, "rm", "-q", "web/_urls.py")
    _move(repo, "web/_auth.py", "a/_auth.py")
    _move(repo, "web/_models.py", "b/_models.py")


def _mostly_deleted(repo: Path) -> None:
    git(repo, "rm", "-q", "web/_urls.py", "web/_models.py")
    _move(repo, "web/_auth.py", "src/web/_auth.py")


def _moved_and_deleted(repo: Path) -> None:
    _whole(repo)
    git(repo, "rm", "-qr", "src/web")
    _commit(repo, "delete")


@pytest.mark.parametrize("lose", [_deleted, _split, _mostly_deleted, _moved_and_deleted])
def test_a_folder_whose_files_went_nowhere_in_common_is_not_renamed(
    lose: Callable[[Path], None], history: Path
) -> None:
    lose(history)
    assert _now(history, "web", "web/") == {}


def test_what_still_exists_is_not_renamed(history: Path) -> None:
    assert _now(history, "web", "web/_auth.py", "elsewhere/one.py", "never/was.py") == {}


def test_a_folder_that_came_again_and_was_renamed_then_is_where_it_went_last(history: Path) -> None:
    _whole(history)
    _write(history, "web/page.html")
    _write(history, "web/page.css")
    _commit(history, "again")
    _move(history, "web", "pages")
    assert _now(history, "web") == {"web": "pages"}


def test_odd_names_and_many_paths_are_followed(history: Path) -> None:
    names = [f"web/[é] {number}\n:(x)*.py" for number in range(30)]
    for name in names:
        _write(history, name)
    _commit(history, "odd")
    _move(history, "web", "src/ü b")
    assert _now(history, *names) == {name: name.replace("web/", "src/ü b/") for name in names}


def test_renames_between_a_commit_and_head_are_found_at_once(history: Path) -> None:
    before, _ = git(history, "rev-parse", "HEAD").strip(), _whole(history)
    repository, head = open_repository(history), git(history, "rev-parse", "HEAD").strip()
    assert renames.renamed_since(repository, [before, head], head) == {
        f"web/{name}": f"src/web/{name}" for name in ("_auth.py", "_models.py", "_urls.py")
    }
