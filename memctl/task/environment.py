"""Where work is done: branch, commit, files not committed; and how that has drifted since a checkpoint.

Resuming fails mostly because something has changed meanwhile (rules.md#checkpoints). Whether services run is not looked
at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.git import differences, history
from memctl.git.git import GitFailed
from memctl.git.history import Commit
from memctl.record.checkpoint import Checkpoint, is_outside
from memctl.record.task_state import Environment, TouchedFile
from memctl.store.memory import Memory
from memctl.task.progress import newest_files
from memctl.text.actions import CREATED, DELETED, MODIFIED
from memctl.text.markdown import one_line

MOST_DIRTY = 500  # files that differ from HEAD, in a checkpoint
_MOST_COMMITS = 500
_NAMED, _WIDTH = 5, 120
_ACTIONS = {
    differences.ADDED: CREATED,
    differences.CHANGED: MODIFIED,
    differences.DELETED: DELETED,
    differences.RENAMED: CREATED,
}


class EnvironmentDrift(msgspec.Struct, frozen=True):
    """One way in which the environment is another than it was: its `kind`, what it is, and the files or commits."""

    kind: str
    what: str
    items: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """It on one line, with some of the files or commits."""
        return f"{self.what}: {_named(self.items)}" if self.items else self.what


def current(memory: Memory) -> Environment:
    """Return the environment now; the memory's own files don't count."""
    branch, head = memory.repository.branch()
    changed = differences.changed_in_worktree(memory.repository)
    dirty = [TouchedFile(one.path, _ACTIONS[one.status]) for one in changed if not _is_ours(memory, one.path)]
    return Environment(branch.removeprefix("refs/heads/"), head, tuple(dirty), memory.repository.under_way())


def touched_since(
    memory: Memory, now: Environment, before: Checkpoint | None, known: Sequence[TouchedFile] = ()
) -> tuple[TouchedFile, ...]:
    """Return the files that the work touched since a checkpoint, as far as Git knows: those that differ from HEAD,
    those of the user's own commits, and then those that are known already. What others committed is none of it."""
    found = list(now.dirty)
    if before is not None and before.environment.head not in ("", now.head):
        mine = memory.environ.get("GIT_AUTHOR_NAME") or memory.repository.settings().get("user.name")
        for commit in _commits(memory, before.environment.head, now.head):
            paths = [path for path in commit.paths if not _is_ours(memory, path)] if commit.author == mine else []
            found += [TouchedFile(path, MODIFIED if _is_there(memory, path) else DELETED) for path in paths]
    return newest_files(found, known)


def drift(memory: Memory, saved: Checkpoint, now: Environment) -> list[EnvironmentDrift]:
    """Return how the environment differs from what a checkpoint says of it."""
    missing = [
        one.path
        for one in saved.files
        if one.action != DELETED and not is_outside(one.path) and not _is_there(memory, one.path)
    ]
    branches = f"it was on {saved.environment.branch or 'no branch'}, and HEAD is on {now.branch or 'no branch'}"
    return [
        *([EnvironmentDrift("branch", branches)] if saved.environment.branch != now.branch else []),
        *_of_head(memory, saved, now),
        *([EnvironmentDrift("missing_files", "gone since", tuple(missing))] if missing else []),
        *_of_dirt(saved, now),
        *([EnvironmentDrift("under_way", f"{now.under_way} is under way")] if now.under_way else []),
    ]


def _of_head(memory: Memory, saved: Checkpoint, now: Environment) -> Iterator[EnvironmentDrift]:
    then = saved.environment.head
    if not then or then == now.head:
        return
    repository = memory.repository
    try:
        is_lost = bool(history.commits(repository, [], f"{now.head}..{then}" if now.head else then, 1))
        found = history.commits(repository, [], f"{then}..{now.head}", _MOST_COMMITS) if now.head else []
    except GitFailed:  # mostly it does not, so that asking before would cost a process each time
        if _has(memory, then):
            raise
        yield EnvironmentDrift("head", f"this clone does not have {then[:10]}, which was HEAD: fetch it")
        return
    if is_lost:
        at = now.head[:10] or "no commit"
        yield EnvironmentDrift("head", f"{then[:10]}, which was HEAD, is not in the history of HEAD ({at})")
    since = [one for one in found if any(not _is_ours(memory, path) for path in one.paths)]
    if since:
        number = f"{len(since)} commit{'s' if len(since) > 1 else ''}"
        number += " or more" if len(found) >= _MOST_COMMITS else ""
        yield EnvironmentDrift("commits", f"{number} since", tuple(f"{one.commit[:10]} {one.subject}" for one in since))


def _has(memory: Memory, commit: str) -> bool:
    try:
        return bool(memory.repository.resolve(commit))
    except MemctlError:
        return False


def _of_dirt(saved: Checkpoint, now: Environment) -> Iterator[EnvironmentDrift]:
    dirty = {one.path: f"{one.path}{' (deleted)' if one.action == DELETED else ''}" for one in now.dirty}
    then = {one.path for one in saved.environment.dirty}
    is_whole = len(then) < MOST_DIRTY
    if is_whole and (fresh := [shown for path, shown in dirty.items() if path not in then]):
        yield EnvironmentDrift("dirty", "not committed, and not so then", tuple(fresh))
    if same := [shown for path, shown in dirty.items() if path in then]:
        yield EnvironmentDrift("still_dirty", "still not committed", tuple(same))
    if clean := [path for path in then if path not in dirty]:
        yield EnvironmentDrift("clean", "was not committed then, and differs from HEAD no more", tuple(clean))


def _commits(memory: Memory, after: str, until: str) -> list[Commit]:
    """Return the commits after one up to another, newest first; none if this clone does not have the first."""
    try:
        return history.commits(memory.repository, [], f"{after}..{until}", _MOST_COMMITS) if until else []
    except GitFailed:
        return []  # another clone's, or pruned


def _is_ours(memory: Memory, path: str) -> bool:
    return path.startswith(f"{memory.prefix}/")


def _is_there(memory: Memory, path: str) -> bool:
    """Return whether a path of a checkpoint, which is none that leads out, is in the worktree."""
    return any(os.path.lexists(os.path.join(os.fsencode(memory.repository.top), name)) for name in _names(path))


def _names(path: str) -> Iterator[bytes]:
    """The names that a path stands for: bytes that are no UTF-8 are written as `\\xe9`."""
    yield os.fsencode(path)
    if "\\x" in path:
        yield re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), os.fsencode(path))


def _named(items: Sequence[str]) -> str:
    """Return some of many, each within a length, and how many more."""
    more = f" and {len(items) - _NAMED:,} more" if len(items) > _NAMED else ""
    return ", ".join(one if len(one) <= _WIDTH else f"{one[:_WIDTH]}…" for one in map(one_line, items[:_NAMED])) + more
