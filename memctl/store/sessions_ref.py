"""Session pages and checkpoints on the ref refs/memctl/sessions: on no branch, in no worktree or index.

All memories of a clone share the ref. Its commits are a separate history with the usual messages and trailers; their
trees have the files at the paths that they would have in the worktree. Readers look in both places; a file in the
worktree takes precedence.
"""

from __future__ import annotations

import os

from memctl.git import git
from memctl.record.kinds import CHECKPOINTS, SESSIONS
from memctl.store.memory import Memory

REF = "refs/memctl/sessions"
FOLDERS = (f"{SESSIONS}/", f"{CHECKPOINTS}/")


def remote_ref(remote: str) -> str:
    """Return the name of the local ref to which a remote's refs/memctl/sessions is fetched."""
    return REF.replace("refs/memctl/", f"refs/memctl/remotes/{remote}/", 1)


def head(memory: Memory) -> str:
    """Return the id of the commit of refs/memctl/sessions, "" if there is no such ref. Git is not started."""
    return memory.repository.tip(REF)


def as_of(memory: Memory, revision: str) -> str:
    """Return the newest commit of refs/memctl/sessions that was there when the commit `revision` was made.

    The commits' dates are compared. Returns "" if there is no such commit, or no such ref.
    """
    tip = head(memory)
    if not tip:
        return ""
    commit = memory.repository.resolve(revision)
    moment = git.read([*git.LOG, "-1", "--format=%ct", commit], memory.repository.top)
    args = ["rev-list", "--max-count=1", f"--min-age={moment.decode().strip()}", tip]
    return git.read(args, memory.repository.top).decode().strip()


def has(memory: Memory, path: str) -> bool:
    """Return whether a path below `.memory/` is a file in the worktree or on refs/memctl/sessions."""
    if os.path.lexists(memory.folder / path):
        return True
    tip = head(memory)
    return bool(tip) and memory.repository.objects.read([f"{tip}:{memory.tracked(path)}"])[0] is not None
