"""The commits of a batch, and how the worktree's files are kept equal to those of the batch.

`store.batches` says what a batch is. Callers of these functions hold the lock for writes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from memctl.errors import MemctlError
from memctl.git import commits, differences, git, index, refs, tree_merge, trees
from memctl.git.commits import AllPending, Preparation
from memctl.git.repository import Repository
from memctl.record.change import Write
from memctl.store import batches, commit_message, files, pending_state
from memctl.store.batches import Batch
from memctl.store.memory import Memory
from memctl.store.memory_root import DOCUMENTS
from memctl.text.phrases import some
from memctl.write import merge

_SHOWN = 3  # files that a remark names


def base(memory: Memory) -> str:
    """Return the id of the commit on which the batch of the next change is based.

    If a batch is open, this is the commit before its first change. Otherwise it is HEAD's commit.
    """
    branch, head = memory.repository.branch()
    batch = batches.open_batch(memory, branch)
    return batch.base if batch else head


def add(memory: Memory, contents: Mapping[str, bytes | None], text: str, prepared: Preparation) -> str:
    """Commit files as the next change of the open batch, or as the first change of a new batch; return the commit's id.

    `contents` are bytes by path relative to the worktree's top, None for a deletion. `text` is the commit's message.
    `prepared` holds Git commands that already run in the background, because the commit needs their answers. Raises
    CommitPending if the commit can't be made now.
    """
    repository = memory.repository
    branch, head = repository.branch()
    batch = batches.open_batch(memory, branch)
    name = batches.ref(memory, branch)
    try:
        parent = batch.tip if batch else _start(memory, head, repository.tip(name))
    except MemctlError as error:
        raise AllPending(error.message, error.hint or "") from None
    batches.set_branch_here(memory, branch)
    return commits.commit_on_ref(repository, (name, parent), contents, text, prepared, by_agent=memory.by_agent)


def _start(memory: Memory, head: str, tip: str) -> str:
    """Return the commit that a new batch follows: HEAD, joined with earlier batches' changes if there are any."""
    repository = memory.repository
    if not tip:
        return head
    # A fetched commit may have any files: a batch starts only at one with HEAD's.
    is_on_head = refs.parent(repository, tip) == head and refs.same_tree(repository, tip, head)
    return tip if is_on_head else batches.join(memory, head, tip)


def close(memory: Memory, batch: Batch, squash: str) -> None:
    """Close a batch whose changes are on the branch by now, so that the next change starts a new batch.

    `squash` is the id of the commit that brought the changes to the branch, "" if the user committed them. Raises
    MemctlError if another process has moved the batch's ref.
    """
    repository = memory.repository
    if squash:
        new = batches.join(memory, squash, batch.tip)
    else:
        tracked = [memory.tracked(path) for path in batches.paths(memory, batch)]
        args = [*git.LOG, "--max-count=1", "--format=%H", "HEAD", "--", *tracked]
        commit = git.read(args, repository.top).decode().strip()
        text = commit_message.compose_join(batch.base, batch.tip, commit)
        new = batches.join(memory, repository.branch()[1], batch.tip, text)
    if not refs.swap(repository, batch.ref, new, batch.tip):
        raise MemctlError(f"{batch.ref} was changed by another process", "run the command again")
    if batches.branch_here(memory) == batch.branch:
        batches.set_branch_here(memory, "")


def compose(memory: Memory, batch: Batch) -> str:
    """Return the message of the commit that squashes a batch."""
    changes = batches.changes(memory, batch.base, batch.tip)[::-1]
    return commit_message.compose_squash(
        [change.subject for change in changes], [change.trailers for change in changes], batch.base, batch.tip
    )


def restore_files(memory: Memory, batch: Batch) -> None:
    """Write those files of a batch again that Git has set back to HEAD, as by `git stash` or `reset --hard`.

    If a commit made since the batch began has changed such a file, both changes are merged. If they conflict, the file
    is left alone, and a remark for the user says so.
    """
    repository = memory.repository
    clean = sorted(set(batches.paths(memory, batch)) - set(pending_state.differing_from_head(memory, ignored=True)))
    tracked = [memory.tracked(path) for path in clean]
    if not clean:
        return
    sides = [trees.blob_ids(repository, revision, tracked) for revision in (batch.base, "HEAD", batch.tip)]
    writes, deletes, stuck = [], [], []
    for path in clean:
        before, now, wanted = (side.get(memory.tracked(path), "") for side in sides)
        if now == wanted or (now != before and path.startswith(f"{DOCUMENTS}/")):  # documents are rendered again
            continue
        texts = [_text(memory, blob) for blob in (before, now, wanted)]
        text = texts[2] if now == before else merge.merge_cleanly(*texts)
        if text is not None:
            writes.append(Write(path, text, texts[1]))
        elif not wanted and now == before:
            deletes.append(path)
        else:
            stuck.append(memory.tracked(path))
    files.replace_all(memory.folder, files.prepare(memory.folder, writes), deletes)
    if done := [*(write.path for write in writes), *deletes]:
        names = some([memory.tracked(path) for path in done], _SHOWN)
        memory.remarks.append(
            f"Git had reverted changes that memctl recorded in {names}: memctl has restored them; `memctl undo` "
            "reverts a change"
        )
    if stuck:
        memory.remarks.append(
            f"warning: {some(stuck, _SHOWN)}: the text in HEAD and the text that memctl recorded can't be "
            f"merged; `git diff HEAD {batch.tip[:10]} -- PATH` shows how the two differ"
        )


