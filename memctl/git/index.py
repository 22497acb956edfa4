"""The index: reading it, staging texts that are not on the disk, and adding staged files to a new merge commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.git import git
from memctl.git.repository import Repository
from memctl.git.trees import REGULAR, TreeEntry


def entries(repository: Repository, *paths: str, without: str = "") -> list[TreeEntry]:
    """Return the files in the index at or below `paths`; without paths, all files.

    Inside a Git hook the index is the one that Git is committing. A path with a merge conflict is returned once, and
    counts as no regular file.

    Files in folders with the name `without` (such as ".memory", "" for none) are left out, at any depth, which saves
    Git from printing thousands of files. With `without`, characters such as `*` in `paths` are Git's patterns.
    """
    return parse(read(repository, *paths, without=without))


def read(repository: Repository, *paths: str, without: str = "") -> bytes:
    """Return what Git prints of the files that `entries` returns; the same output means the same files."""
    chosen = [*pathspecs_without(without), *paths] if without else ["--", *paths]
    args = ["ls-files", "-t", "-s", "-z", "--full-name", *chosen]
    return git.read(args, repository.top, literal=not without, extra=repository.index_in_use())


def parse(out: bytes) -> list[TreeEntry]:
    """Return the files in an output of `read`."""
    entries_by_path: dict[str, TreeEntry] = {}
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            _, mode, blob, stage = meta.split()
            name = git.decode_path(path)
            entries_by_path[name] = TreeEntry(name, blob.decode(), mode in REGULAR and stage == b"0")
    return list(entries_by_path.values())


class Sides(msgspec.Struct, frozen=True):
    """The blob ids of the three versions of a file in a merge conflict: the common ancestor's, ours and theirs.

    The ancestor's is "" if both sides added the file.
    """

    base: str
    ours: str
    theirs: str


def conflicting_files(repository: Repository, folder: str) -> dict[str, Sides]:
    """Return the blob ids of files below `folder` in a merge conflict, by path; only files that both sides have."""
    args = ["ls-files", "-u", "-z", "--full-name", "--", folder]
    sides: dict[str, dict[bytes, str]] = {}
    for item in git.read(args, repository.top, extra=repository.index_in_use()).split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            mode, blob, stage = meta.split()
            if mode in REGULAR:
                sides.setdefault(git.decode_path(path), {})[stage] = blob.decode()
    return {
        path: Sides(side.get(b"1", ""), side[b"2"], side[b"3"])
        for path, side in sides.items()
        if {b"2", b"3"} <= side.keys()
    }


def conflicting_paths(repository: Repository) -> tuple[str, ...]:
    """Return the paths that a merge left in conflict, in the memory or elsewhere."""
    out = git.read(["ls-files", "-u", "-z", "--full-name"], repository.top)  # `git diff` would look at every file
    return tuple(dict.fromkeys(git.decode_path(item.partition(b"\t")[2]) for item in out.split(b"\0") if item))


def pathspecs_without(name: str) -> list[str]:
    """Return git arguments that select all files but those in folders with the name `name`, at any depth.

    They are for a command that runs at the worktree's top.
    """
    return ["--", f":(exclude,glob)**/{name}/**"]


def stage(repository: Repository, texts: Mapping[str, str | None]) -> None:
    """Stage `texts` (the new text by path, None to remove the path from the index) without touching the disk."""
    args = ["hash-object", "-w", "--stdin"]

    def blob(text: str | None) -> str:
        return "" if text is None else git.write(args, repository.top, text.encode()).decode().strip()

    stage_blobs(repository, {path: blob(text) for path, text in texts.items()})


def stage_blobs(repository: Repository, blobs: Mapping[str, str]) -> None:
    """Stage `blobs` (the new blob id by path, "" to remove the path from the index) without touching the disk."""
    extra = repository.index_in_use()
    lines = [f"100644 {blob}\t{path}\0" for path, blob in blobs.items() if blob]
    if lines:
        git.write(["update-index", "-z", "--index-info"], repository.top, "".join(lines).encode(), extra)
    gone = "".join(f"{path}\0" for path, blob in blobs.items() if not blob)
    if gone:
        git.write(["update-index", "-z", "--force-remove", "--stdin"], repository.top, gone.encode(), extra)


def skipped(out: bytes) -> frozenset[str]:
    """Return the paths in an output of `read` that Git marks as left out of the worktree by a sparse checkout."""
    if b"\0S " not in b"\0" + out:
        return frozenset()
    return frozenset(git.decode_path(item.partition(b"\t")[2]) for item in out.split(b"\0") if item[:1] == b"S")


def sparse_paths(repository: Repository, folder: str) -> list[str]:
    """Return the files below a folder that are in HEAD, but not in the worktree because of a sparse checkout."""
    paths = sorted(skipped(read(repository, folder)))
    return [path for path in paths if not os.path.lexists(repository.top / path)]


def is_tracked(top: Path, path: str) -> bool:
    """Return whether the index has a file, by its path relative to the worktree's top; False if Git can't say."""
    return bool(git.try_read(["ls-files", "-z", "--", path], top))


def refresh(repository: Repository) -> None:
    """Store in the index the times and sizes of files staged without them, so that Git need not read the files."""
    with suppress(git.GitFailed):  # Git fails if some files differ, which is no error here
        git.write(["update-index", "-q", "--refresh"], repository.top, extra=repository.index_in_use())


def remake_merge(repository: Repository) -> str:
    """Replace the merge commit at HEAD by one with the files of the index, and return its id.

    This is for the hook that Git runs right after a merge. If HEAD is not the merge commit that Git has just made (its
    file MERGE_HEAD still names the merged commits), nothing changes, and "" is returned.
    """
    merging = repository.merging()
    raw = git.read(["cat-file", "commit", "HEAD"], repository.top)
    head, _, message = raw.partition(b"\n\n")
    parents = [line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent ")]
    author = next(line[7:] for line in head.split(b"\n") if line.startswith(b"author "))
    if not merging or not set(merging) <= set(parents[1:]):
        return ""
    name, rest = os.fsdecode(author).split(" <", 1)
    address, date = rest.rsplit("> ", 1)
    extra = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": date}
    tree = git.write(["write-tree"], repository.top).decode().strip()
    old = git.read(["rev-parse", "HEAD"], repository.top).decode().strip()
    options = [word for parent in parents for word in ("-p", parent)]
    options += ["-S"] if repository.flag("commit.gpgsign") else []
    new = git.write(["commit-tree", tree, *options, "-F", "-"], repository.top, message, extra).decode().strip()
    git.write(["update-ref", "-m", "merge: documents rendered", "HEAD", new, old], repository.top)
    return new
