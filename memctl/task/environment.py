"""The environment of a task: branch, commit, uncommitted files; and how it has drifted since a checkpoint.

Resuming mostly fails because something has changed meanwhile (rules.md#checkpoints). Running services are not checked.
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
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity, some

MOST_DIRTY = 500  # files that differ from HEAD, in a checkpoint
_MOST_COMMITS = 500
_NAMED, _WIDTH = 5, 120  # items that a line of drift names, and characters of each
_ACTIONS = {
    differences.ADDED: CREATED,
    differences.CHANGED: MODIFIED,
    differences.DELETED: DELETED,
    differences.RENAMED: CREATED,
}


class EnvironmentDrift(msgspec.Struct, frozen=True):
    """One difference between the environment at a checkpoint and now, with the files or commits that it concerns."""

    kind: str
    what: str
    items: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The difference on one line, with the first few of the files or commits."""
        names = some([cut(one_line(item), _WIDTH) for item in self.items], _NAMED)
        return f"{self.what}: {names}" if names else self.what


def current(memory: Memory) -> Environment:
    """Return the environment as it is now; files of the memory are left out."""
    branch, head = memory.repository.branch()
    changed = differences.changed_in_worktree(memory.repository)
    dirty = [TouchedFile(one.path, _ACTIONS[one.status]) for one in changed if not _is_ours(memory, one.path)]
    return Environment(branch.removeprefix("refs/heads/"), head, tuple(dirty), memory.repository.under_way())


def touched_since(
    memory: Memory, now: Environment, before: Checkpoint | None, known: Sequence[TouchedFile] = ()
) -> tuple[TouchedFile, ...]:
    """Return the files that the work touched since the checkpoint `before`, as far as Git knows, the latest first.

    They are the files that differ from HEAD in the environment `now`, those in the user's own commits since the
    checkpoint, and last the files that were `known` before, with the action that was known of them. Files in other
    people's commits are left out.
    """
    found = list(now.dirty)
    if before is not None and before.environment.head not in ("", now.head):
        mine = memory.environ.get("GIT_AUTHOR_NAME") or memory.repository.settings().get("user.name")
        for commit in _commits(memory, before.environment.head, now.head):
            paths = [path for path in commit.paths if not _is_ours(memory, path)] if commit.author == mine else []
            found += [TouchedFile(path, MODIFIED if _is_there(memory, path) else DELETED) for path in paths]
    return newest_files(found, known)


def drift(memory: Memory, saved: Checkpoint, now: Environment) -> list[EnvironmentDrift]:
    """Return the differences between the environment saved in a checkpoint and the environment `now`.

    Differences are looked for in the branch, HEAD, missing files, uncommitted files, and a merge or rebase under way.
    """
    missing = [
        one.path
        for one in saved.files
        if one.action != DELETED and not is_outside(one.path) and not _is_there(memory, one.path)
    ]
    branches = f"the branch was {saved.environment.branch or 'none'} and is {now.branch or 'none'} now"
    return [
        *([EnvironmentDrift("branch", branches)] if saved.environment.branch != now.branch else []),
        *_of_head(memory, saved, now),
        *([EnvironmentDrift("missing_files", "missing since then", tuple(missing))] if missing else []),
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
        number = quantity(len(since), "commit") + (" or more" if len(found) >= _MOST_COMMITS else "")
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
        yield EnvironmentDrift("dirty", "uncommitted since then", tuple(fresh))
    if same := [shown for path, shown in dirty.items() if path in then]:
        yield EnvironmentDrift("still_dirty", "still uncommitted", tuple(same))
    if clean := [path for path in then if path not in dirty]:
        yield EnvironmentDrift("clean", "uncommitted then, and not now", tuple(clean))


def _commits(memory: Memory, after: str, until: str) -> list[Commit]:
    """Return the commits in `after..until`, newest first; [] if this clone does not have `after`."""
    try:
        return history.commits(memory.repository, [], f"{after}..{until}", _MOST_COMMITS) if until else []
    except GitFailed:
        return []  # another clone's, or pruned


def _is_ours(memory: Memory, path: str) -> bool:
    return path.startswith(f"{memory.prefix}/")


def _is_there(memory: Memory, path: str) -> bool:
    """Return whether a path below the worktree's top exists."""
    return any(os.path.lexists(os.path.join(os.fsencode(memory.repository.top), name)) for name in _names(path))


def _names(path: str) -> Iterator[bytes]:
    """Yield the file names that a path may stand for; bytes that are not UTF-8 are written as `\\xe9`."""
    yield os.fsencode(path)
    if "\\x" in path:
        yield re.sub(rb"\\x([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), os.fsencode(path))