def _text(memory: Memory, blob: str) -> str | None:
    content = trees.blobs(memory.repository, [blob], files.MAX_BYTES)[blob] if blob else None
    return None if content is None else content.decode(errors="replace")


def unstage(memory: Memory) -> None:
    """Remove the open batch's files from the commit that the user is making, as by `git commit -a`.

    The squash of the batch commits them later. But if the user's commit has no other files, they stay in it.
    """
    repository, batch = memory.repository, batches.current(memory)
    if batch is None or git.committing_process() or repository.under_way():
        return
    staged = {entry.path: entry.blob for entry in index.entries(repository, memory.prefix)}
    tracked = [memory.tracked(path) for path in batches.paths(memory, batch)]
    wanted, base = (trees.blob_ids(repository, revision, tracked) for revision in (batch.tip, "HEAD"))
    ours = [path for path in tracked if staged.get(path) == wanted.get(path) != base.get(path)]
    if ours and set(differences.changed_below(repository, ".", "HEAD", staged=True)) - set(ours):
        index.stage_blobs(repository, {path: base.get(path, "") for path in ours})


def leave_branch(memory: Memory, branch: str) -> None:
    """Move or squash the batch of `branch`, after the user of this worktree has switched to another branch.

    If the other branch is new, or is `branch` with a new name, the batch moves to it. memctl takes a branch for such a
    one if it points to the commit on which the batch is based, has no ref for a batch yet, and no worktree is on
    `branch`. Otherwise the batch is squashed on `branch`, or stays open if `branch` has moved or a worktree is on it;
    in both cases the batch's files in this worktree are set back to HEAD.
    """
    here, head = memory.repository.branch()
    batch = batches.open_batch(memory, branch)
    if batch is None:
        batches.set_branch_here(memory, "")
    elif _can_take_over(memory, batch, here, head):
        _move_changes(memory, batch, here)
    else:
        _squash_on_branch(memory, batch)
        _reset_files(memory, batch)
        batches.set_branch_here(memory, "")


def _can_take_over(memory: Memory, batch: Batch, here: str, head: str) -> bool:
    """Return whether HEAD's branch can take the batch over: it is new, and starts at the batch's base."""
    is_new = bool(here) and head == batch.base and not memory.repository.tip(batches.ref(memory, here))
    return is_new and not _is_checked_out(memory.repository, batch.branch)  # otherwise another worktree continues it


def _is_checked_out(repository: Repository, branch: str) -> bool:
    """Return whether HEAD of any worktree of this clone is on a branch (refs/heads/…)."""
    heads = [repository.common_dir / "HEAD", *(repository.common_dir / "worktrees").glob("*/HEAD")]
    wanted = f"ref: {branch}\n".encode()
    for file in heads:
        with suppress(OSError):
            if file.read_bytes() == wanted:
                return True
    return False


def _move_changes(memory: Memory, batch: Batch, here: str) -> None:
    """Move the changes of a batch to the ref of the branch `here`; earlier batches stay where they are."""
    repository = memory.repository
    first = batches.changes(memory, batch.base, batch.tip)[-1].commit
    before = refs.parent(repository, first)
    if refs.swap(repository, batches.ref(memory, here), batch.tip, ""):
        if before == batch.base:
            refs.delete(repository, batch.ref, batch.tip)
        else:
            refs.swap(repository, batch.ref, before, batch.tip)
        batches.set_branch_here(memory, here)


def _squash_on_branch(memory: Memory, batch: Batch) -> None:
    """Squash a batch on its branch, if that is still at the batch's base and no worktree has it checked out."""
    repository = memory.repository
    name = batch.branch.removeprefix("refs/heads/")
    if repository.tip(batch.branch) != batch.base or _is_checked_out(repository, batch.branch):
        memory.remarks.append(
            f"the changes that memctl recorded on the branch {name} are not committed there yet: "
            f"run `git switch {name}`, then `memctl commit`"
        )
        return
    ours = tree_merge.tree_at(repository, batch.tip, memory.prefix)
    folder = tree_merge.Leaf(tree_merge.FOLDER, ours) if ours else None
    tree = tree_merge.edit_tree(repository, tree_merge.tree_at(repository, batch.base), {memory.prefix: folder})
    signed = repository.flag("commit.gpgsign")
    text = compose(memory, batch)
    commit = refs.commit_tree(repository, tree, [batch.base], text, memory.commit_moment, signed=signed)
    if refs.swap(repository, batch.branch, commit, batch.base):
        close(memory, batch, commit)
        memory.remarks.append(
            f"the changes that memctl recorded on the branch {name} are now the commit {commit[:10]} there"
        )


def _reset_files(memory: Memory, batch: Batch) -> None:
    """Set the files of a batch back to HEAD, except those that were edited or staged since."""
    repository = memory.repository
    tracked = {memory.tracked(path): path for path in batches.paths(memory, batch)}
    wanted, base = (trees.blob_ids(repository, revision, tracked) for revision in (batch.tip, "HEAD"))
    staged = {entry.path: entry.blob for entry in index.entries(repository, memory.prefix)}
    names = [name for name in tracked if os.path.isfile(repository.top / name)]
    here = trees.worktree_blob_ids(repository, names)
    writes, deletes = [], []
    for name, path in tracked.items():
        if here.get(name) != wanted.get(name) or staged.get(name) != base.get(name):
            continue
        text = _text(memory, base.get(name, ""))
        if text is not None:
            writes.append(Write(path, text))
        elif name in here and name not in base:
            deletes.append(path)
    files.replace_all(memory.folder, files.prepare(memory.folder, writes), deletes)
