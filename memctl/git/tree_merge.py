"""Merging and editing trees in the object store, without touching an index, a worktree or a branch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.git import Process
from memctl.git.repository import Repository

# Author and date of commits that only `git merge-tree` sees.
_IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "memctl"), ("EMAIL", "memctl@localhost"), ("DATE", "946684800 +0000"))
}
_USAGE_ERROR = 129  # the exit code of a git command that does not know an option


FOLDER = "40000"  # the mode of a folder in a tree
_SUBMODULE = "160000"
_MKTREE = ("mktree", "-z", "--batch")


class Leaf(msgspec.Struct, frozen=True):
    """An entry of a Git tree: its mode, as Git writes it, such as "100644", and its blob id.

    An entry for a whole folder has the mode FOLDER, and its `blob` is the id of the folder's tree.
    """

    mode: str
    blob: str

    @property
    def is_regular(self) -> bool:
        """Whether the entry is a regular file, and no link, submodule or folder."""
        return self.mode.startswith("100")

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a whole folder."""
        return self.mode == FOLDER


def leaves(repository: Repository, revision: str, folder: str) -> dict[str, Leaf]:
    """Return the files below a folder of a commit or tree, by paths relative to that folder."""
    args = ["ls-tree", "-r", "-z", "--full-tree", revision, "--", folder + "/"]
    result = {}
    for item in git.read(args, repository.top).split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            mode, _, blob = meta.decode().split()
            result[os.fsdecode(path)[len(folder) + 1 :]] = Leaf(mode, blob)
    return result


def tree_at(repository: Repository, revision: str, folder: str = "") -> str:
    """Return the tree id of a commit or tree, or of a folder in it; "" if it has no such folder."""
    (tree_object,) = repository.objects.read([f"{revision}^{{tree}}"])
    tree = tree_object.id if tree_object else ""
    for name in folder.split("/") if folder and tree else ():
        leaf = _listing(repository, tree).get(name)
        if leaf is None or not leaf.is_folder:
            return ""
        tree = leaf.blob
    return tree


def _listing(repository: Repository, tree: str) -> dict[str, Leaf]:
    (tree_object,) = repository.objects.read([f"{tree}^{{tree}}"])
    if tree_object is None or tree_object.data is None:
        raise MemctlError(f"the repository lacks the Git tree {tree}", "`git fsck` lists everything that is missing")
    from memctl.git import trees  # mostly a merge compares texts alone

    return {os.fsdecode(name): Leaf(mode.decode(), blob) for mode, name, blob in trees.items(tree_object)}


