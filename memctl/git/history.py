"""Reading history: commits with their trailers, and which of them touched a file.

All functions run `git`: GitPython, the usual library, can't list the commits of a SHA-256 repository (its
`iter_commits` raises ValueError) and takes 60 ms to import.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, message, trees
from memctl.git.repository import Repository
from memctl.text import timestamps

# By default Git shows no changes of a merge. For a file to which a merge gave a content that no parent has, the
# difference from the first parent is enough.
_MERGE_DIFF = "--diff-merges=first-parent"
_FORMAT = "--format=%x1e%H%x00%P%x00%ct%x00%an%x00%B%x00"
_LOG = (*git.LOG, "-z", "--name-only", _FORMAT)
_CHANGES = (*git.LOG, "-z", "--name-status", "--no-renames", _FORMAT)
_START = "(?:^|\0)\x1e(?=[0-9a-f]{40,64}\0)"  # of a commit in what _FORMAT prints


class Commit(msgspec.Struct, frozen=True):
    """A commit that touched the memory, and what its message says.

    `changes` says what it did to each file: "A" for added, "M" for modified, "D" for deleted, and the like. Paths are
    relative to the worktree's top. `parent` is its first parent, "" for none.
    """

    commit: str
    author: str
    date: str  # canonical UTC
    subject: str
    trailers: message.Trailers
    changes: dict[str, str]
    parent: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it touched."""
        return tuple(self.changes)

    @property
    def actor(self) -> str:
        """Who made the change: the agent that its trailers name, or else the author."""
        return self.trailers.actor or self.author


def commits(
    repository: Repository,
    paths: Sequence[str],
    revision: str = "HEAD",
    limit: int | None = None,
    *,
    discarded: bool = False,
    beside: str = "",
    first_parent: bool = False,
) -> list[Commit]:
    """Return the commits that touched any of `paths` (relative to the worktree's top), newest first, at most `limit`.

    The histories of `revision` and of the commit `beside` ("" for none) are searched. With `first_parent` only the
    first parent of each commit is followed, and merges are left out.

    A merge may take a file from one side only. What the other side did to the file is then lost, and without
    `discarded` the commits of that other side are left out. With `discarded` they are returned as well, and so is the
    merge.
    """
    tips = _tips(repository, revision, beside)
    if not tips:
        return []
    args = [*_CHANGES]
    if limit is not None:
        args.append(f"--max-count={limit}")
    args += ["--full-history", "--simplify-merges", "--date-order"] if discarded else []
    args += ["--first-parent", "--no-merges"] if first_parent else []
    out = git.read([*args, *tips, "--", *paths], repository.top).decode(errors="backslashreplace")
    return [_commit(part) for part in re.split(_START, out) if part]


def merge_base(repository: Repository, first: str, second: str) -> str:
    """Return the last common commit of two commits; raises MemctlError if there is none, or if it is not here."""
    if bases := repository.merge_bases(first, second):
        return bases[0]
    if repository.shallow():
        hint = "`git fetch --unshallow` fetches all history, and `git fetch --deepen 100` some more of it"
        raise MemctlError("this shallow clone lacks the commit at which the two branches part", hint)
    raise MemctlError("the two commits have no common history", "compare them with two dots: `A..B`")


def line_commits(repository: Repository, tips: Iterable[str], until: Iterable[str], path: str) -> dict[str, Commit]:
    """Return the commits that touched a path, by commit id; merges are left out.

    The histories of `tips` are searched, without the commits in the histories of `until`; both are commit ids. One Git
    process answers, however many tips there are.
    """
    revisions = "".join(f"{name}\n" for name in (*tips, *(f"^{name}" for name in until)))
    out = git.read([*_CHANGES, "--no-merges", "--stdin", "--", path], repository.top, revisions.encode())
    listed = [_commit(part) for part in re.split(_START, out.decode(errors="backslashreplace")) if part]
    return {commit.commit: commit for commit in listed}


