"""Who changed a document: a person, a formatter, Git, or memctl; without a hash in the document (format 2)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Memctl, git

DOCUMENT = ".memory/docs/2.1-payment.md"


@pytest.fixture
def shop(repo: Path, memctl: Memctl) -> Path:
    memctl("section", "add", "Payment", "--path", "src/**", "--overview", "Takes money by card.")
    memctl("issue", "Carts vanish", "--section", "2.1")
    return repo


@pytest.fixture
def clone(shop: Path, tmp_path: Path) -> Callable[..., Path]:
    """A function that clones the shop; nothing is noted in a clone."""

    def make(*options: str) -> Path:
        folder = tmp_path / "clone"
        shutil.rmtree(folder, ignore_errors=True)
        git(tmp_path, "clone", "-q", *options, f"file://{shop}", str(folder))
        git(folder, "config", "memctl.trusted", "true")
        return folder

    return make


def edit(folder: Path, old: str, new: str) -> None:
    file = folder / DOCUMENT
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("by card", "by card and cash"),
        ("Takes money by card.\n", ""),
        ("Carts vanish", "Carts do not vanish"),
        ("<!-- Rendered by memctl", "<!-- Written by me"),
    ],
)
def test_committed_edit_is_named_in_each_clone_and_rendered_over(
    shop: Path, memctl: Memctl, clone: Callable[..., Path], old: str, new: str
) -> None:
    edit(shop, old, new)
    git(shop, "commit", "-qam", "by hand")
    for folder in (shop, clone()):
        assert f"{DOCUMENT}:1: error MEM309" in memctl("check", where=folder, code=1).out
        memctl("learn", "Goes on", "--section", "2.1", where=folder)
        edited, head = (folder / DOCUMENT).read_text(), git(folder, "rev-parse", "HEAD")
        for option in ("--check", "--dry-run"):
            said = memctl("render", option, where=folder, code=None)
            assert said.out == f"stale: {DOCUMENT}\n"
            assert said.code == (option == "--check")
        said = memctl("render", where=folder).err
        assert f"warning: `memctl page render` overwrites edits of {DOCUMENT}, which `git show {head[:10]}:" in said
        assert git(folder, "show", f"{head[:10]}:{DOCUMENT}") == edited
        assert "MEM309" not in memctl("check", where=folder).out
        assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Takes money by card.", "Takes\nmoney   by  card."),
        ("Takes money by card.", "Takes *money* by card."),
        ("- Carts", "* Carts"),
        ("\n", "\n\n"),
        ("\n", "\r\n"),
    ],
)
def test_what_a_formatter_changes_is_rendered_over(
    shop: Path, memctl: Memctl, clone: Callable[..., Path], old: str, new: str
) -> None:
    before = (shop / DOCUMENT).read_text()
    edit(shop, old, new)
    memctl("check")
    git(shop, "commit", "-qam", "formatted", "--allow-empty")
    folder = clone()
    memctl("check", where=folder)
    memctl("render", where=folder)
    assert (folder / DOCUMENT).read_text() == before


@pytest.mark.parametrize("way", [("merge", "-q", "--no-edit", "side"), ("rebase", "-q", "side")])
def test_documents_that_git_merged_are_rendered_over(
    shop: Path, memctl: Memctl, clone: Callable[..., Path], way: tuple[str, ...]
) -> None:
    """Both sides add an issue, so both say "2 open issues"; and the older lines that Git keeps are nobody's edit."""
    git(shop, "branch", "side")
    memctl("issue", "Alpha fails", "--section", "2.1", "--importance", "9")
    git(shop, "switch", "-q", "side")
    memctl("issue", "Beta fails", "--section", "2.1", "--importance", "1")
    git(shop, "switch", "-q", "main")
    git(shop, *way, check=False)
    for name in git(shop, "diff", "--name-only", "--diff-filter=U").split():  # as a person does who is in a hurry
        git(shop, "checkout", "--theirs", "--", name)
    git(shop, "add", "-A")
    git(shop, "-c", "core.editor=true", way[0], "--continue", check=False)
    assert git(shop, "status", "--porcelain") == ""
    for folder in (shop, clone()):
        assert "MEM309" not in memctl("check", where=folder, code=None).out
        memctl("render", where=folder)
        text = (folder / DOCUMENT).read_text()
        assert "Alpha fails" in text
        assert "Beta fails" in text
        assert "MEM308" not in memctl("check", where=folder).out


def test_stale_documents_of_a_shallow_clone_are_rendered(
    shop: Path, memctl: Memctl, clone: Callable[..., Path]
) -> None:
    page = shop / ".memory" / "sections" / "2.1-payment.md"
    page.write_text(page.read_text().replace("by card", "by card and cash"))
    git(shop, "commit", "-qam", "the page alone")
    folder = clone("--depth", "1")
    assert "MEM309" not in memctl("check", where=folder, code=1).out
    memctl("render", where=folder)
    assert "by card and cash" in (folder / DOCUMENT).read_text()


def test_documents_that_no_commit_has_are_no_edits(shop: Path, memctl: Memctl) -> None:
    """Those on the disk show a record that no commit ever had."""
    made = memctl("issue", "Never committed", "--section", "2.1", "--no-commit", "--json").data
    file = next((shop / ".memory" / "issues").rglob(f"{made['ids'][0]}*"))
    file.unlink()
    assert "by hand" not in memctl("learn", "Goes on", "--section", "2.1").err
    memctl("render")
    assert "Never committed" not in (shop / DOCUMENT).read_text()


def test_list_of_source_files_that_leads_to_what_is_gone_is_found(shop: Path, memctl: Memctl) -> None:
    code = shop / "src"
    code.mkdir()
    for name in ("a.py", "b.py"):
        (code / name).write_text('"""Takes cards."""\n')
    git(shop, "add", "src")
    git(shop, "commit", "-qm", "code")
    assert "MEM314 the list of source files is out of date" in memctl("check").out
    memctl("render")
    (code / "a.py").write_text('"""Takes no cards."""\n' * 900)  # what a file is, no list says as of now
    git(shop, "mv", "src/b.py", "src/c.py")
    git(shop, "commit", "-qam", "moved")
    found = memctl("check", "--strict").out
    assert "MEM314 the list of source files is out of date: src/b.py is gone or covered no more" in found
    memctl("render")
    assert "MEM314" not in memctl("check").out


def test_source_files_have_figures_where_they_are_shown_and_not_where_they_are_kept(shop: Path, memctl: Memctl) -> None:
    (shop / "src").mkdir()
    (shop / "src" / "a.py").write_text('"""Takes cards."""\n')
    git(shop, "add", "src")
    git(shop, "commit", "-qm", "code")
    memctl("render")
    assert (shop / ".memory/docs/4-sources.md").read_text().endswith("- [`src/a.py`](../../src/a.py): Takes cards.\n")
    (shop / "src" / "a.py").write_text('"""Takes cards and cash."""\n')
    git(shop, "commit", "-qam", "cash")
    assert "| [`src/a.py`] | 28 | " in memctl("show", "§4").out
    assert "| Takes cards and cash. |" in memctl("show", "§4").out
    shutil.rmtree(shop / ".memory" / "docs")
    assert "| Takes cards and cash. |" in memctl("show", "§4").out
