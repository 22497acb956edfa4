"""When files were last changed, as far as it is of interest: the last week, and the last five operations."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from memctl.git import differences, history
from memctl.git.repository import Repository
from memctl.pages import repository_paths
from memctl.store.place import FOLDER
from memctl.text import timestamps

OPERATIONS = 5  # of which changes give points; rules.md#files-for-a-task
DAYS = 7  # after which there are no points for recency
LOOKED_AT = 200  # operations that are counted for a task: of older ones hardly any points would be left
_COMMITS = 1_000  # that are looked at, at most


class Recent(msgspec.Struct, frozen=True):
    """The moments of last change by path (canonical UTC), of the last week; the files of the last five operations; how
    many operations ago each was changed, 0 if that is in no commit yet.

    An operation is a commit of anything but the memory; what is not committed yet is the latest of them.
    """

    moments: dict[str, str]
    operations: frozenset[str]
    ago: dict[str, int]


def recent(repository: Repository, dirty: Collection[str], now: str, looked_at: int = OPERATIONS) -> Recent:
    """Return what was changed of late: of what is `dirty` the file says when, of the rest the commits of HEAD.

    Looked at are the commits of the last week, and at least so many operations.
    """
    since = timestamps.days_before(now, DAYS)
    found = {path: moment for path in dirty if (moment := _modified(repository.top / path))}
    ago = dict.fromkeys(dirty, 0)
    operations = 0
    for commit in history.latest(repository, _COMMITS):
        paths = _own(commit.paths)
        if operations >= looked_at and commit.date < since:
            break
        operations += bool(paths)
        for path in paths:
            ago.setdefault(path, operations)
        for path in paths if commit.date >= since else ():
            found.setdefault(path, commit.date)
    return Recent(found, frozenset(path for path, number in ago.items() if number <= OPERATIONS), ago)


def last_files(repository: Repository, number: int = OPERATIONS, globs: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the files that were changed last, each with when and by what: those in no commit yet, then by commits of
    HEAD.

    With globs only the files that they cover. Files of one commit are in the order in which they were written to disk.
    """

    def wanted(paths: Iterable[str]) -> list[str]:
        own = _own(paths)
        covered = repository_paths.matching(own, globs) if globs else sorted(own)
        return sorted(covered, key=lambda path: _modified(repository.top / path), reverse=True)

    dirty = wanted(change.path for change in differences.changed_in_worktree(repository))
    found = dict.fromkeys(dirty, "in no commit yet")
    for commit in history.latest(repository, _COMMITS):
        if len(found) >= number:
            break
        for path in wanted(commit.paths):
            found.setdefault(path, f"{commit.date}, {commit.subject}")
    return list(found.items())[:number]


def _modified(file: Path) -> str:
    try:
        return timestamps.from_epoch(os.lstat(file).st_mtime)
    except OSError:
        return ""


def _own(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not path.startswith(f"{FOLDER}/") and f"/{FOLDER}/" not in path]