def dates_of_lines(repository: Repository, paths: Iterable[str], pattern: str) -> dict[str, tuple[str, str]]:
    """Return for each path the dates of the first and the last commit that changed a line which `pattern` matches.

    The dates are those of the committers in HEAD's history. `paths` are relative to the worktree's top.
    """
    if not repository.has_head():
        return {}
    args = [*git.LOG, "-z", "--name-only", "--format=%x1e%ct%x00", "--no-renames", "--full-history", f"-G{pattern}"]
    wanted = "\n".join(["HEAD", "--", *paths, ""])
    out = git.read([*args, "--extended-regexp", "--stdin"], repository.top, os.fsencode(wanted))
    dates: dict[str, tuple[str, str]] = {}
    for part in os.fsdecode(out).split("\x1e")[1:]:
        seconds, *names = part.split("\0")
        date = timestamps.from_epoch(int(seconds))
        for path in filter(None, (name.lstrip("\n") for name in names)):
            first, last = dates.get(path, (date, date))
            dates[path] = min(first, date), max(last, date)
    return dates


def is_author(repository: Repository, name: str) -> bool:
    """Return whether a commit in HEAD's history has an author whose name ends with `name`, in any case."""
    args = [*git.LOG, "--format=%H", "--max-count=1", "--fixed-strings", "--regexp-ignore-case", f"--author={name} <"]
    return repository.has_head() and bool(git.read(args, repository.top))


def commit_dates(repository: Repository) -> list[str]:
    """Return the dates of all commits in HEAD's history, sorted."""
    if not repository.has_head():
        return []
    seconds = git.read([*git.LOG, "--format=%ct"], repository.top).split()
    return sorted(map(timestamps.from_epoch, map(int, seconds)))


def _tips(repository: Repository, revision: str, beside: str) -> list[str]:
    is_unborn = revision == "HEAD" and not repository.has_head()
    return [tip for tip in ("" if is_unborn else revision, beside) if tip]


def has_discarded_versions(repository: Repository, path: str, revision: str, limit: int) -> bool:
    """Return whether `commits`, with this `limit`, would return more commits with `discarded` than without it.

    That is so if a merge took the file from one side only, although the other side had changed it, too. Git reads no
    more history than `limit` needs, which takes 4 ms; to read all of a history of 5,000 commits takes 69 ms.
    """
    if revision == "HEAD" and not repository.has_head():
        return False
    options = ["--format=%H", f"--max-count={limit}", revision, "--", path]
    every = git.read([*git.LOG, "--full-history", *options], repository.top)
    return git.read([*git.LOG, *options], repository.top) != every


def _commit(text: str) -> Commit:
    name, parents, seconds, author, body, names = text.split("\0", 5)
    items = names.strip("\0\n").split("\0")
    return Commit(
        commit=name,
        author=author,
        date=timestamps.from_epoch(int(seconds)),
        subject=message.whole_subject(body),
        trailers=message.parse(body),
        changes={path: status[:1] for status, path in zip(items[::2], items[1::2], strict=False)},
        parent=parents.partition(" ")[0],
    )


def paths_ever(
    repository: Repository,
    folder: str,
    since: str | None = None,
    everywhere: bool = False,
    revision: str = "HEAD",
    beside: str = "",
) -> list[str]:
    """Return every path below `folder` that a commit added, newest first.

    The histories of `revision` and of the commit `beside` ("" for none) are searched; with `everywhere` those of all
    refs. A path counts even if a later merge did not take it over. A merge itself counts as adding the paths that none
    of its parents has. `since` is a date as `git log --since` takes it; earlier commits do not count.
    """
    tips = ["--all"] if everywhere else _tips(repository, revision, beside)
    if not tips:
        return []
    args = [*git.LOG, "-z", "--name-only", "--format=", "--diff-filter=A", "--no-renames", "-c", "--full-history"]
    args += [*tips, f"--since={since}"] if since else tips
    out = git.read([*args, "--", folder], repository.top)
    return [os.fsdecode(path).lstrip("\n") for path in out.split(b"\0") if path.strip(b"\n")]


def paths_gone(repository: Repository, folder: str, beside: str = "") -> list[str]:
    """Return every path below `folder` that a commit added or deleted in the histories of HEAD and of `beside`.

    `beside` is another commit, "" for none. The deleted paths come first, the latest deletion first. Then come the
    other paths: they still exist, or a merge left them out. A merge counts as deleting the paths that all its parents
    had.
    """
    tips = _tips(repository, "HEAD", beside)
    if not tips:
        return []
    args = [*git.LOG, "-z", "--name-status", "--format=", "--diff-filter=AD", "--no-renames"]
    out = git.read([*args, "-c", "--full-history", *tips, "--", folder], repository.top)
    # A status, of a merge one letter for each parent, then the path; line breaks are between commits.
    items = [item for part in out.split(b"\0") if (item := part.lstrip(b"\n"))]
    changes = [(status, os.fsdecode(path)) for status, path in zip(items[::2], items[1::2], strict=True)]
    gone = [path for status, path in changes if status.startswith(b"D")]
    return list(dict.fromkeys([*gone, *(path for _, path in changes)]))


