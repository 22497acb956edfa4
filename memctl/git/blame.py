"""The commit from which a line of a file comes, by `git blame`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import git
from memctl.git.repository import Repository

_HEAD = re.compile(rb"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")


class LineOrigin(msgspec.Struct, frozen=True):
    """The commit that wrote a line of a file, and the file's path and the line's number (from 1) in that commit.

    `commit` is "" if the line is not committed. `is_unknown` is True if the commit can't be found, since a partial
    clone lacks old versions of the file.
    """

    commit: str
    path: str
    line: int
    is_unknown: bool = False


def origin(repository: Repository, path: str, line: int, revision: str = "") -> LineOrigin:
    """Return the commit that wrote one line of a file, with the line's place in that commit.

    `line` is a number from 1 in the worktree's file, or in the file at `revision` if that is not "". The line is
    followed through renames of the file, and to the place that it was moved or copied from. In a partial clone nothing
    is fetched from the remote. Raises MemctlError if the file has no such line.
    """
    args = ["blame", "--porcelain", "-M", "-C", f"-L{line},{line}", *([revision] if revision else []), "--", path]
    try:
        head, *rest = git.read(args, repository.top, extra=git.OFFLINE).split(b"\n")
    except git.GitFailed as error:
        if "has only" in error.stderr:
            raise MemctlError(
                f"the file {path} has no line {line}", "give the number of a line that the file has", USAGE
            ) from None
        if repository.is_partial:
            return LineOrigin("", path, line, is_unknown=True)
        if "no such path" in error.stderr or "no such ref" in error.stderr:  # untracked, or there is no commit at all
            return LineOrigin("", path, line)
        raise
    commit, number, *_ = head.decode().split()
    if not commit.strip("0"):
        return LineOrigin("", path, line)
    name = next(item.removeprefix(b"filename ") for item in rest if item.startswith(b"filename "))
    return LineOrigin(commit, unquote(name), int(number))


def line_writers(repository: Repository, path: str, lines: Iterable[int], revision: str = "") -> dict[int, str]:
    """Return the commit that wrote each line in `lines`, by line number; uncommitted lines are left out.

    The numbers count from 1 in the worktree's file, or in the file at `revision` if that is not "". During a merge the
    commits of both sides are searched.
    """
    wanted = [f"-L{line},{line}" for line in sorted(set(lines))]
    # blame.ignoreRevs is for people who read blames; here every commit counts.
    args = ["-c", "blame.ignoreRevsFile=", "blame", "--porcelain", "-s", *wanted]
    # Git fails if no commit has the file, or if the file has other line ends than memctl reads.
    out = git.try_read([*args, *([revision] if revision else []), "--", path], repository.top) or b""
    heads = (_HEAD.fullmatch(line) for line in out.split(b"\n"))
    commits = {int(head[2]): head[1].decode() for head in heads if head}
    return {line: commit for line, commit in commits.items() if commit.strip("0")}


def unquote(name: bytes) -> str:
    """Return a path as Git prints it for people: unusual ones are in quotes, with escapes as in C."""
    if name.startswith(b'"'):
        name = name[1:-1].decode("unicode_escape").encode("latin-1")
    return git.decode_path(name)
