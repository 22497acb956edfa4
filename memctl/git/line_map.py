"""Where the lines of one version of a file are in another, by the hunks of `git diff`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from memctl.git import git
from memctl.git.repository import Repository

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
# What stands apart from its neighbours by white space alone is the same line. Nothing that a repository or its settings
# name is run for the comparison.
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "-w", "--diff-algorithm=histogram", "--text")
_QUIET = ("-c", "diff.autoRefreshIndex=false")  # or Git would rewrite the user's index


class Hunk(msgspec.Struct, frozen=True):
    """A stretch of lines in which two versions of a file differ.

    `before` is its first line in the old version and `lost` its number of lines there; `now` and `new` are the same for
    the new version. If a stretch has no lines in a version, its first line there is the one that follows the stretch.
    """

    before: int
    lost: int
    now: int
    new: int


class LineMap(msgspec.Struct, frozen=True):
    """The positions of an old version's lines in a newer version."""

    hunks: tuple[Hunk, ...] = ()

    @property
    def growth(self) -> int:
        """How many more lines the newer version has than the old one; negative if it has fewer."""
        return sum(hunk.new - hunk.lost for hunk in self.hunks)

    def now(self, line: int) -> int | None:
        """Return the number of a line in the newer version; None if it was deleted or changed."""
        moved = 0
        for hunk in self.hunks:
            if line < hunk.before:
                break
            if line < hunk.before + hunk.lost:
                return None
            moved = hunk.now + hunk.new - hunk.before - hunk.lost
        return line + moved

    def replaced(self, line: int) -> range:
        """Return the newer version's lines in place of a deleted or changed line; empty for a deleted one."""
        for hunk in self.hunks:
            if hunk.before <= line < hunk.before + hunk.lost:
                return range(hunk.now, hunk.now + hunk.new)
        return range(0)

    def is_first_with(self, lines: tuple[int, int]) -> bool:
        """Return whether the newer version has a line that the old one lacks, among its lines `lines`.

        `lines` are the first and the last line number of the stretch to look at.
        """
        return any(hunk.new and hunk.now <= lines[1] and lines[0] < hunk.now + hunk.new for hunk in self.hunks)


def compare(repository: Repository, before: str, after: str) -> LineMap | None:
    """Return the map from the lines of blob `before` to those of `after`: a blob id, or a worktree file's path.

    The path begins with `./`, which no blob id does. Returns None if a partial clone lacks one of both; nothing is
    fetched.
    """
    try:
        out = git.read([*_QUIET, *_DIFF, before, after], repository.top, extra=git.OFFLINE)
    except git.GitFailed:
        return None
    return LineMap(tuple(_hunks(out.split(b"\n"))))


def _hunks(lines: Iterable[bytes]) -> Iterable[Hunk]:
    for line in lines:
        if match := _HUNK.match(line):
            before, lost, now, new = (1 if number is None else int(number) for number in match.groups())
            yield Hunk(before + (not lost), lost, now + (not new), new)  # of no lines Git names the one above