class CommitPaths(msgspec.Struct, frozen=True):
    """The date of a commit (canonical UTC), the paths that it changed (none for a merge), and its subject."""

    date: str
    paths: tuple[str, ...]
    subject: str = ""


def _without_boundary(repository: Repository) -> list[str]:
    """To Git the first commit in the history of a shallow clone added every file that it has."""
    # Git may have pruned a commit that the file of the boundary still names.
    boundary = [f"^{commit}" for commit in sorted(repository.shallow())]
    return ["--ignore-missing", "HEAD", *boundary] if boundary else []


def latest(repository: Repository, limit: int, *, with_first: bool = True) -> Iterator[CommitPaths]:
    """Yield date, paths and subject of the latest commits of HEAD, newest first; at most `limit` commits are read.

    The oldest commits of a shallow clone are left out: they have no parents there, and seem to add every file.
    `with_first` says whether the first commit of the history comes with its paths, which may be 100,000.
    """
    if not repository.has_head():
        return
    args = ["-c", f"log.showRoot={with_first}", *git.LOG, "-z", "--name-status", "--no-renames", f"--max-count={limit}"]
    items = git.stream([*args, "--format=%x1e%ct %s", *_without_boundary(repository)], repository.top)
    date, subject, paths = "", "", list[str]()
    for item in items:
        if item.startswith(b"\x1e"):
            if date:
                yield CommitPaths(date, tuple(paths), subject)
            seconds, _, title = item[1:].partition(b" ")
            date, subject, paths = timestamps.from_epoch(int(seconds)), title.decode(errors="replace"), []
        elif item:  # the status of a path, which follows: that may begin with any character
            paths.append(git.decode_path(next(items)))
    if date:
        yield CommitPaths(date, tuple(paths), subject)


def paths_touched(repository: Repository, limit: int, without: str) -> Callable[[], set[str]]:
    """Start Git, and return a function that returns the paths that the latest `limit` commits of HEAD changed.

    That function waits for Git. Paths below the folder `without` are left out, but a commit that changed only such
    paths still counts as one of the `limit` commits. The oldest commits of a shallow clone are left out: they have no
    parents there, and seem to add every file.
    """
    if not repository.has_head():
        return set
    args = [*git.LOG, "-z", "--name-only", "--no-renames", f"--max-count={limit}", "--format="]
    args += ["--full-history", "--sparse", *_without_boundary(repository), "--", f":(exclude,literal){without}"]
    process = git.start(args, repository.top, {"GIT_LITERAL_PATHSPECS": "0"})

    @cache
    def wait() -> set[str]:
        finalizer.detach()
        try:
            fields = git.finish(process, args).split(b"\0")  # the first path of a commit begins with an end of line
        except git.GitFailed:  # a partial clone lacks the trees
            return set()
        return {git.decode_path(item.lstrip(b"\n")) for item in fields if item}

    finalizer = weakref.finalize(wait, git.end, process)  # ends Git if the caller never calls the function
    return wait


def last_version(repository: Repository, path: str, beside: str = "") -> tuple[str, str] | None:
    """Return the newest commit that wrote the file at a path, and the file's blob id in it; None if no commit did.

    The histories of HEAD and of the commit `beside` ("" for none) are searched. If a merge took the file unchanged from
    one side, commits of the other side count only if no other commit wrote the file.
    """
    tips = _tips(repository, "HEAD", beside)
    if not tips:
        return None
    args = [*git.LOG, "--format=%H", "--max-count=1", "--diff-filter=AMT", "--no-renames", "-s"]
    for more in ([], ["--full-history"]):
        command = [*args, _MERGE_DIFF, *more, *tips, "--", path]
        if commit := git.read(command, repository.top).decode().strip():
            entries = list(trees.parse(git.read(["ls-tree", "-z", "--full-tree", commit, "--", path], repository.top)))
            return (commit, entries[0].blob) if entries else None
    return None


