"""Reading history: trees and blobs at a revision or in the index, commits with their trailers, diffs.

All of it runs the `git` program: GitPython, the usual library, can't list the commits of a SHA-256 repository (its
`iter_commits` raises ValueError) and takes 60 ms to import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

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


def tree(repository: Repository, revision: str, folder: str = "") -> list[Entry]:
    """The files below `folder` ("" for all) at a revision."""
    below = ["--", folder + "/"] if folder else []
    return list(_entries(git.read(["ls-tree", "-r", "-z", "--full-tree", revision, *below], repository.top)))


def index(repository: Repository, folder: str = "") -> list[Entry]:
    """The files below `folder` ("" for all) in the index: inside a hook, in the one that is being committed.

    A path with a merge conflict stands there once for each side, and is no regular file.
    """
    below = ["--", folder] if folder else []
    out = git.read(["ls-files", "-s", "-z", "--full-name", *below], repository.top, extra=repository.index_in_use())
    found: dict[str, Entry] = {}
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            mode, blob, stage = meta.split()
            name = git.name(path)
            found[name] = Entry(name, blob.decode(), mode in _REGULAR and stage == b"0")
    return list(found.values())


def _entries(out: bytes) -> Iterator[Entry]:
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            columns = meta.split()
            yield Entry(path.decode("utf-8", "backslashreplace"), columns[2].decode(), columns[0] in _REGULAR)


def stage(repository: Repository, texts: Mapping[str, str | None]) -> None:
    """Put texts by path into the index (None takes a path out), without touching the disk."""
    extra = repository.index_in_use()
    lines = []
    for path, text in texts.items():
        if text is not None:
            blob = git.write(["hash-object", "-w", "--stdin"], repository.top, text.encode()).decode().strip()
            lines.append(f"100644 {blob}\t{path}\0")
    if lines:
        git.write(["update-index", "-z", "--index-info"], repository.top, "".join(lines).encode(), extra)
    gone = "".join(f"{path}\0" for path, text in texts.items() if text is None)
    if gone:
        git.write(["update-index", "-z", "--force-remove", "--stdin"], repository.top, gone.encode(), extra)


def refresh_index(repository: Repository) -> None:
    """Let the index learn the times and sizes of files that were staged without them."""
    with suppress(git.GitFailed):  # it says that some files differ, which is nobody's fault
        git.write(["update-index", "-q", "--refresh"], repository.top, extra=repository.index_in_use())


def remake_merge(repository: Repository) -> str:
    """Make the merge commit at HEAD again with the tree of the index; "" if HEAD is none that was just made.

    Git still has MERGE_HEAD then, whose commit is a parent of HEAD.
    """
    try:
        merging = (repository.git_dir / "MERGE_HEAD").read_text().split()
    except OSError:
        return ""
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


def last_changes(repository: Repository, paths: Iterable[str], revision: str = "HEAD") -> dict[str, str]:
    """When each of some paths was last changed by a commit that `revision` has: canonical UTC by path."""
    missing = set(paths)
    if not missing or (revision == "HEAD" and not repository.has_head()):
        return {}
    found: dict[str, str] = {}
    args = ["log", "--no-show-signature", "-z", "--name-only", "--no-renames", "-m", "--format=%x1e%ct", revision]
    date = ""
    for item in git.stream(args, repository.top):
        if item.startswith(b"\x1e"):
            date = moments.from_epoch(int(item[1:]))
        elif (path := git.name(item.lstrip(b"\n"))) in missing:
            missing.remove(path)
            found[path] = date
            if not missing:
                break
    return found


def last_version(repository: Repository, path: str) -> tuple[str, str] | None:
    """The newest commit in which a path existed, and its blob there; None if Git never had it."""
    args = ["log", "--no-show-signature", "--format=%H", "--max-count=1", "--diff-filter=AMT", "--no-renames"]
    commit = git.read([*args, "HEAD", "--", path], repository.top).decode().strip()
    if not commit:
        return None
    entries = list(_entries(git.read(["ls-tree", "-z", "--full-tree", commit, "--", path], repository.top)))
    return (commit, entries[0].blob) if entries else None


def changed(
    repository: Repository, folder: str, before: str, after: str | None = None, *, staged: bool = False
) -> list[str]:
    """The files below a folder that differ between a revision and another, the index (`staged`) or the worktree."""
    args = ["-c", "diff.autoRefreshIndex=false", "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"]
    args += [*(["--cached"] if staged else []), before, *([after] if after else []), "--", folder]
    out = git.read(args, repository.top, extra=repository.index_in_use() if staged else None)
    return [git.name(path) for path in out.split(b"\0") if path]


def diff(repository: Repository, revisions: Sequence[str], paths: Sequence[str]) -> str:
    """A unified diff of paths between two revisions, or between one and the worktree."""
    # Without this setting `git diff` would rewrite the user's index; with it, it names files only touched, too.
    args = ["-c", "diff.autoRefreshIndex=false", "diff", "--no-ext-diff", "--no-color", "--no-renames"]
    out = git.read([*args, *revisions, "--", *paths], repository.top).decode(errors="replace")
    return re.sub(r"^diff --git .*\n(?=diff --git |\Z)", "", out, flags=re.MULTILINE)


class Touch(msgspec.Struct, frozen=True):
    """A commit that touched a file: its whole message, and what the file was called in it."""

    commit: str
    author: str
    date: str  # canonical UTC
    message: str
    path: str


_TOUCHES = ("log", "--no-show-signature", "-z", "--name-only", "--format=%x1e%H%x00%ct%x00%an%x00%B%x00")


def touches(repository: Repository, path: str, revision: str, limit: int | None = None) -> list[Touch]:
    """The commits that touched one file, under its earlier names too, newest first."""
    most = [] if limit is None else [f"--max-count={limit}"]
    return _touches(repository, [*_TOUCHES, "--follow", *most, revision, "--", path])


def touch(repository: Repository, commit: str, path: str) -> Touch:
    """One commit as one that touched a file."""
    return msgspec.structs.replace(_touches(repository, [*_TOUCHES, "--no-walk", commit])[0], path=path)


def _touches(repository: Repository, args: Sequence[str]) -> list[Touch]:
    found = []
    out = git.read(args, repository.top).decode(errors="backslashreplace")
    for part in re.split("(?:^|\0)\x1e(?=[0-9a-f]{40,64}\0)", out):
        if part:
            name, seconds, author, body, names = part.split("\0", 4)
            path = names.strip("\0\n").partition("\0")[0]
            found.append(Touch(name, author, moments.from_epoch(int(seconds)), body.strip("\n"), path))
    return found


class LastKnown(msgspec.Struct, frozen=True):
    """How a path last was: a revision that has it, its blob there, and the commit that took it away since, or ""."""

    revision: str
    blob: str
    removed_by: str


def last_known(repository: Repository, path: str, revision: str) -> LastKnown | None:
    """How a file last was in the history of a revision; None if that never had it."""
    args = ["log", "--no-show-signature", "--max-count=1", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%H"]
    # Commits that did not leave the path alone; of a folder Git would tell of the files in it.
    out = git.read([*args, "--diff-filter=AMTD", revision, "--", path], repository.top)
    commit, *raw = out.split(b"\0")
    for meta, name in zip(raw[::2], raw[1::2], strict=False):
        if git.name(name) == path:
            _, _, before, after, status = meta.decode().split()
            made = commit.decode().strip()
            return LastKnown(f"{made}^", before, made) if status == "D" else LastKnown(made, after, "")
    return None


ADDED, CHANGED, DELETED, RENAMED = "added", "changed", "deleted", "renamed"
_STATUSES = {"A": ADDED, "D": DELETED, "R": RENAMED}


class FileChange(msgspec.Struct, frozen=True):
    """A file that differs between two states: what became of it, its name `before` if it was RENAMED.

    `blob` is the content that a file DELETED from the worktree had.
    """

    path: str
    status: str
    before: str = ""
    blob: str = ""


def changed_between(repository: Repository, first: str, second: str, *, from_base: bool = False) -> list[FileChange]:
    """The files that differ between two commits, or between their merge base and the second; renames are detected."""
    base = ["--merge-base"] if from_base else []
    return _changes(repository, ["diff-tree", "-r", "-z", "-M", "--name-status", *base, first, second])


def changed_by(repository: Repository, commit: str) -> list[FileChange]:
    """The files that one commit changed, as compared with its first parent; renames are detected."""
    return _changes(repository, ["diff-tree", "-r", "-z", "-M", "--name-status", f"{commit}^", commit])


def changed_in_index(repository: Repository) -> list[FileChange]:
    """The files that differ between HEAD and the index; renames are detected."""
    top = repository.top
    tree = "HEAD" if repository.has_head() else git.read(["hash-object", "-t", "tree", "--stdin"], top, b"").decode()
    return _changes(repository, ["diff-index", "--cached", "-z", "-M", "--name-status", tree.strip()])


def _changes(repository: Repository, args: Sequence[str]) -> list[FileChange]:
    words = iter(git.read(args, repository.top, extra=repository.index_in_use()).split(b"\0"))
    found = []
    for word in words:
        status = _STATUSES.get(word[:1].decode(), CHANGED)
        if word:
            before = git.name(next(words)) if status == RENAMED else ""
            found.append(FileChange(git.name(next(words)), status, before))
    return found


def changed_in_worktree(repository: Repository) -> list[FileChange]:
    """The files that differ between HEAD and the worktree, staged or not, untracked ones too but no ignored ones."""
    args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
    found: dict[str, FileChange] = {}
    for item in git.read(args, repository.top).split(b"\0"):
        if item[:1] == b"?" and not item.endswith(b"/"):  # with a slash: a repository of its own
            path = git.name(item[2:])
            found[path] = FileChange(
                path, CHANGED if path in found else ADDED
            )  # taken out of the index, but still here
        elif item[:1] == b"u":
            path = git.name(item.split(b" ", 10)[10])
            found[path] = FileChange(path, CHANGED)
        elif item[:1] == b"1":
            _, _, _, in_head, _, on_disk, blob, _, name = item.split(b" ", 8)
            path, is_new, is_gone = git.name(name), not int(in_head), not int(on_disk)
            if is_new and is_gone:  # staged, and deleted again
                continue
            status = ADDED if is_new else DELETED if is_gone else CHANGED
            found[path] = FileChange(path, status, blob=blob.decode() if is_gone else "")
    return list(found.values())
