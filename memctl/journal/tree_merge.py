"""Merging and putting together trees in the object store: no index, no worktree and no branch is touched."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.journal import git
from memctl.journal.repository import Repository

# Who makes the commits that only `git merge-tree` sees, and when: nobody, at any time.
_NOBODY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "memctl"), ("EMAIL", "memctl@localhost"), ("DATE", "946684800 +0000"))
}
_USAGE = 129  # the exit code of a git command that does not know an option


class Leaf(msgspec.Struct, frozen=True):
    """A file in a tree: its mode as Git writes it, and its blob."""

    mode: str
    blob: str

    @property
    def is_regular(self) -> bool:
        return self.mode.startswith("100")


def leaves(repository: Repository, revision: str, folder: str) -> dict[str, Leaf]:
    """The files below a folder of a commit or tree, by their paths below that folder."""
    args = ["ls-tree", "-r", "-z", "--full-tree", revision, "--", folder + "/"]
    found = {}
    for item in git.read(args, repository.top).split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            mode, _, blob = meta.decode().split()
            found[os.fsdecode(path)[len(folder) + 1 :]] = Leaf(mode, blob)
    return found


def tree_at(repository: Repository, revision: str, folder: str = "") -> str:
    """The tree of a commit, or of a folder in it; "" if it does not have that."""
    try:
        spec = f"{revision}:{folder}" if folder else f"{revision}^{{tree}}"
        return git.read(["rev-parse", "--verify", "--quiet", "--end-of-options", spec], repository.top).decode().strip()
    except git.GitFailed:
        return ""


def bases(repository: Repository, one: str, other: str) -> list[str]:
    """The commits that two histories have parted at: none, one, or where they have crossed, several."""
    try:
        return git.read(["merge-base", "--all", one, other], repository.top).decode().split()
    except git.GitFailed as error:
        if error.code == 1:
            return []
        raise


def store(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Put contents into the object store as they are; gives their blobs."""
    if not contents:
        return []
    with tempfile.TemporaryDirectory(prefix="memctl-") as name:
        for number, content in enumerate(contents):
            (Path(name) / str(number)).write_bytes(content)
        paths = "".join(f"{name}/{number}\n" for number in range(len(contents))).encode()
        args = ["hash-object", "-w", "--no-filters", "--stdin-paths"]
        return git.write(args, repository.top, paths).decode().split()


def edited(repository: Repository, tree: str, changes: Mapping[str, Leaf | None]) -> str:
    """A tree with some files put in, or with None taken out; "" as `tree` is an empty one."""
    with tempfile.TemporaryDirectory(prefix="memctl-") as name:
        extra = {"GIT_INDEX_FILE": f"{name}/index"}
        if tree:
            git.write(["read-tree", tree], repository.top, extra=extra)
        lines = []
        for path, leaf in sorted(changes.items(), key=lambda item: item[1] is not None):  # what goes, goes first
            mode, blob = (leaf.mode, leaf.blob) if leaf else ("0", "0" * len(tree or "0" * 40))
            lines.append(f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0")
        git.write(["update-index", "-z", "--index-info"], repository.top, b"".join(lines), extra)
        return git.write(["write-tree"], repository.top, extra=extra).decode().strip()


def grafted(repository: Repository, tree: str, folder: str, subtree: str) -> str:
    """A tree with another tree at `folder`; with "" as `subtree`, without that folder and what it leaves empty."""
    made = _grafted(repository, tree, folder, subtree)
    return made or git.write(["mktree"], repository.top, b"").decode().strip()


def _grafted(repository: Repository, tree: str, folder: str, subtree: str) -> str:
    name, _, below = folder.partition("/")
    entries = {}
    for item in git.read(["ls-tree", "-z", tree], repository.top).split(b"\0") if tree else ():
        if item:
            entries[item.partition(b"\t")[2]] = item
    raw = os.fsencode(name)
    if below:
        meta = entries.get(raw, b"").split(b"\t")[0].split()
        subtree = _grafted(repository, meta[2].decode() if meta[1:2] == [b"tree"] else "", below, subtree)
    entries.pop(raw, None)
    if subtree:
        entries[raw] = f"040000 tree {subtree}\t".encode() + raw
    listing = b"".join(item + b"\0" for item in entries.values())
    return git.write(["mktree", "-z"], repository.top, listing).decode().strip() if entries else ""


def merged(repository: Repository, before: Sequence[str], ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The merge of two trees that come from those `before`, and the paths that conflict in it.

    Git's own merge is asked only where both sides changed something; it needs Git 2.38. Raises MemctlError if Git is
    older.
    """
    if ours == theirs or list(before) == [theirs]:
        return ours, ()
    if list(before) == [ours]:
        return theirs, ()
    parents = [word for tree in before for word in ("-p", _commit(repository, tree, []))]
    one, other = (_commit(repository, tree, parents) for tree in (ours, theirs))
    args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", one, other]
    process = git.start(args, repository.top)
    out, err = process.communicate()
    if process.returncode not in (0, 1):
        if process.returncode == _USAGE or b"usage:" in err:
            raise MemctlError(
                "both sides have changed files outside of the memory, and merging them here takes Git 2.38 or newer",
                "merge them with `git pull`, then run `memctl sync` again",
            )
        raise git.GitFailed(args, process.returncode, err.decode(errors="replace"))
    tree, *paths = (os.fsdecode(item) for item in out.split(b"\0") if item)
    aside = re.compile(rf"~(?:{one}|{other})(?:_[0-9]+)?$")  # where a file of one side is a folder of the other's
    return tree, tuple(dict.fromkeys(aside.sub("", path) for path in paths)) if process.returncode else ()


def _commit(repository: Repository, tree: str, parents: Sequence[str]) -> str:
    args = ["commit-tree", tree, *parents, "--no-gpg-sign", "-F", "-"]
    return git.write(args, repository.top, b"memctl\n", _NOBODY).decode().strip()
