"""Undoing a change: a new change takes back what its commit did to the memory."""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.git import history, trees
from memctl.git.history import Commit
from memctl.record import ids
from memctl.record.change import REDACT, Change, Delete, Write
from memctl.record.errors import InvalidRecord
from memctl.record.parser import parse
from memctl.store import batches, entry_state, files
from memctl.store.memory import Memory
from memctl.store.place import CONFIG
from memctl.write import merge

UNDO, SYNC = "undo", "sync"
# Operations that an undo of files would not revert: a credential would come back, ownership would not change.
_HANDS = "sections may have changed hands with it"
_ELSEWHERE = {
    REDACT: "it took a credential out",
    SYNC: "it merged",
    **dict.fromkeys(("handoff", "accept", "decline", "withdraw"), _HANDS),
}
_RENDERED = "docs/"
_SHORT = 10  # digits of the commit id by which an undo names it
_FEW = 20  # commits that are searched first for the latest one not undone
_OTHER = "`memctl undo COMMIT` undoes another that `memctl log` lists"


def undo(memory: Memory, revision: str | None) -> Change:
    """Return the Change that undoes a commit of the memory: `revision`, or the latest that is not undone yet.

    Later changes of the same files are kept. Raises MemctlError if they changed the same places, or if the commit did
    more than change files of the memory.
    """
    if waiting := [entry for entry in entry_state.open_entries(memory) if not entry.undone]:
        name = entry_state.describe(waiting[-1])
        raise MemctlError(f"{name} waits for its commit", "`memctl commit` makes it, then it can be undone")
    commit = _resolve_commit(memory, revision) if revision else _latest(memory)
    _refuse_others(memory, commit)
    before = trees.blob_ids(memory.repository, f"{commit.commit}^", commit.paths)
    after = trees.blob_ids(memory.repository, commit.commit, commit.paths)
    texts = trees.blobs(memory.repository, {*before.values(), *after.values()}, files.MAX_BYTES)
    writes, deletes = [], []
    for tracked in commit.paths:
        path = tracked.removeprefix(memory.prefix + "/")
        if path == tracked or path.startswith(_RENDERED):
            continue
        old, new = (_text(texts.get(side.get(tracked, "")), path) for side in (before, after))
        text, now = _taken_back(memory, path, old, new), _now(memory, path)
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
    full = memory.repository.resolve(revision)
    found = history.commits(memory.repository, [memory.prefix], full, limit=1)
    if not found or found[0].commit != full:
        raise MemctlError(f"{revision} changes nothing of the memory", "`memctl log` lists the commits that do")
    return found[0]


def _latest(memory: Memory) -> Commit:
    """Return the latest change of the memory that is not undone: each undo goes one further back.

    A sync's merge is none: what it brought are changes of their own.
    """
    for most in (_FEW, None):
        undone: set[str] = set()
        for commit in batches.commits(memory, [memory.prefix], limit=most):
            if commit.commit[:_SHORT] in undone or commit.trailers.ops == (SYNC,):
                continue
            if UNDO not in commit.trailers.ops:
                return commit
            undone.add(commit.subject.partition(f"{UNDO} ")[2][:_SHORT])
    raise MemctlError("there is no change to undo", "`memctl log` lists the changes")


def _refuse_others(memory: Memory, commit: Commit) -> None:
    short = commit.commit[:_SHORT]
    if not commit.trailers.ops:
        raise MemctlError(
            f"{short} ({commit.subject}) was not made by memctl",
            f"`git revert {short}` undoes it; {_OTHER}",
        )
    for op in commit.trailers.ops:
        if op in _ELSEWHERE:
            raise MemctlError(f"{short} ({commit.subject}) can't be undone: {_ELSEWHERE[op]}", _OTHER)
    if memory.tracked(CONFIG) in commit.paths and "init" in commit.trailers.ops:
        raise MemctlError(f"{short} set the memory up", f"`git revert {short}` removes the whole memory")


def _renumbered(memory: Memory, path: str, text: str) -> str:
    """Return the id that the record of a file has now, "" if it has no other."""
    from memctl.store import load

    try:
        record = parse(text, path)[0]
    except InvalidRecord:
        return ""
    found = load.disk(memory).catalogue.with_alias(record.id)
    same = [one.id for one in found if record.memory_id == one.memory_id or record.title == one.title]
    return same[0] if same else ""


def _text(content: bytes | None, path: str) -> str | None:
    return None if content is None else files.decode(content, path)


def _now(memory: Memory, path: str) -> str | None:
    try:
        return files.read(memory.folder, path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _taken_back(memory: Memory, path: str, old: str | None, new: str | None) -> str | None:
    """Return the text that a file has without a change that made `new` of `old`; None if it is gone then.

    Raises MemctlError if somebody has changed the same since.
    """
    now = _now(memory, path)
    if now == new:
        return old
    if now is not None and new is not None and old is not None:
        merged = merge.merge(new, now, old)
        if not merged.conflicts:
            return merged.text
    name = ids.id_in_path(path) or memory.tracked(path)
    if now is None and new is not None and (renamed := _renumbered(memory, path, new)):
        hint = f"`memctl delete {renamed}` deletes it" if old is None else f"`memctl log {renamed}` lists its changes"
        raise MemctlError(f"{name} is {renamed} now, since two clones gave out the same id", hint)
    raise MemctlError(
        f"{name} was changed since, in the same places", f"`memctl log {name}` shows by what; undo that first"
    )
