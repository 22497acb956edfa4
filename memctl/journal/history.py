"""Reading history: trees and blobs at a revision or in the index, commits with their trailers, diffs.

All of it runs the `git` program: GitPython, the usual library, can't list the commits of a SHA-256 repository (its
`iter_commits` raises ValueError) and takes 60 ms to import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memctl.journal import git, message
from memctl.journal.repository import Repository
from memctl.model import moments

_REGULAR = (b"100644", b"100755")


class Entry(msgspec.Struct, frozen=True):
    """A file that Git has: its path below the worktree's top, its blob, and whether it is a regular file."""

    path: str
    blob: str
    is_regular: bool = True


class Commit(msgspec.Struct, frozen=True):
    """A commit that touched the memory."""

    commit: str
    author: str
    date: str  # canonical UTC
    subject: str
    trailers: message.Trailers
    paths: tuple[str, ...]


def tree(repository: Repository, revision: str, folder: str) -> list[Entry]:
    """The files below `folder` at a revision."""
    out = git.read(["ls-tree", "-r", "-z", "--full-tree", revision, "--", folder + "/"], repository.top)
    return list(_entries(out))


def _entries(out: bytes) -> Iterator[Entry]:
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            columns = meta.split()
            yield Entry(path.decode("utf-8", "backslashreplace"), columns[2].decode(), columns[0] in _REGULAR)


def blobs(repository: Repository, wanted: Iterable[str], limit: int) -> dict[str, bytes | None]:
    """The contents of blobs by id; None for one of more than `limit` bytes, which is not read."""
    names = list(dict.fromkeys(wanted))
    if not names:
        return {}
    asked = "".join(name + "\n" for name in names).encode()
    sizes = git.read(["cat-file", "--batch-check=%(objectname) %(objectsize)"], repository.top, asked).split(b"\n")
    small = [line.split()[0] for line in sizes if line and int(line.split()[1]) <= limit]
    found: dict[str, bytes | None] = dict.fromkeys(names)
    out = git.read(["cat-file", "--batch"], repository.top, b"".join(name + b"\n" for name in small))
    position = 0
    for name in small:
        end = out.index(b"\n", position)
        size = int(out[position:end].split()[2])
        found[name.decode()] = out[end + 1 : end + 1 + size]
        position = end + size + 2
    return found


def commits(
    repository: Repository, paths: Sequence[str], revision: str = "HEAD", limit: int | None = None
) -> list[Commit]:
    """The commits that touched any of `paths` (below the worktree's top), newest first."""
    if revision == "HEAD" and not repository.has_head():
        return []
    args = ["log", "--no-show-signature", "-z", "--name-only", "--format=%x1e%H%x00%ct%x00%an%x00%B%x00"]
    if limit is not None:
        args.append(f"--max-count={limit}")
    out = git.read([*args, revision, "--", *paths], repository.top).decode(errors="backslashreplace")
    return [_commit(part) for part in re.split("(?:^|\0)\x1e(?=[0-9a-f]{40,64}\0)", out) if part]


def _commit(text: str) -> Commit:
    name, seconds, author, body, names = text.split("\0", 4)
    return Commit(
        commit=name,
        author=author,
        date=moments.from_epoch(int(seconds)),
        subject=body.partition("\n")[0],
        trailers=message.parse(body),
        paths=tuple(path for path in names.strip("\0\n").split("\0") if path),
    )


def paths_ever(repository: Repository, folder: str, since: str | None = None, everywhere: bool = False) -> list[str]:
    """Every path below `folder` that a commit added, in the history of HEAD or of all refs, newest first."""
    if not everywhere and not repository.has_head():
        return []
    args = ["log", "--no-show-signature", "-z", "--name-only", "--format=", "--diff-filter=A", "--no-renames"]
    args += ["--all"] if everywhere else []
    args += [f"--since={since}"] if since else []
    out = git.read([*args, "--", folder], repository.top)
    return [os.fsdecode(path).lstrip("\n") for path in out.split(b"\0") if path.strip(b"\n")]


def last_version(repository: Repository, path: str) -> tuple[str, str] | None:
    """The newest commit in which a path existed, and its blob there; None if Git never had it."""
    args = ["log", "--no-show-signature", "--format=%H", "--max-count=1", "--diff-filter=AMT", "--no-renames"]
    commit = git.read([*args, "HEAD", "--", path], repository.top).decode().strip()
    if not commit:
        return None
    entries = list(_entries(git.read(["ls-tree", "-z", "--full-tree", commit, "--", path], repository.top)))
    return (commit, entries[0].blob) if entries else None


def diff(repository: Repository, revisions: Sequence[str], paths: Sequence[str]) -> str:
    """A unified diff of paths between two revisions, or between one and the worktree."""
    # Without this setting `git diff` would rewrite the user's index; with it, it names files only touched, too.
    args = ["-c", "diff.autoRefreshIndex=false", "diff", "--no-ext-diff", "--no-color", "--no-renames"]
    out = git.read([*args, *revisions, "--", *paths], repository.top).decode(errors="replace")
    return re.sub(r"^diff --git .*\n(?=diff --git |\Z)", "", out, flags=re.MULTILINE)
