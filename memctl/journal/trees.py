"""Trees and blobs: which files Git has at a revision, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memctl.errors import MemctlError
from memctl.journal import git
from memctl.journal.repository import Repository

REGULAR = (b"100644", b"100755")


class Entry(msgspec.Struct, frozen=True):
    """A file that Git has: its path below the worktree's top, its blob, and whether it is a regular file."""

    path: str
    blob: str
    is_regular: bool = True


def entries(repository: Repository, revision: str, folder: str = "") -> list[Entry]:
    """The files below `folder` ("" for all) at a revision."""
    below = ["--", folder + "/"] if folder else []
    return list(parse(git.read(["ls-tree", "-r", "-z", "--full-tree", revision, *below], repository.top)))


def parse(out: bytes) -> Iterator[Entry]:
    """The entries that `git ls-tree -z` prints."""
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            columns = meta.split()
            yield Entry(path.decode("utf-8", "backslashreplace"), columns[2].decode(), columns[0] in REGULAR)


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


def blobs_at(repository: Repository, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The blobs of files at commits, by pairs of commit and path; those that do not exist are left out."""
    wanted = [(commit, path) for commit, path in dict.fromkeys(places) if "\n" not in path]
    if not wanted:
        return {}
    asked = "".join(f"{commit}:{path}\n" for commit, path in wanted).encode()
    out = git.read(["cat-file", "--batch-check=%(objecttype) %(objectname)"], repository.top, asked).decode()
    found = {}
    for place, line in zip(wanted, out.splitlines(), strict=True):
        kind, _, name = line.partition(" ")
        if kind == "blob":
            found[place] = name
    return found
