"""What pages refer to, and whether that is still what they were found to agree with; in real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.git import status
from memctl.pages import freshness
from memctl.pages.freshness import AMBIGUOUS, FOUND, MISSING
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.store import load, repository_files
from memctl.store.memory import open_memory
from tests.conftest import Memctl, git

TEXT = """See §4.auth.jwt, §4.db and §4.gone.py, all of §4.src/** and `§4.unseen`.

## Part

§4.src/auth again, §2.1 and DEC-2025-11-04-001 are no code.
"""


@pytest.fixture
def code(repo: Path) -> Path:
    """The repository with some more files, committed."""
    for path in ("src/auth/jwt.py", "src/db.py", "lib/db.py", "src/with space.py"):
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(f"# {path}\n")
    git(repo, "add", "src", "lib")
    git(repo, "commit", "-qm", "code")
    return repo


def page(repo: Path, marker: str = "§3.1") -> tuple[Snapshot, Page]:
    snapshot = load.disk(open_memory(repo, os.environ))
    found = snapshot.outline.find(marker)
    assert found is not None
    return snapshot, found


def drifted_paths(repo: Path) -> list[str]:
    return [drift.path for drift in freshness.changed_files(*page(repo))]


def blob(repo: Path, path: str) -> str:
    return git(repo, "hash-object", path).strip()[:12]


def test_references_are_found_missing_or_ambiguous(code: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Auth")
    codes = ("--code", "app.py:1", "--code", "src/auth", "--code", "src/x.py")
    memctl("detail", "add", "Tokens", "--section", "2.1", *codes, "--file", "-", stdin=TEXT)
    found = [(ref.reference, ref.line, ref.state, ref.paths) for ref in freshness.references(*page(code))]
    assert found == [
        ("app.py:1", 0, FOUND, ("app.py",)),
        ("src/auth", 0, FOUND, ("src/auth/",)),
        ("src/x.py", 0, MISSING, ()),
        ("§4.auth.jwt", 1, FOUND, ("src/auth/jwt.py",)),
        ("§4.db", 1, AMBIGUOUS, ("lib/db.py", "src/db.py")),
        ("§4.gone.py", 1, MISSING, ()),
        ("§4.src/auth", 5, FOUND, ("src/auth/",)),
    ]
    # Only single files are stamped: a folder changes with everything in it.
    assert page(code)[1].stamps == {path: blob(code, path) for path in ("app.py", "src/auth/jwt.py")}
    assert drifted_paths(code) == []


def test_a_page_without_references_asks_git_nothing(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Auth", "--overview", "See §1.0 and `§4.code`.")
    snapshot, found = page(repo, "§2.1")
    snapshot.__dict__["files"] = None
    assert (freshness.references(snapshot, found), freshness.stamps(snapshot, found)) == ([], [])
    assert freshness.changed_files(snapshot, found) == []


@pytest.mark.parametrize("path", ["src/auth/jwt.py", "src/with space.py", "untracked größe.py"])
def test_changed_file_has_drifted_until_its_content_is_restored(code: Path, memctl: Memctl, path: str) -> None:
    file = code / path
    if not file.exists():
        file.write_text("new\n")
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--code", path)
    before = file.read_text()
    assert page(code)[1].stamps == {path: blob(code, path)}
    os.utime(file)
    assert drifted_paths(code) == []
    file.write_text("changed\n")
    assert drifted_paths(code) == [path]
    git(code, "add", path)
    assert drifted_paths(code) == [path]
    git(code, "commit", "-qm", "changed", "--", path)
    assert drifted_paths(code) == [path]
    file.write_text(before)
    assert drifted_paths(code) == []
    file.unlink()
    assert drifted_paths(code) == []  # what is gone is a broken reference and no drift
    assert [ref.state for ref in freshness.references(*page(code))] == [MISSING]


def test_moved_file_of_a_dotted_reference_has_drifted_if_it_changed(code: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--file", "-", stdin="See §4.auth.jwt.\n")
    stamp = page(code)[1].stamps["src/auth/jwt.py"]
    (code / "lib" / "auth").mkdir()
    (code / "src" / "auth" / "jwt.py").rename(code / "lib" / "auth" / "jwt.py")
    assert drifted_paths(code) == []
    (code / "lib" / "auth" / "jwt.py").write_text("changed\n")
    [drift] = freshness.changed_files(*page(code))
    assert (drift.path, drift.reviewed, drift.stamped) == ("lib/auth/jwt.py", stamp, "src/auth/jwt.py")
    memctl("detail", "edit", "3.1", "--title", "An edit is no review")
    assert page(code)[1].stamps == {"lib/auth/jwt.py": stamp}
    assert drifted_paths(code) == ["lib/auth/jwt.py"]
    memctl("review", "3.1")
    assert drifted_paths(code) == []


def test_folder_or_link_in_place_of_a_file_counts_as_missing(code: Path, memctl: Memctl) -> None:
    paths = ("app.py", "src/db.py", "lib/db.py")
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", *(part for path in paths for part in ("--code", path)))
    for path in paths:
        (code / path).unlink()
    (code / "app.py").mkdir()
    (code / "app.py" / "inside.py").write_text("x\n")
    (code / "src" / "db.py").symlink_to("nowhere")
    (code / "lib" / "db.py").symlink_to("../src/auth/jwt.py")
    snapshot, found = page(code)
    assert freshness.changed_files(snapshot, found) == []
    assert [ref.state for ref in freshness.references(snapshot, found) if ref.reference == "src/db.py"] == [MISSING]
    memctl("detail", "edit", "3.1", "--title", "Still works")
    memctl("render")


def test_known_stamps_are_kept_new_ones_added_and_lost_ones_dropped(code: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--code", "app.py", "--code", "src/db.py")
    old = blob(code, "app.py")
    (code / "app.py").write_text("changed\n")
    memctl("detail", "edit", "3.1", "--file", "-", stdin="§4.auth.jwt\n")
    snapshot, found = page(code)
    assert found.stamps == {
        "app.py": old,
        "src/db.py": blob(code, "src/db.py"),
        "src/auth/jwt.py": blob(code, "src/auth/jwt.py"),
    }
    assert freshness.stamps(snapshot, found, keep=True) == found.reviewed
    assert f"app.py {blob(code, 'app.py')}" in freshness.stamps(snapshot, found)
    memctl("detail", "edit", "3.1", "--code", "app.py")
    assert list(page(code)[1].stamps) == ["app.py", "src/auth/jwt.py"]


def test_the_index_and_a_revision_are_judged_by_their_own_files(code: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--code", "app.py")
    (code / "app.py").write_text("staged\n")
    git(code, "add", "app.py")
    (code / "app.py").write_text("print('shop')\n")
    memory = open_memory(code, os.environ)
    judged = []
    for snapshot in (load.disk(memory), load.index(memory), load.revision(memory, "HEAD")):
        found = snapshot.outline.find("§3.1")
        assert found is not None
        judged.append([drift.path for drift in freshness.changed_files(snapshot, found)])
    assert judged == [[], ["app.py"], []]


def test_outdated_pages_are_cached_until_a_file_page_or_index_changes(
    code: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "RACY", 0)  # else files written a moment ago are looked at each time
    memctl("section", "add", "Auth")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--code", "src/auth/jwt.py", "--code", "src/db.py")
    memctl("review", "3.1")

    def outdated() -> list[str]:
        return [name for _, names in freshness.outdated_pages(page(code)[0]) for name in names]

    def is_cached() -> bool:
        with monkeypatch.context() as within:
            within.setattr(repository_files, "_query_git", None)
            try:
                return outdated() is not None
            except TypeError:
                return False

    assert outdated() == []
    assert is_cached()
    (code / "src/db.py").write_text("# src/bd.py\n")  # of the same size
    assert not is_cached()
    assert outdated() == ["src/db.py"]
    assert is_cached()
    (code / "src/auth/jwt.py").unlink()
    assert set(outdated()) == {"src/db.py", "src/auth/jwt.py"}
    git(code, "checkout", "-q", "--", "src")
    assert outdated() == []
    memctl("detail", "edit", "3.1", "--title", "All tokens")
    assert not is_cached()
