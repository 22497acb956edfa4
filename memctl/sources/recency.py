"""Find the files that were changed within the last week, or by the last commits of code.

Commits that only change the memory don't count.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from memctl.git import differences, history
from memctl.git.repository import Repository
from memctl.pages import repository_paths
from memctl.store.memory_root import FOLDER
from memctl.text import timestamps

OPERATIONS = 5  # the latest operations, whose changes give points; rules.md#files-for-a-task
DAYS = 7  # after which a change gives no points for recency
LOOKED_AT = 200  # operations that are read for a task; older ones would give hardly any points
LARGE = 10_000  # files, from which on Git takes long to name those of the first commit
_COMMITS = 1_000  # that are read at most


class RecentChanges(msgspec.Struct, frozen=True):
    """The recently changed files. Commits that only change the memory don't count.

    - `moments` maps each file that was changed within the last week to the canonical time of its last change.
    - `ago` maps each file to the commit that changed it last: 1 for the newest commit, 0 for an uncommitted change.
    - `first` is counted in the same way: it is the commit that changed all files that are not in `ago`, None if that
      was long ago.
    """

    moments: dict[str, str]
    ago: dict[str, int]
    first: int | None = None

    def ago_of(self, path: str) -> int | None:
        """Return how many commits ago a file was changed last, None if that was long ago."""
        return self.ago.get(path, self.first)


def recent_changes(
    repository: Repository, dirty: Collection[str], now: str, looked_at: int = OPERATIONS, *, is_large: bool = False
) -> RecentChanges:
    """Return the recently changed files, from the commits of HEAD and from the uncommitted changes.

    `dirty` are the files with uncommitted changes; their time is that on the disk. `now` is the current time in
    canonical form. The commits of the last week are read, and at least the last `looked_at` commits that change more
    than the memory, but never more than 1,000 commits. If the repository `is_large`, its first commit is taken to have
    changed all files.
    """
    since = timestamps.days_before(now, DAYS)
    moments = {path: moment for path in dirty if (moment := _modified(repository.top / path))}
    ago = dict.fromkeys(dirty, 0)
    operations = 0
    commit = None
    for commit in history.latest(repository, _COMMITS, with_first=not is_large):
        paths = _own(commit.paths)
        if operations >= looked_at and commit.date < since:
            return RecentChanges(moments, ago)
        operations += bool(paths)
        for path in paths:
            ago.setdefault(path, operations)
        for path in paths if commit.date >= since else ():
            moments.setdefault(path, commit.date)
    is_first = is_large and commit is not None and not commit.paths and not repository.shallow()
    return RecentChanges(moments, ago, operations + 1 if is_first else None)


def last_files(repository: Repository, number: int = OPERATIONS, globs: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the `number` files that were changed last, as pairs of a path and a text that says when.

    The text has the time and subject of the commit, such as "2025-11-04T09:00:00Z, Add login". Files with uncommitted
    changes come first, with "in no commit yet". The files of one commit are in the order of their times on the disk,
    the newest first. `globs` limit the files; () stands for all files.
    """

    def newest_first(paths: Iterable[str]) -> list[str]:
        own = _own(paths)
        covered = repository_paths.matching(own, globs) if globs else sorted(own)
        return sorted(covered, key=lambda path: _modified(repository.top / path), reverse=True)

    dirty = newest_first(change.path for change in differences.changed_in_worktree(repository))
    changes = dict.fromkeys(dirty, "in no commit yet")
    for commit in history.latest(repository, _COMMITS):
        if len(changes) >= number:
            break
        for path in newest_first(commit.paths):
            changes.setdefault(path, f"{commit.date}, {commit.subject}")
    return list(changes.items())[:number]


def _modified(file: Path) -> str:
    try:
        return timestamps.from_epoch(os.lstat(file).st_mtime)
    except OSError:
        return ""


def _own(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not path.startswith(f"{FOLDER}/") and f"/{FOLDER}/" not in path]
