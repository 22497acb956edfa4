"""Line numbers of one version of a file mapped to those of a newer version, by the hunks of `git diff`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from memctl.git import blame, git
from memctl.git.repository import Repository

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# Lines that differ in white space alone count as the same line (-w). No program that a repository or its settings name
# is run for the comparison.
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "-w", "--diff-algorithm=histogram", "--text")
_NO_REFRESH = ("-c", "diff.autoRefreshIndex=false")  # or Git would rewrite the user's index


class Hunk(msgspec.Struct, frozen=True):
    """A range of lines in which two versions of a file differ: its first line and its number of lines in each version.

    If the range has no lines in a version, its first line there is the line behind the place where lines are missing.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int


class LineMap(msgspec.Struct, frozen=True):
    """Where the lines of an old version of a file are in a newer one; `hunks` are the ranges that differ."""

    hunks: tuple[Hunk, ...] = ()

    @property
    def growth(self) -> int:
        """How many more lines the newer version has than the old one; negative if it has fewer."""
        return sum(hunk.new_count - hunk.old_count for hunk in self.hunks)

    def now(self, line: int) -> int | None:
        """Return the number of the old version's line `line` in the newer version; None if deleted or changed."""
        offset = 0
        for hunk in self.hunks:
            if line < hunk.old_start:
                break
            if line < hunk.old_start + hunk.old_count:
                return None
            offset = hunk.new_start + hunk.new_count - hunk.old_start - hunk.old_count
        return line + offset

    def replacement(self, line: int) -> range:
        """Return the newer version's lines that replace the old version's line `line`, as a range of line numbers.

        It is empty if the line was deleted or is unchanged.
        """
        for hunk in self.hunks:
            if hunk.old_start <= line < hunk.old_start + hunk.old_count:
                return range(hunk.new_start, hunk.new_start + hunk.new_count)
        return range(0)

    def has_new_line(self, lines: tuple[int, int]) -> bool:
        """Return whether the newer version changed or added any line from number `lines[0]` to number `lines[1]`."""
        return any(
            hunk.new_count and hunk.new_start <= lines[1] and lines[0] < hunk.new_start + hunk.new_count
            for hunk in self.hunks
        )


def compare(repository: Repository, before: str, after: str) -> LineMap | None:
    """Return the map from the lines of the blob `before` to the lines of a newer version, `after`.

    `before` is a blob id. `after` is a blob id, too, or the path of a file in the worktree, which begins with `./`.
    Returns None if a partial clone lacks one of the blobs; nothing is fetched.
    """
    out = git.try_read([*_NO_REFRESH, *_DIFF, before, after], repository.top, git.OFFLINE)
    return None if out is None else LineMap(tuple(_hunks(out.split(b"\n"))))


def compare_commits(repository: Repository, before: str, after: str) -> dict[str, LineMap]:
    """Return by their present paths the maps from the lines of `before` to those of `after`, for files that differ.

    A renamed file with the same lines has an empty map. Binary files and deleted ones are left out.
    """
    args = [*_NO_REFRESH, "-c", "core.quotePath=false", *_DIFF, "-M", "--src-prefix=a/", "--dst-prefix=b/"]
    args = [argument for argument in args if argument != "--text"]
    maps: dict[str, LineMap] = {}
    path, rest = "", 0
    for line in git.read([*args, before, after, "--"], repository.top).split(b"\n"):
        if rest and line[:1] in b"+-":  # text, which may look like a header
            rest -= 1
        elif line.startswith((b"+++ b/", b'+++ "b/', b"rename to ")):
            name = line[len(b"rename to ") if line.startswith(b"r") else len(b"+++ ") :].rstrip(b"\t")
            path = blame.unquote(name) if line.startswith(b"r") else blame.unquote(name).removeprefix("b/")
            maps.setdefault(path, LineMap())
        elif found := list(_hunks([line])):
            rest = found[0].old_count + found[0].new_count
            maps[path] = LineMap((*maps[path].hunks, *found)) if path else LineMap()
        elif line.startswith(b"diff --git "):
            path = ""
    maps.pop("", None)
    return maps


def _hunks(lines: Iterable[bytes]) -> Iterable[Hunk]:
    for line in lines:
        if match := _HUNK.match(line):
            old_start, old_count, new_start, new_count = (1 if n is None else int(n) for n in match.groups())
            # Where a version has no lines, Git names the line above.
            yield Hunk(old_start + (not old_count), old_count, new_start + (not new_count), new_count)
