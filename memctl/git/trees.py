"""Trees and blobs: which files Git has at a revision, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import Repository

if TYPE_CHECKING:
    from memctl.git.objects import Object

REGULAR = (b"100644", b"100755")
_FILES = (*REGULAR, b"120000", b"100664")  # a link's blob is what it leads to; old programs wrote the last one
AT_ONCE = 500  # paths as arguments of one command


class TreeEntry(msgspec.Struct, frozen=True):
    """A file that Git has: its path below the worktree's top, its blob, and whether it is a regular file."""

    path: str
    blob: str
    is_regular: bool = True


def entries(repository: Repository, revision: str, folder: str = "") -> list[TreeEntry]:
    """The files below `folder` ("" for all) at a revision."""
    below = ["--", folder + "/"] if folder else []
    return list(parse(git.read(["ls-tree", "-r", "-z", "--full-tree", revision, *below], repository.top)))


def parse(out: bytes) -> Iterator[TreeEntry]:
    """The entries that `git ls-tree -z` prints."""
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            columns = meta.split()
            yield TreeEntry(path.decode("utf-8", "backslashreplace"), columns[2].decode(), columns[0] in REGULAR)


def blobs(repository: Repository, wanted: Iterable[str], limit: int) -> dict[str, bytes | None]:
    """The contents of blobs by id; None for one of more than `limit` bytes, which is not kept.

    Raises MemctlError for one that Git has lost.
    """
    names = list(dict.fromkeys(wanted))
    found: dict[str, bytes | None] = {}
    for name, item in zip(names, repository.objects.read(names, limit), strict=True):
        if item is None:
            raise MemctlError(f"Git does not have the object {name}", "`git fsck` looks for what else is missing")
        found[name] = item.data
    return found


def blobs_of(repository: Repository, revision: str, paths: Iterable[str]) -> dict[str, str]:
    """The blobs of some files at a revision, by path; those that do not exist are left out."""
    args, wanted = ["ls-tree", "-z", "--full-tree", revision, "--"], [path for path in paths if path]
    found: dict[str, str] = {}
    for some in batched(wanted):
        found |= {entry.path: entry.blob for entry in parse(git.read([*args, *some], repository.top))}
    return found


def blobs_on_disk(repository: Repository, paths: Iterable[str]) -> dict[str, str]:
    """The blobs that Git would make of some files of the worktree, by path; raises GitFailed if one can't be read."""
    found: dict[str, str] = {}
    for some in batched(list(paths)):
        out = git.read(["hash-object", "--", *some], repository.top).decode().split()
        found |= dict(zip(some, out, strict=True))
    return found


def batched(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Paths in groups that fit among the arguments of one command."""
    return (paths[start : start + AT_ONCE] for start in range(0, len(paths), AT_ONCE))


def blobs_at(repository: Repository, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The blobs of files at commits, by pairs of commit and path; those that do not exist are left out.

    Only trees are read: of a blob that a partial clone does not have, Git would fetch each from the remote.
    """
    wanted = [(commit, *_parted(path)) for commit, path in dict.fromkeys(places) if "\n" not in path]
    folders = list(dict.fromkeys((commit, folder) for commit, folder, _ in wanted))
    if not folders:
        return {}
    kinds = repository.objects.kinds([f"{commit}:{folder}" for commit, folder in folders])
    trees = {place: known[1] for place, known in zip(folders, kinds, strict=True) if known and known[0] == "tree"}
    names = list(dict.fromkeys(trees.values()))
    listed = {item.id: _files_in(item) for item in repository.objects.read(names) if item is not None}
    found = {}
    for commit, folder, name in wanted:
        blob = listed.get(trees.get((commit, folder), ""), {}).get(os.fsencode(name))
        if blob is not None:
            found[commit, f"{folder}/{name}" if folder else name] = blob
    return found


def _parted(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def _files_in(tree: Object) -> dict[bytes, str]:
    """The blobs of the files in a tree, by name. Each entry is a mode, a space, the name, a zero byte, and the id."""
    data, size, found, start = tree.data or b"", len(tree.id) // 2, dict[bytes, str](), 0
    while start < len(data):
        end = data.index(b"\0", start)
        mode, _, name = data[start:end].partition(b" ")
        start = end + 1 + size
        if mode in _FILES:
            found[name] = data[end + 1 : start].hex()
    return found
