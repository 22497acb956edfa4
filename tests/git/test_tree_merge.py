"""Trees that are put together and merged in the object store."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.git import checkout, tree_merge
from memctl.git.git import GitFailed
from memctl.git.repository import Repository, open_repository
from memctl.git.tree_merge import FOLDER, Leaf
from tests.conftest import git


@pytest.fixture
def repository(repo: Path) -> Repository:
    return open_repository(repo)


def commit(repo: Path, **files: str) -> str:
    for name, text in files.items():
        (repo / name).write_text(text)
        git(repo, "add", name)
    git(repo, "commit", "-qm", "more")
    return git(repo, "rev-parse", "HEAD").strip()


def test_edited_tree_has_added_files_and_lacks_removed_ones(repo: Path, repository: Repository) -> None:
    (blob,) = tree_merge.store(repository, [b"new\r\n"])
    before = git(repo, "status", "--porcelain"), git(repo, "ls-files", "-s")
    tree = tree_merge.edit_tree(
        repository, tree_merge.tree_at(repository, "HEAD"), {"a/b.txt": Leaf("100755", blob), "app.py": None}
    )
    assert tree_merge.leaves(repository, tree, "a") == {"b.txt": Leaf("100755", blob)}
    assert "app.py" not in git(repo, "ls-tree", "--name-only", tree)
    assert (git(repo, "status", "--porcelain"), git(repo, "ls-files", "-s")) == before


def test_folder_can_be_replaced_by_a_file_and_vice_versa(repo: Path, repository: Repository) -> None:
    (blob,) = tree_merge.store(repository, [b"x"])
    leaf = Leaf("100644", blob)
    folder = tree_merge.edit_tree(repository, "", {"a/b": leaf})
    assert tree_merge.edit_tree(repository, folder, {"a": leaf, "a/b": None}) == tree_merge.edit_tree(
        repository, "", {"a": leaf}
    )
    file = tree_merge.edit_tree(repository, "", {"a": leaf})
    assert tree_merge.edit_tree(repository, file, {"a/b": leaf, "a": None}) == folder


@pytest.mark.parametrize("folder", [".memory", "deep/er/.memory"])
def test_folder_is_added_to_a_tree_and_removed_again(repo: Path, repository: Repository, folder: str) -> None:
    whole = tree_merge.tree_at(repository, "HEAD")
    memory = tree_merge.tree_at(repository, "HEAD", ".memory")
    (rest,) = tree_merge.remove_folder(repository, [whole], ".memory")
    assert tree_merge.tree_at(repository, rest, ".memory") == ""
    grafted = tree_merge.edit_tree(repository, rest, {folder: Leaf(FOLDER, memory)})
    assert tree_merge.tree_at(repository, grafted, folder) == memory
    assert tree_merge.remove_folder(repository, [grafted, "HEAD"], folder) == [
        rest,
        rest if folder == ".memory" else whole,
    ]
    assert tree_merge.edit_tree(repository, rest, {".memory": Leaf(FOLDER, memory)}) == whole


def test_tree_without_its_only_folder_is_empty(repo: Path, repository: Repository) -> None:
    memory = tree_merge.tree_at(repository, "HEAD", ".memory")
    tree = tree_merge.edit_tree(repository, "", {"deep/er": Leaf(FOLDER, memory)})
    assert tree_merge.remove_folder(repository, [tree], "deep/er") == [git(repo, "mktree", stdin="").strip()]
    assert tree_merge.tree_at(repository, tree, "app.py") == ""


def test_folder_and_changes_inside_it_are_set_at_once(repo: Path, repository: Repository) -> None:
    (blob,) = tree_merge.store(repository, [b"x"])
    memory = tree_merge.tree_at(repository, "HEAD", ".memory")
    tree = tree_merge.edit_tree(
        repository, "", {"m": Leaf(FOLDER, memory), "m/config.yaml": None, "m/ne w/é\n": Leaf("100644", blob)}
    )
    files = tree_merge.leaves(repository, "HEAD", ".memory")
    del files["config.yaml"]
    assert tree_merge.leaves(repository, tree, "m") == {**files, "ne w/é\n": Leaf("100644", blob)}


def test_link_and_submodule_are_kept_in_an_edited_tree(repo: Path, repository: Repository) -> None:
    (repo / "link").symlink_to("app.py")
    commit = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "add", "link")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    tree = git(repo, "write-tree").strip()
    (blob,) = tree_merge.store(repository, [b"x"])
    edited = tree_merge.edit_tree(repository, tree, {"new": Leaf("100644", blob)})
    assert tree_merge.edit_tree(repository, edited, {"new": None}) == tree


def test_tree_with_a_missing_object_is_refused_with_its_id(repository: Repository) -> None:
    with pytest.raises(GitFailed, match="1111"):
        tree_merge.edit_tree(repository, "", {"a": Leaf("100644", "1" * 40)})
    with pytest.raises(MemctlError, match="1111"):
        tree_merge.edit_tree(repository, "1" * 40, {"a": None})


def test_merged_tree_equals_gits_merge_and_conflicting_paths_are_returned(repo: Path, repository: Repository) -> None:
    base = commit(repo, one="1\n2\n3\n", two="same\n")
    ours = commit(repo, one="ours\n2\n3\n")
    git(repo, "checkout", "-q", base)
    theirs = commit(repo, one="1\n2\ntheirs\n")
    other = commit(repo, one="conflict\n2\n3\n")
    trees = [tree_merge.tree_at(repository, name) for name in (base, ours, theirs, other)]
    merged, conflicts = tree_merge.merge(repository, trees[:1], trees[1], trees[2])
    assert conflicts == ()
    assert git(repo, "cat-file", "blob", f"{merged}:one") == "ours\n2\ntheirs\n"
    assert tree_merge.merge(repository, trees[:1], trees[1], trees[3])[1] == ("one",)
    assert tree_merge.merge(repository, trees[:1], trees[1], trees[0]) == (trees[1], ())
    assert tree_merge.merge(repository, trees[:1], trees[0], trees[2]) == (trees[2], ())


def test_interrupted_checkout_stages_whole_files_and_deletes_torn_ones(repo: Path, repository: Repository) -> None:
    old = commit(repo, a="a\n", b="b\n", gone="gone\n", edited="old\n")
    new = commit(repo, a="a of new\n", b="b of new\n", c="c of new\n", edited="new\n")
    git(repo, "rm", "-q", "gone")
    git(repo, "commit", "-qm", "gone")
    new = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "reset", "-q", "--hard", old)
    (repo / "a").write_text("a of new\n")
    (repo / "b").write_text("b of")
    (repo / "c").write_text("c of new\n")
    (repo / "edited").write_text("by hand\n")
    (repo / "gone").unlink()
    checkout.finish_interrupted(repository, old, new)
    assert git(repo, "status", "--porcelain").splitlines() == ["M  a", " D b", "A  c", " M edited", "D  gone"]
    assert checkout.blocking_files(repository, old, new) == ["edited"]
    with pytest.raises(GitFailed):
        checkout.fast_forward(repository, new)
    assert (repo / "edited").read_text() == "by hand\n"
    git(repo, "checkout", "-q", "edited")
    checkout.fast_forward(repository, new)
    assert git(repo, "status", "--porcelain") == ""
