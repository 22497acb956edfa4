"""Undoing a commit of the memory by a new change."""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.git import history, trees
from memctl.git.history import Commit
from memctl.record import ids
from memctl.record.change import REDACT, Change, Delete, Write
from memctl.record.errors import InvalidRecord
from memctl.record.parser import parse
from memctl.store import batches, files, pending_state
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.write import merge

UNDO, SYNC = "undo", "sync"
# Operations that an undo of files would not revert: a credential would come back, ownership would not change.
_HANDS = "sections may have changed their owner with it, and an undo would not change that"
_ELSEWHERE = {
    REDACT: "it removed a credential, which an undo would write again",
    SYNC: "it is a merge made by `memctl sync`",
    **dict.fromkeys(("handoff", "accept", "decline", "withdraw"), _HANDS),
}
_RENDERED = "docs/"
_SHORT = 10  # digits of the commit id by which an undo names it
_FEW = 20  # commits that are searched first for the latest one not undone
_OTHER = "`memctl undo COMMIT` undoes another change; `memctl log` lists them"


def undo(memory: Memory, revision: str | None) -> Change:
    """Return the Change that undoes a commit of the memory.

    `revision` names the commit; None stands for the latest one that is not undone yet. Later changes of the files are
    kept. Raises MemctlError if these changed the same places, or if the commit did more than change files of the
    memory.
    """
    if waiting := [entry for entry in pending_state.open_entries(memory) if not entry.undone]:
        name = pending_state.describe(waiting[-1])
        raise MemctlError(
            f"{name} is not committed yet, so it can't be undone", "run `memctl commit`, then `memctl undo`"
        )
    commit = _resolve_commit(memory, revision) if revision else _latest_change(memory)
    _refuse_irreversible(memory, commit)
    before = trees.blob_ids(memory.repository, f"{commit.commit}^", commit.paths)
    after = trees.blob_ids(memory.repository, commit.commit, commit.paths)
    texts = trees.blobs(memory.repository, {*before.values(), *after.values()}, files.MAX_BYTES)
    writes, deletes = [], []
    for tracked in commit.paths:
        path = tracked.removeprefix(memory.prefix + "/")
        if path == tracked or path.startswith(_RENDERED):
            continue
        contents = (texts.get(side.get(tracked, "")) for side in (before, after))
        old, new = (None if content is None else files.decode(content, path) for content in contents)
        now = files.read_if_there(memory.folder, path)
        text = _without_change(memory, path, now, old, new)
        if text is not None:
            writes.append(Write(path, text, now))
        elif now is not None:
            deletes.append(Delete(path, now))
    subject = commit.subject.partition(": ")[2] or commit.subject
    return Change(
        op=UNDO,
        title=f"{commit.commit[:_SHORT]} {subject}",
        ids=tuple(dict.fromkeys(identifier for tracked in commit.paths if (identifier := ids.id_in_path(tracked)))),
        writes=tuple(writes),
        deletes=tuple(deletes),
    )


def _resolve_commit(memory: Memory, revision: str) -> Commit:
    """Return the commit of a revision; raises MemctlError if it does not change the memory."""
    full = memory.repository.resolve(revision)
    commits = history.commits(memory.repository, [memory.prefix], full, limit=1)
    if not commits or commits[0].commit != full:
        raise MemctlError(
            f"the commit {revision} changes nothing in the memory", "`memctl log` lists the commits that do"
        )
    return commits[0]


def _latest_change(memory: Memory) -> Commit:
    """Return the latest change of the memory that is not undone: each undo goes one further back.

    The merge of a sync does not count, because the changes that it brought are commits of their own.
    """
    for most in (_FEW, None):
        undone: set[str] = set()
        for commit in batches.commits(memory, [memory.prefix], limit=most):
            if commit.commit[:_SHORT] in undone or commit.trailers.ops == (SYNC,):
                continue
            if UNDO not in commit.trailers.ops:
                return commit
            undone.add(commit.subject.partition(f"{UNDO} ")[2][:_SHORT])
    raise MemctlError("there is no change to undo", "`memctl log` lists all changes")


def _refuse_irreversible(memory: Memory, commit: Commit) -> None:
    """Raise MemctlError for a commit that an undo of files would not revert."""
    short = commit.commit[:_SHORT]
    if not commit.trailers.ops:
        raise MemctlError(
            f"memctl did not make the commit {short} ({commit.subject})",
            f"`git revert {short}` undoes it; {_OTHER}",
        )
    for op in commit.trailers.ops:
        if op in _ELSEWHERE:
            raise MemctlError(f"the commit {short} ({commit.subject}) can't be undone: {_ELSEWHERE[op]}", _OTHER)
    if memory.tracked(CONFIG) in commit.paths and "init" in commit.trailers.ops:
        raise MemctlError(
            f"the commit {short} created the memory, so `memctl undo` does not undo it",
            f"`git revert {short}` removes the whole memory",
        )


def _current_id(memory: Memory, path: str, text: str) -> str:
    """Return the present id of a record that was renumbered since, given an earlier text; "" if it was not."""
    from memctl.store import load

    try:
        record = parse(text, path)[0]
    except InvalidRecord:
        return ""
    records = load.disk(memory).catalogue.with_alias(record.id)
    same = [
        candidate.id
        for candidate in records
        if record.memory_id == candidate.memory_id or record.title == candidate.title
    ]
    return same[0] if same else ""


def _without_change(memory: Memory, path: str, now: str | None, old: str | None, new: str | None) -> str | None:
    """Return a file's current text, `now`, without the change from `old` to `new`; None if the file is then gone.

    Raises MemctlError if somebody has changed the same places since.
    """
    if now == new:
        return old
    if (merged := merge.merge_cleanly(new, now, old)) is not None:
        return merged
    name = ids.id_in_path(path) or memory.tracked(path)
    if now is None and new is not None and (renamed := _current_id(memory, path, new)):
        hint = f"`memctl delete {renamed}` deletes it" if old is None else f"`memctl log {renamed}` lists its changes"
        raise MemctlError(f"{name} has the id {renamed} now, since two clones had used the same id", hint)
    raise MemctlError(
        f"{name} was changed again later, in the same lines",
        f"undo the later changes first; `memctl log {name}` lists them",
    )
