"""`renumber` while Git merges: whoever does what the messages say comes to a commit of the merge that is clean."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git

FIRST = "DEC-2025-11-04-001"


@pytest.fixture
def clones(
    repo: Path, tmp_path: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, once: Once
) -> tuple[Path, Path]:
    """Two clones with hooks and drivers, which both have given out the first ids."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    made = (tmp_path / "one", tmp_path / "two")

    def make() -> None:
        for number, folder in enumerate(made):
            shutil.copytree(repo, folder, symlinks=True)
            monkeypatch.setenv("MEMCTL_NOW", f"2025-11-04T14:3{number}:00Z")
            memctl("install", "git", where=folder)
            memctl("decide", f"By {folder.name}", where=folder)
            memctl("issue", f"Ask {folder.name}", "--description", f"See {FIRST}.", where=folder)

    once(make)
    return made


def both_sell_books(clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both make a record of one id and title, at different times."""
    for number, folder in enumerate(clones):
        monkeypatch.setenv("MEMCTL_NOW", f"2025-11-04T15:3{number}:00Z")
        memctl("decide", "Sell books", "--rationale", f"Says {folder.name}.", where=folder)


def merge(into: Path, other: Path) -> None:
    git(into, "fetch", "-q", str(other), "HEAD")
    before = git(into, "rev-parse", "HEAD")
    git(into, "merge", "--no-edit", "FETCH_HEAD", check=False)
    assert git(into, "rev-parse", "HEAD") == before, "the check before the commit has stopped it"


def assert_concluded(memctl: Memctl, folder: Path) -> None:
    """A commit with two parents, in which everything is in order, and nothing besides it."""
    assert git(folder, "status", "--porcelain") == ""
    assert len(git(folder, "rev-parse", "HEAD^@").split()) == 2
    assert ": error " not in memctl("check", "--at", "HEAD", where=folder, code=None).out
    assert memctl("status", "--json", where=folder).data["pending"] == []
    memctl("render", "--check", where=folder)


def test_renumbered_records_are_staged_and_the_merge_can_be_committed(
    clones: tuple[Path, Path], memctl: Memctl
) -> None:
    one, two = clones
    merge(two, one)
    result = memctl("renumber", where=two)
    assert len(result.out.splitlines()) == 2
    assert result.err.splitlines()[-2:] == [
        "staged for the merge: 4 renumbered files of .memory",
        "hint: `git commit --no-edit` finishes the merge",
    ]
    git(two, "commit", "-q", "--no-edit")
    assert_concluded(memctl, two)


def test_merge_can_be_aborted_after_renumber(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    before = git(two, "rev-parse", "HEAD")
    merge(two, one)
    memctl("renumber", where=two)
    git(two, "merge", "--abort")
    assert (git(two, "status", "--porcelain"), git(two, "rev-parse", "HEAD")) == ("", before)
    assert memctl("status", "--json", where=two).data["pending"] == []
    memctl("learn", "Later", where=two)


def test_renumber_resolves_a_record_in_conflict(
    clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = clones
    both_sell_books(clones, memctl, monkeypatch)
    merge(two, one)
    assert "UU" in git(two, "status", "--porcelain") or "AA" in git(two, "status", "--porcelain")
    memctl("renumber", where=two)
    git(two, "commit", "-q", "--no-edit")
    assert_concluded(memctl, two)
    said = git(two, "grep", "-h", "Says", "HEAD", "--", ".memory/decisions")
    assert sorted(said.split()) == ["Says", "Says", "one.", "two."]


def test_other_conflicted_file_is_named_and_left(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    for folder in clones:
        (folder / "app.py").write_text(f"print('{folder.name}')\n")
        git(folder, "commit", "-qam", "code")
    merge(two, one)
    result = memctl("renumber", where=two)
    assert result.err.splitlines()[-2:] == [
        "files with conflicts: app.py",
        "hint: resolve the conflicts, `git add` the files, then `git commit --no-edit`",
    ]
    (two / "app.py").write_text("print('both')\n")
    git(two, "add", "app.py")
    git(two, "commit", "-q", "--no-edit")
    assert_concluded(memctl, two)


def test_unstaged_changes_stay_unstaged_and_the_commands_are_named(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    (two / "app.py").write_text("print('mine')\n")
    merge(two, one)
    path = f".memory/decisions/2025-11/{FIRST}-by-two.md"
    (two / path).write_text((two / path).read_text() + "\nAn afterthought.\n")
    before = git(two, "diff", "--cached", "--name-only")
    result = memctl("renumber", where=two)
    assert result.err.splitlines()[-2:] == [
        f"nothing was staged: {path} has changes that are not staged",
        "hint: to include the renumbered files in the merge, `git add --all -- .memory`, then `git commit --no-edit`",
    ]
    assert git(two, "diff", "--cached", "--name-only") == before
    git(two, "add", "--all", "--", ".memory")
    git(two, "commit", "-q", "--no-edit")
    assert git(two, "status", "--porcelain") == " M app.py\n"
    git(two, "checkout", "-q", "app.py")
    assert_concluded(memctl, two)


def test_files_outside_the_memory_keep_their_state_in_the_index(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    merge(two, one)
    (two / "app.py").write_text("print('mine')\n")
    (two / ".memory" / "notes.txt").write_text("mine\n")
    memctl("renumber", where=two)
    status = git(two, "status", "--porcelain").splitlines()
    assert " M app.py" in status
    assert "?? .memory/notes.txt" in status


def test_a_renumbering_that_was_kept_back_is_not_staged(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    merge(two, one)
    before = git(two, "diff", "--cached", "--name-only")
    memctl("renumber", "--no-commit", where=two)
    assert git(two, "diff", "--cached", "--name-only") == before
    found = memctl("renumber", "--json", where=two).data
    assert (found["staged"], found["changed"]) == ([], False)


def test_in_a_rebase_the_commands_are_named(
    clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = clones
    both_sell_books(clones, memctl, monkeypatch)
    git(two, "fetch", "-q", str(one), "HEAD")
    git(two, "rebase", "-q", "FETCH_HEAD", check=False)
    result = memctl("renumber", where=two)
    assert result.err.splitlines()[-1] == "hint: `git add --all -- .memory`, then continue the rebase"


@pytest.fixture
def mended(clones: tuple[Path, Path], memctl: Memctl, once: Once) -> tuple[Path, Path]:
    """Two clones, of which the first has merged the other and renumbered what it brought; the checks are off."""
    one, two = clones

    def make() -> None:
        for folder in clones:
            memctl("install", "git", "--uninstall", where=folder)
            for kind in ("record", "docs"):
                driver = f"'{sys.executable}' -m memctl merge-file {kind} %O %A %B %P"
                git(folder, "config", f"merge.memctl-{kind}.driver", driver)
        git(one, "fetch", "-q", str(two), "HEAD")
        git(one, "merge", "-q", "--no-commit", "FETCH_HEAD")
        memctl("renumber", where=one)
        git(one, "commit", "-q", "--no-edit")

    once(make)
    return one, two


@pytest.mark.parametrize("into", ["one", "two"])
def test_edit_under_the_old_id_is_merged_into_its_own_record(
    mended: tuple[Path, Path], memctl: Memctl, into: str
) -> None:
    """Git takes the records for renamed, and the one for the other, since they are alike."""
    one, two = mended
    memctl("edit", "ISS-2025-11-04-001", "--set", "importance=9", "--add", "tags=mine", where=two)
    folder, other = (one, two) if into == "one" else (two, one)
    git(folder, "fetch", "-q", str(other), "HEAD")
    git(folder, "merge", "-q", "--no-commit", "FETCH_HEAD", check=False)
    memctl("renumber", where=folder)
    git(folder, "commit", "-q", "--no-edit")
    assert_concluded(memctl, folder)
    found = {r["title"]: (r["importance"], r["tags"]) for r in memctl("list", "--json", where=folder).data["records"]}
    assert found["Ask one"] == (6, [])
    assert found["Ask two"] == (9, ["mine"])


def test_merge_driver_refuses_to_merge_two_different_records(tmp_path: Path, memctl: Memctl) -> None:
    """The driver is given three versions, of which one is another record."""
    texts = {}
    for name, importance in (("base", 5), ("ours", 9), ("theirs", 5)):
        mark = "2" if name != "theirs" else "1"
        memory_id = f"0000000{mark}-0000-7000-8000-000000000000"
        texts[name] = f"---\nid: {FIRST}\nmemory_id: {memory_id}\nimportance: {importance}\n---\n\nx\n"
        (tmp_path / name).write_text(texts[name])
    files = [str(tmp_path / name) for name in texts]
    result = memctl("merge-file", "record", *files, "path.md", code=1)
    assert (
        "note: path.md: the two versions are different records with the same id: "
        "`memctl renumber` gives one of them a new id" in result.err
    )
    assert "<<<<<<<" in (tmp_path / "ours").read_text()


def test_the_packages_of_two_handoffs_stay_with_their_handoffs(
    clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = clones
    packages = []
    for number, folder in enumerate(clones):
        monkeypatch.setenv("MEMCTL_NOW", f"2025-11-04T15:3{number}:00Z")
        said = ("--summary", f"Of {folder.name}", "--reason", "Done", "--immediate", "Test", "--success", "All pass")
        packages.append(memctl("handoff", "--to", "bob", "--task", "Same", *said, where=folder).out)
    merge(two, one)
    renamed = next(line.split()[2] for line in memctl("renumber", where=two).out.splitlines() if "HND" in line)
    git(two, "commit", "-q", "--no-edit")
    assert_concluded(memctl, two)
    assert memctl("handoff", "show", "HND-2025-11-04-001", where=two).out == packages[0]
    assert memctl("handoff", "show", renamed, where=two).out == packages[1].replace("HND-2025-11-04-001", renamed)


def test_web_address_with_an_id_is_left_unchanged(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    said = f"See https://host/{FIRST}?id={FIRST}, [it](https://host/{FIRST}), <http://host/{FIRST}> and {FIRST}."
    memctl("learn", "Linked", "--lesson", said, where=two)
    merge(two, one)
    new = memctl("renumber", where=two).out.split()[2]
    text = next((two / ".memory/learnings").rglob("*linked.md")).read_text()
    assert said.removesuffix(f"{FIRST}.") + f"{new}." in text


def test_read_only_file_is_renamed(clones: tuple[Path, Path], memctl: Memctl) -> None:
    one, two = clones
    merge(two, one)
    (two / ".memory/decisions/2025-11" / f"{FIRST}-by-two.md").chmod(0o400)
    memctl("renumber", where=two)  # it is replaced, which its folder has to allow
    git(two, "commit", "-q", "--no-edit")
    assert_concluded(memctl, two)
