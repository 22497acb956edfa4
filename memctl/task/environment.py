"""The environment of a task (branch, commit, uncommitted files), and how it has changed since a checkpoint.

Resuming mostly fails because something has changed meanwhile (rules.md#checkpoints). Running services are not checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from memctl.git import differences, history
from memctl.git.git import GitFailed
from memctl.git.history import Commit
from memctl.record.checkpoint import Checkpoint, is_outside
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import Environment, TouchedFile
from memctl.store import event_stream
from memctl.store.memory import Memory
from memctl.task import events
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
    """One difference between the environment at a checkpoint and now.

    `kind` names the difference for programs, such as "branch" or "missing_files", and `what` says it in words. `items`
    are the files, commits or events that it concerns.
    """

    kind: str
    what: str
    items: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The difference in words on one line, with the first few of its `items`."""
        names = some([cut(one_line(item), _WIDTH) for item in self.items], _NAMED)
        return f"{self.what}: {names}" if names else self.what


def current(memory: Memory) -> Environment:
    """Return the environment of the task as it is now in this worktree; files of the memory are left out."""
    branch, head = memory.repository.branch()
    changed = differences.changed_in_worktree(memory.repository)
    dirty = [
        TouchedFile(file_change.path, _ACTIONS[file_change.status])
        for file_change in changed
        if not _is_ours(memory, file_change.path)
    ]
    return Environment(branch.removeprefix("refs/heads/"), head, tuple(dirty), memory.repository.under_way())


def touched_since(
    memory: Memory, now: Environment, before: Checkpoint | None, known: Sequence[TouchedFile] = ()
) -> tuple[TouchedFile, ...]:
    """Return the files that the work has touched since the checkpoint `before`, as far as Git knows, the latest first.

    First come the uncommitted files in `now`, then the files in the user's own commits since the checkpoint, and last
    the files in `known`, which were touched earlier. Files in other people's commits are left out.
    """
    dirty = list(now.dirty)
    if before is not None and before.environment.head not in ("", now.head):
        mine = memory.environ.get("GIT_AUTHOR_NAME") or memory.repository.settings().get("user.name")
        for commit in _commits(memory, before.environment.head, now.head) or ():
            paths = [path for path in commit.paths if not _is_ours(memory, path)] if commit.author == mine else []
            dirty += [TouchedFile(path, MODIFIED if _is_there(memory, path) else DELETED) for path in paths]
    return newest_files(dirty, known)


def drift(memory: Memory, snapshot: Snapshot, saved: Checkpoint) -> Iterator[EnvironmentDrift]:
    """Yield each difference between the environment at the checkpoint `saved` and the environment now.

    Compared are the branch, the commit and the files of the worktree. Events in this clone's event stream since the
    checkpoint are yielded as a difference, too. Uncommitted files that the snapshot's reader may not see are left out.
    """
    now, then = current(memory), saved.environment
    if then.branch != now.branch:
        yield EnvironmentDrift("branch", f"the branch was {then.branch or 'none'} and is {now.branch or 'none'} now")
    yield from _of_head(memory, then.head, now.head)
    paths = [file.path for file in saved.files if file.action != DELETED and not is_outside(file.path)]
    withheld = snapshot.withheld.reasons_for(file.path for file in now.dirty)
    open_now = [file for file in now.dirty if file.path not in withheld]
    dirty = {file.path: f"{file.path}{' (deleted)' if file.action == DELETED else ''}" for file in open_now}
    before = dict.fromkeys(file.path for file in then.dirty)
    is_whole = len(before) < MOST_DIRTY
    drifts = {
        ("missing_files", "missing since then"): [path for path in paths if not _is_there(memory, path)],
        ("dirty", "uncommitted since then"): [dirty[path] for path in dirty if is_whole and path not in before],
        ("still_dirty", "still uncommitted"): [dirty[path] for path in dirty if path in before],
        ("clean", "uncommitted then, but not now"): [path for path in before if path not in dirty],
    }
    yield from (EnvironmentDrift(kind, what, tuple(paths)) for (kind, what), paths in drifts.items() if paths)
    if now.under_way:
        yield EnvironmentDrift("under_way", f"{now.under_way} is under way")
    yield from _of_events(memory, saved)


def _of_head(memory: Memory, then: str, now: str) -> Iterator[EnvironmentDrift]:
    if not then or then == now:
        return
    lost, new = _commits(memory, now, then, 1), _commits(memory, then, now)
    if lost is None or new is None:
        yield EnvironmentDrift("head", f"HEAD was {then[:10]}, a commit that this clone does not have: fetch it")
        return
    if lost:
        at = now[:10] or "no commit"
        yield EnvironmentDrift("head", f"HEAD was {then[:10]}, which is not in the history of the present HEAD ({at})")
    if since := [commit for commit in new if any(not _is_ours(memory, path) for path in commit.paths)]:
        number = quantity(len(since), "commit") + (" or more" if len(new) >= _MOST_COMMITS else "")
        yield EnvironmentDrift(
            "commits", f"{number} since", tuple(f"{commit.commit[:10]} {commit.subject}" for commit in since)
        )


def _of_events(memory: Memory, saved: Checkpoint) -> Iterator[EnvironmentDrift]:
    """Yield what this clone's event stream has that the checkpoint does not, and whether the stream is whole.

    Why the stream is checked: rules.md#checkpoints.
    """
    stream = event_stream.read(memory)
    waiting = events.since_checkpoint(stream.events, saved.workflow_id)
    if since := events.lines([event for event in waiting if event.timestamp >= saved.saved_at]):
        yield EnvironmentDrift("events", f"{quantity(len(since), 'event')} since", since)
    numbers = [event.sequence for event in stream.events]
    if stream.broken or any(later != earlier + 1 for earlier, later in pairwise(numbers)):
        yield EnvironmentDrift(
            "event_stream", "some lines of the event stream (`memctl event list`) are unreadable or missing"
        )


def _commits(memory: Memory, after: str, until: str, most: int = _MOST_COMMITS) -> list[Commit] | None:
    """Return the commits in `after..until`, newest first, or None if this clone lacks one of the two ("" for none)."""
    try:
        revisions = f"{after}..{until}" if after else until
        return history.commits(memory.repository, [], revisions, most) if until else []
    except GitFailed:  # asking before would cost a process each time
        return None


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
