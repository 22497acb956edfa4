"""Merge the changes of this clone's batches with those of a remote, and push them.

Each branch has a ref of its own for the changes of its batches (`store.batches`).
"""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.git import git, refs
from memctl.store import batches, lock
from memctl.store.memory import Memory
from memctl.sync.result import SyncResult

_TRIES = 20  # to push, each time after another clone was first


def sync_batches(memory: Memory, done: SyncResult, remote: str, *, push: bool, dry_run: bool) -> SyncResult:
    """Merge the remote's batches of the branch that is synced into this clone's, and push the result if `push`.

    `done` is the result of the sync so far, which names the branch and the remote; it is returned unchanged. While a
    batch is open in this clone, its changes are not pushed. A dry run does nothing. Raises MemctlError, or PushRefused
    if the remote refuses the push.
    """
    repository = memory.repository
    local_ref = batches.ref(memory, done.upstream.ref)
    tracking = batches.tracking_ref(memory, done.upstream.ref, remote)
    if dry_run:
        return done
    for number in range(_TRIES):
        is_fetched = done.has_state and number == 0 and remote == done.upstream.remote
        theirs = repository.tip(tracking) if is_fetched else refs.fetch(repository, remote, local_ref, tracking)
        new = _merge_ref(memory, done.upstream.branch, theirs)
        if not push or new == theirs or refs.push(repository, remote, local_ref, new, theirs):
            return done
    raise MemctlError(
        f"{_TRIES} pushes of {local_ref} failed, because other clones pushed first", "run `memctl sync` again"
    )


def _merge_ref(memory: Memory, branch: str, theirs: str) -> str:
    """Return the commit with the changes of both sides, and move the branch's ref to it.

    While a batch is open here, the ref stays, and none of its changes are pushed.
    """
    repository, ref = memory.repository, batches.ref(memory, branch)
    with lock.hold(repository.shared / "lock"):
        ours = repository.tip(ref)
        if batches.open_batch(memory, branch) or not theirs or (ours and refs.contains(repository, ours, theirs)):
            return theirs if batches.open_batch(memory, branch) else ours
        goes_on = not ours or refs.contains(repository, theirs, ours)
        new = theirs if goes_on else batches.join(memory, ours, theirs)
        trailers = batches.trailers(memory, new)
        if trailers.base and not trailers.changes:  # somebody has pushed an open batch by hand: here none is
            new = batches.join(memory, git.read(["rev-parse", f"{new}^"], repository.top).decode().strip(), new)
        if not refs.swap(repository, ref, new, ours):
            raise MemctlError(f"{ref} is being changed by other processes all the time", "run `memctl sync` again")
        return new
