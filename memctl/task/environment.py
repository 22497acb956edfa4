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
from memctl.record.checkpoint import Checkpoint, Touched
from memctl.store.memory import Memory
from memctl.text.markdown import one_line

MOST_FILES, MOST_DIRTY = 50, 500  # files kept in a checkpoint; a resume shows 15 of those touched
_MOST_COMMITS = 500
_NAMED, _WIDTH = 5, 120


class Environment(msgspec.Struct, frozen=True):
    """The worktree as it is: the branch ("" if HEAD is detached), HEAD ("" before the first commit), what is dirty.

    The memory's own files don't count: memctl commits them by itself.
    """

    branch: str
    head: str
    dirty: tuple[Touched, ...]
    under_way: str  # a merge, a rebase, …


class EnvironmentDrift(msgspec.Struct, frozen=True):
    """One way in which the environment is another than it was: its `kind`, what it is, and the files or commits."""

    kind: str
    what: str
    items: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """It on one line, with some of the files or commits."""
        return f"{self.what}: {_named(self.items)}" if self.items else self.what


def look(memory: Memory) -> Environment:
    """The environment now."""
    branch, head = memory.repository.branch()
    changed = differences.changed_in_worktree(memory.repository)
    dirty = [Touched(one.path, one.status == differences.DELETED) for one in changed if not _is_ours(memory, one.path)]
    return Environment(branch.removeprefix("refs/heads/"), head, tuple(dirty), memory.repository.under_way())


def touched_since(
    memory: Memory, now: Environment, before: Checkpoint | None, known: Sequence[str] = ()
) -> tuple[Touched, ...]:
    """The files worked on since a checkpoint: those that somebody knows of, as far as they are there, those not
    committed, those of commits from the newest on, and then those that the checkpoint had."""
    gone = {one.path for one in now.dirty if one.deleted}
    paths = [path for path in known if _is_there(memory, path) and not (memory.repository.top / path).is_dir()]
    paths += [one.path for one in now.dirty]
    for commit in _commits(memory, before.head if before else "", now.head):
        paths += [path for path in commit.paths if not _is_ours(memory, path)]
    paths += [one.path for one in before.files_touched] if before else []
    first = list(dict.fromkeys(paths))[:MOST_FILES]
    return tuple(Touched(path, path in gone or not _is_there(memory, path)) for path in first)


def drift(memory: Memory, saved: Checkpoint, now: Environment) -> list[EnvironmentDrift]:
    """How the environment differs from what a checkpoint says of it."""
    missing = [one.path for one in saved.files_touched if not one.deleted and not _is_there(memory, one.path)]
    branches = f"it was on {saved.branch or 'no branch'}, and HEAD is on {now.branch or 'no branch'}"
    return [
        *([EnvironmentDrift("branch", branches)] if saved.branch != now.branch else []),
        *_of_head(memory, saved, now),
        *([EnvironmentDrift("missing_files", "gone since", tuple(missing))] if missing else []),
        *_of_dirt(saved, now),
        *([EnvironmentDrift("under_way", f"{now.under_way} is under way")] if now.under_way else []),
    ]


def _of_head(memory: Memory, saved: Checkpoint, now: Environment) -> Iterator[EnvironmentDrift]:
    if not saved.head or saved.head == now.head:
        return
    repository = memory.repository
    try:
        is_lost = bool(history.commits(repository, [], f"{now.head}..{saved.head}" if now.head else saved.head, 1))
        found = history.commits(repository, [], f"{saved.head}..{now.head}", _MOST_COMMITS) if now.head else []
    except GitFailed:  # mostly it does not, so that asking before would cost a process each time
        if _has(memory, saved.head):
            raise
        yield EnvironmentDrift("head", f"this clone does not have {saved.head[:10]}, which was HEAD: fetch it")
        return
    if is_lost:
        at = now.head[:10] or "no commit"
        yield EnvironmentDrift("head", f"{saved.head[:10]}, which was HEAD, is not in the history of HEAD ({at})")
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
    dirty = {one.path: f"{one.path}{' (deleted)' if one.deleted else ''}" for one in now.dirty}
    is_whole = len(saved.dirty_files) < MOST_DIRTY
    if is_whole and (fresh := [shown for path, shown in dirty.items() if path not in saved.dirty_files]):
        yield EnvironmentDrift("dirty", "not committed, and not so then", tuple(fresh))
    if same := [shown for path, shown in dirty.items() if path in saved.dirty_files]:
        yield EnvironmentDrift("still_dirty", "still not committed", tuple(same))
    if clean := [path for path in saved.dirty_files if path not in dirty]:
        yield EnvironmentDrift("clean", "was not committed then, and differs from HEAD no more", tuple(clean))


def _commits(memory: Memory, after: str, until: str) -> list[Commit]:
    """The commits after one up to another, newest first; without a known beginning the latest ones."""
    if not until:
        return []
    if after:
        try:
            memory.repository.resolve(after)
            return history.commits(memory.repository, [], f"{after}..{until}", _MOST_COMMITS)
        except MemctlError:
            pass  # another clone's, or pruned
    return history.commits(memory.repository, [], until, MOST_FILES)


def _is_ours(memory: Memory, path: str) -> bool:
    return path.startswith(f"{memory.prefix}/")


def _is_there(memory: Memory, path: str) -> bool:
    """Whether a path of a checkpoint, which is none that leads out, is in the worktree."""
    return any(os.path.lexists(os.path.join(os.fsencode(memory.repository.top), name)) for name in _names(path))


def _names(path: str) -> Iterator[bytes]:
    """The names that a path stands for: bytes that are no UTF-8 are written as `\\xe9`."""
    yield os.fsencode(path)
    if "\\x" in path:
        yield re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), os.fsencode(path))


def _named(items: Sequence[str]) -> str:
    """Some of many, each within a length, and how many more."""
    more = f" and {len(items) - _NAMED:,} more" if len(items) > _NAMED else ""
    return ", ".join(one if len(one) <= _WIDTH else f"{one[:_WIDTH]}…" for one in map(one_line, items[:_NAMED])) + more