def blobs_since(repository: Repository, path: str, base: str, limit: int) -> list[tuple[int, str]]:
    """Return the latest versions of a file, newest first: pairs of author time (Unix seconds) and blob id.

    The blob id is "" where the file was deleted. The versions are those in the histories of HEAD and of all branches,
    but not in the history of the commit `base`; if `base` is "" or no longer exists, nothing is left out. Git reads at
    most `limit` commits.
    """
    if not repository.has_head():
        return []
    args = [*git.LOG, "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%x1e%at", "-m"]
    args += ["--full-history", f"--max-count={limit}", "HEAD", "--branches"]
    try:
        out = git.read([*args, *([f"^{base}"] if base else []), "--", path], repository.top)
    except git.GitFailed:
        out = git.read([*args, "--", path], repository.top)
    blobs, moment = [], 0
    for item in out.split(b"\0"):
        if item.startswith(b"\x1e"):
            moment = int(item[1:])
        elif item.lstrip(b"\n").startswith(b":"):  # `:100644 100644 OLD NEW M`, then the path
            blob = item.split()[3].decode()
            blobs.append((moment, blob if int(blob, 16) else ""))
    return blobs


class FileCommit(msgspec.Struct, frozen=True):
    """A commit that touched a file, with its whole message and the path that the file has in that commit.

    `is_root` says whether it is the first of a history, such as an import of all files.
    """

    commit: str
    author: str
    date: str  # canonical UTC
    message: str
    path: str
    is_root: bool


def file_commits(repository: Repository, path: str, revision: str, limit: int | None = None) -> list[FileCommit]:
    """Return the commits that touched a file, newest first.

    Renames are followed as far as this clone has the contents.
    """
    most = [] if limit is None else [f"--max-count={limit}"]
    try:
        return _file_commits(repository, [*_LOG, "--follow", *most, revision, "--", path])
    except git.GitFailed:
        if not repository.is_partial:
            raise
        return _file_commits(repository, [*_LOG, "--no-renames", *most, revision, "--", path])


def file_commit(repository: Repository, commit: str, path: str) -> FileCommit:
    """Return the author, time and message of a commit, together with `path`, the path that a file has in it."""
    return msgspec.structs.replace(_file_commits(repository, [*_LOG, "--no-walk", commit])[0], path=path)


def _file_commits(repository: Repository, args: Sequence[str]) -> list[FileCommit]:
    result = []
    out = git.read(args, repository.top, extra=git.OFFLINE).decode(errors="backslashreplace")
    for part in re.split(_START, out):
        if part:
            name, parents, seconds, author, body, names = part.split("\0", 5)
            path = names.strip("\0\n").partition("\0")[0]
            date = timestamps.from_epoch(int(seconds))
            result.append(FileCommit(name, author, date, body.strip("\n"), path, not parents))
    return result


class LastState(msgspec.Struct, frozen=True):
    """Where a path's last version is found, even if the file is deleted now.

    `revision` names a commit that has the file, such as "3f3e4b9^", and `blob` is the file's blob id there.
    `removed_by` is the commit that deleted the file, "" if no commit did. `is_file` is False for a submodule.
    """

    revision: str
    blob: str
    removed_by: str
    is_file: bool = True


def last_state(repository: Repository, path: str, revision: str) -> LastState | None:
    """Return where the last version of a path is, in the history of a revision; None if the path was never in it."""
    args = [*git.LOG, "--max-count=1", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%H", _MERGE_DIFF]
    # The latest commit that changed the path. For a folder Git lists the files in it, so names are compared.
    out = git.read([*args, "--diff-filter=AMTD", revision, "--", path], repository.top)
    commit, *raw = out.split(b"\0")
    for meta, name in zip(raw[::2], raw[1::2], strict=False):
        if git.decode_path(name) == path:
            mode, mode_now, before, after, status = meta.decode().split()
            made = commit.decode().strip()
            if status == "D":
                return LastState(f"{made}^", before, made, not mode.endswith(trees.SUBMODULE))
            return LastState(made, after, "", mode_now != trees.SUBMODULE)
    return None


def is_ancestor(repository: Repository, commit: str, other: str) -> bool:
    """Return whether `commit` is in the history of `other`; False if this clone lacks one of the two."""
    return git.try_read(["merge-base", "--is-ancestor", commit, other], repository.top) is not None


def commit_before(repository: Repository, moment: str) -> str:
    """Return the id of HEAD's last commit made before or at a moment (canonical UTC); "" if there is none."""
    if not repository.has_head():
        return ""
    args = ["rev-list", "-1", f"--before=@{timestamps.to_epoch(moment)} +0000", "HEAD"]
    return git.read(args, repository.top).decode().strip()
