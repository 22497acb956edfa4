"""Read the history of a memory in Python programs: commits as GitPython's objects, with what memctl's trailers say.

For example, this prints all commits of a record:

    import git
    from memctl import history

    for entry in history.entries(git.Repo("."), "DEC-2025-11-04-001"):
        print(entry.commit.hexsha, entry.operations, entry.reason)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memctl.errors import MemctlError
from memctl.git.history import commits
from memctl.record.snapshot import Snapshot
from memctl.store import load, sessions_ref
from memctl.store.memory import Memory, open_memory
from memctl.write import id_collisions, remove

if TYPE_CHECKING:
    import git

_SHA256 = 64  # hexadecimal digits of an object's id


class Entry(NamedTuple):
    """A commit that changed the memory, with what the trailers at the end of its message say.

    If a trailer is missing, its value is "" or ().
    """

    commit: git.Commit
    operations: tuple[str, ...]  # such as ("decide",); several if one commit holds several changes
    record_ids: tuple[str, ...]
    actor: str  # the agent or person at work; `commit.author` is Git's author
    session: str
    reason: str


def entries(repo: git.Repo, record_id: str = "", revision: str = "HEAD", limit: int | None = None) -> list[Entry]:
    """Return the commits that changed a record, or if `record_id` is "" any part of the memory, newest first.

    `record_id` is an id or a unique beginning of one; the record may be deleted. The result has commits
    up to `revision` (included), at most `limit` of them, None for all. If `record_id` is "", the result also has the
    commits of session pages and checkpoints, which are on a ref of their own (refs/memctl/sessions).

    Raises MemctlError if there is no such record, if the worktree of `repo` has no memory, or if it is a SHA-256
    repository, whose commits GitPython (3.1) can't read; `memctl log --json` can.
    """
    if not repo.working_tree_dir:
        raise MemctlError(f"{repo.git_dir} is a bare repository: there is no memory in it", "open a clone of it")
    memory = open_memory(Path(repo.working_tree_dir), os.environ)
    start = memory.repository.resolve(revision)
    if len(start) == _SHA256:
        raise MemctlError("GitPython can't read the commits of a SHA-256 repository", "use `memctl log --json`")
    paths = record_paths(memory, load.disk(memory), record_id) if record_id else [memory.prefix]
    beside = ""  # all commits of a record are on the branch
    if not record_id:
        beside = sessions_ref.head(memory) if revision == "HEAD" else sessions_ref.as_of(memory, start)
    return [
        Entry(repo.commit(commit.commit), trailers.ops, trailers.ids, trailers.actor, trailers.session, trailers.reason)
        for commit in commits(memory.repository, paths, start, limit, beside=beside)
        for trailers in [commit.trailers]
    ]


def record_paths(memory: Memory, snapshot: Snapshot, record_id: str) -> list[str]:
    """Return all paths that a record's file has had, relative to the worktree's top.

    The first is its present path, or if the record is deleted, its last one. The others are from the time before the
    record was renumbered, which gave it another id. `record_id` is an id or a unique beginning of one.
    """
    path = remove.path_of(memory, snapshot, record_id)
    return [memory.tracked(path), *map(memory.tracked, id_collisions.former_paths(snapshot, path))]