def store(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Store contents as blobs and return their ids."""
    if not contents:
        return []
    import tempfile  # 3 ms, and readers of the shared state merge nothing

    with tempfile.TemporaryDirectory(prefix="memctl-") as name:
        for number, content in enumerate(contents):
            (Path(name) / str(number)).write_bytes(content)
        paths = "".join(f"{name}/{number}\n" for number in range(len(contents))).encode()
        args = ["hash-object", "-w", "--no-filters", "--stdin-paths"]
        return git.write(args, repository.top, paths).decode().split()


def store_files(repository: Repository, texts: Mapping[str, str], modes: Mapping[str, str] = {}) -> dict[str, Leaf]:
    """Store the texts of files as blobs, and return them by path, each with its mode in `modes` or else "100644"."""
    contents = {path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()}
    filtered = {path: contents.pop(path) for path in repository.filters.filtered(texts)}  # such as encrypted ones
    blobs = dict(zip(contents, store(repository, list(contents.values())), strict=True))
    blobs |= {path: repository.filters.store(path, content) for path, content in filtered.items()}
    return {path: Leaf(modes.get(path, "100644"), blobs[path]) for path in texts}


def edit_tree(repository: Repository, tree: str, changes: Mapping[str, Leaf | None]) -> str:
    """Change some entries of the tree `tree` ("" for an empty one), and return the id of the new tree.

    `changes` are the new entries by path. None removes a file or folder, and the folders that become empty with it. If
    a folder and a file below it are both given, the folder is set first.
    """
    with _open_writer(repository) as writer:
        return writer.edit(tree, changes) or writer.store({})


def remove_folder(repository: Repository, trees: Sequence[str], folder: str) -> list[str]:
    """Return the id of each of `trees` (ids of trees or commits) with a folder removed, in the same order.

    Folders that become empty are removed, too.
    """
    with _open_writer(repository) as writer:
        return [writer.edit(tree, {folder: None}) or writer.store({}) for tree in trees]


@contextmanager
def _open_writer(repository: Repository) -> Iterator[_TreeWriter]:
    process = git.start_writing(_MKTREE, repository.top)
    try:
        yield _TreeWriter(repository, process)
    finally:
        process.communicate()  # closes its input, so that it ends


class _TreeWriter:
    """A `git mktree` that stores one tree after another."""

    def __init__(self, repository: Repository, process: Process) -> None:
        self._repository = repository
        self._process = process

    def edit(self, tree: str, changes: Mapping[str, Leaf | None]) -> str:
        entries = _listing(self._repository, tree) if tree else {}
        below: dict[str, dict[str, Leaf | None]] = {}
        for path, leaf in changes.items():
            name, _, rest = path.partition("/")
            if rest:
                below.setdefault(name, {})[rest] = leaf
            elif leaf:
                entries[name] = leaf
            else:
                entries.pop(name, None)
        for name, inner in below.items():
            known = entries.get(name)
            is_folder = known is not None and known.is_folder
            tree_id = self.edit(known.blob if known and is_folder else "", inner)
            if tree_id:
                entries[name] = Leaf(FOLDER, tree_id)
            elif is_folder:
                del entries[name]
        return self.store(entries) if entries else ""

    def store(self, entries: Mapping[str, Leaf]) -> str:
        kinds = {FOLDER: "tree", _SUBMODULE: "commit"}
        lines = [
            f"{leaf.mode} {kinds.get(leaf.mode, 'blob')} {leaf.blob}\t".encode() + os.fsencode(name) + b"\0"
            for name, leaf in entries.items()
        ]
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(b"".join([*lines, b"\0"]))
            self._process.stdin.flush()
        tree_id = self._process.stdout.readline()
        if not tree_id:
            raise git.GitFailed(_MKTREE, 1, git.end(self._process).decode(errors="replace"))
        return tree_id.decode().strip()


def merge(repository: Repository, before: Sequence[str], ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """Merge the trees `ours` and `theirs`, whose common ancestors are the trees `before`.

    Returns the merged tree's id, and the paths in conflict, whose files in that tree have conflict markers. If only one
    side changed something, the result is that side's tree; otherwise Git merges, which needs Git 2.38. Raises
    MemctlError if Git is older.
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
        if process.returncode == _USAGE_ERROR or b"usage:" in err:
            raise MemctlError(
                "both sides have changed files outside of the memory, and memctl can merge them only with Git 2.38 "
                "or newer",
                "merge them with `git pull`, then run `memctl sync` again",
            )
        raise git.GitFailed(args, process.returncode, err.decode(errors="replace"))
    tree, *paths = (os.fsdecode(one) for one in out.split(b"\0") if one)
    # Git adds such an ending to a file of one side whose path is a folder on the other side.
    ending = re.compile(rf"~(?:{one}|{other})(?:_[0-9]+)?$")
    return tree, tuple(dict.fromkeys(ending.sub("", path) for path in paths)) if process.returncode else ()


def _commit(repository: Repository, tree: str, parents: Sequence[str]) -> str:
    args = ["commit-tree", tree, *parents, "--no-gpg-sign", "-F", "-"]
    return git.write(args, repository.top, b"memctl\n", _IDENTITY).decode().strip()


T = TypeVar("T")
Preference = Literal["", "ours", "theirs"]  # whose lines win where both sides changed the same; "" for markers

_NAMES = ("ours", "base", "theirs")
# The user's settings must not change the result of a merge.
_COMMAND = ("-c", "merge.conflictStyle=merge", "merge-file", "-p", *(f"-L{name}" for name in _NAMES))
_MERGE_FILE_ERROR = 128  # from here on the exit code of `git merge-file` is no count of conflicts (git-merge-file(1))


def merge_texts(base: str, ours: str, theirs: str, *, prefer: Preference = "") -> tuple[str, int]:
    """Merge two texts that come from `base` line by line; return the merged text and the number of conflicts.

    Each conflict is in the text with conflict markers. But if `prefer` is "ours" or "theirs", each conflict gets the
    lines of that side, and the number is 0. In the texts, bytes that are not UTF-8 are decoded with `surrogateescape`.
    Raises GitFailed for a text that Git takes for binary.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="memctl-") as name:
        folder = Path(name)
        for version, text in zip(_NAMES, (ours, base, theirs), strict=True):
            (folder / version).write_bytes(text.encode(errors="surrogateescape"))
        process = git.start([*_COMMAND, *([f"--{prefer}"] if prefer else []), *_NAMES], folder)
        out, err = process.communicate()
    if process.returncode < 0 or process.returncode >= _MERGE_FILE_ERROR:
        raise git.GitFailed(["merge-file"], process.returncode, err.decode(errors="replace"))
    return out.decode(errors="surrogateescape"), process.returncode


def merge_lists(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
    """Merge two lists that both come from `base`: items that either side removed are left out, added ones are kept.

    For example `base` [1, 2], `ours` [1, 2, 3] and `theirs` [2, 4] make [2, 3, 4]. The items are in the order of
    `ours`, followed by those that only `theirs` added. Items with equal keys count as one item.
    """
    before, one = ({key(item) for item in side} for side in (base, ours))
    other = {key(item): item for item in reversed(theirs)}
    kept = [item for item in ours if key(item) in other or key(item) not in before]
    added = {key(item): item for item in theirs if key(item) not in before | one}
    return [*kept, *added.values()]


def merge_names(base: list[str], ours: list[str], theirs: list[str], order: Sequence[str]) -> list[str]:
    """Return all names in the lists `ours` and `theirs`, such as the headings of two texts, each once, in one order.

    The order is that of `ours`, or that of `theirs` if only `theirs` was reordered since `base`. Each name that is only
    in the other list follows the name that precedes it there: ["a", "b"] and ["a", "x", "b"] make ["a", "x", "b"]. If
    each list has a name at this place that the other lacks, the two are in the order of `base`, or else of `order`, if
    it has both. The name "", which stands for the text before the first heading, stays first.
    """
    first, second = (theirs, ours) if _is_reordered(base, theirs) and not _is_reordered(base, ours) else (ours, theirs)
    result = list(first)
    for index, name in enumerate(second):
        if name in result:
            continue
        place = result.index(second[index - 1]) + 1 if index else 0
        while place < len(result) and result[place] not in second and not _precedes(name, result[place], base, order):
            place += 1
        result.insert(place, name)
    return result


def _is_reordered(base: list[str], side: list[str]) -> bool:
    return [name for name in base if name in side] != [name for name in side if name in base]


def _precedes(name: str, other: str, *orders: Sequence[str]) -> bool:
    known = next((order for order in orders if name in order and other in order), ())
    return not name or (bool(known) and known.index(name) < known.index(other))
