"""Writing pages of sessions and checkpoints to their ref (`store.sessions_ref`) if they don't belong on the branch."""

from __future__ import annotations

import os

import msgspec

from memctl.errors import MemctlError
from memctl.git import edited_hooks, hook_commits, refs, tree_merge
from memctl.git.tree_merge import Leaf
from memctl.record.change import Change, Write
from memctl.store import commit_message, sessions_ref
from memctl.store.memory import Memory
from memctl.store.sessions_ref import FOLDERS, REF

_TRIES = 5  # tries to move the ref; only programs other than memctl interfere, since memctl holds the lock


def split(memory: Memory, change: Change, *, keeps: bool = False) -> tuple[Change, Change]:
    """Split a change into the part for the branch and the part for the ref of sessions, and return both.

    A file that exists stays on the branch or ref that has it. A new page or checkpoint goes where the setting
    memctl.hookCommits says; with `keeps` it goes to the branch. A file that is in both places is deleted in both.
    Raises UnknownValue if the setting has an invalid value.
    """
    paths = [path for path in change.paths if path.startswith(FOLDERS)]
    tip = sessions_ref.head(memory)
    items = memory.repository.objects.read([f"{tip}:{memory.tracked(path)}" for path in paths]) if tip else []
    on_ref = {path for path, item in zip(paths, items, strict=bool(tip)) if item is not None}
    is_new_there = not keeps and hook_commits.mode(memory.repository) == hook_commits.RECORDS

    def goes_there(write: Write) -> bool:
        if write.path not in paths or os.path.lexists(memory.folder / write.path):
            return False
        return write.path in on_ref or is_new_there

    beside = tuple(write for write in change.writes if goes_there(write))
    here = tuple(write for write in change.writes if write not in beside)
    deletes = [
        delete for delete in change.deletes if delete.path not in on_ref or os.path.lexists(memory.folder / delete.path)
    ]
    gone = tuple(delete for delete in change.deletes if delete.path in on_ref)
    return (
        msgspec.structs.replace(change, writes=here, deletes=tuple(deletes)),
        msgspec.structs.replace(change, writes=beside, deletes=gone),
    )


def commit(memory: Memory, change: Change) -> str:
    """Commit the files of a change on the sessions' ref, and return the commit's id. The caller holds the lock.

    Raises MemctlError if the ref can't be moved, and EditedHook if an agent would run a Git hook that somebody edited.
    """
    repository = memory.repository
    if memory.by_agent:
        edited_hooks.refuse_move(repository, REF)
    leaves: dict[str, Leaf | None] = {memory.tracked(delete.path): None for delete in change.deletes}
    leaves |= tree_merge.store_files(repository, {memory.tracked(write.path): write.text for write in change.writes})
    for _ in range(_TRIES):
        parent = sessions_ref.head(memory)
        tree = tree_merge.edit_tree(repository, tree_merge.tree_at(repository, parent) if parent else "", leaves)
        text = commit_message.compose([change])
        made = refs.commit_tree(repository, tree, [parent] if parent else [], text, memory.commit_moment)
        if refs.swap(repository, REF, made, parent):
            return made
    raise MemctlError(f"{REF} is being changed by other processes all the time", "run the command again")
