"""Undoing a commit of the memory by a new change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memctl.errors import MemctlError
from memctl.git import git, history, trees
from memctl.git.history import Commit
from memctl.record import ids, record_form
from memctl.record.change import HANDOVERS, REDACT, RENUMBER, Change, Delete, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import HANDOFF
from memctl.record.parser import parse
from memctl.store import files, pending_state
from memctl.store.commit_message import TYPE
from memctl.store.journal import PendingEntry
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.write import merge

UNDO, SYNC = "undo", "sync"
# Operations that an undo of files would not revert: a credential would come back, ownership would not change.
_HANDS = "sections may have changed their owner with it, and an undo would not change that"
_ELSEWHERE = {
    REDACT: "it removed a credential, which an undo would write again",
    SYNC: "it is a merge made by `memctl sync`",
    **dict.fromkeys(HANDOVERS, _HANDS),
}
_RENDERED = "docs/"
_SHORT = 10  # digits of the commit id by which an undo names it
_FEW = 20  # commits that are searched first for the latest one not undone
_OTHER = "`memctl undo COMMIT` undoes another change; `memctl log` lists them"


def undo(memory: Memory, revision: str | None) -> Change:
    """Return the Change that undoes a commit of the memory, or a change that waits for the user's commit.

    `revision` names the commit; None stands for the latest change that is not undone yet. Later changes of the files
    are kept. Of a commit that has other files, too, only those of the memory are undone. Raises MemctlError if later
    changes concern the same places, or if the commit did more than change files.
    """
    waiting = [entry for entry in pending_state.open_entries(memory) if not entry.undone]
    if waiting and not all(entry.recorded for entry in waiting):
        name = pending_state.describe(waiting[-1])
        raise MemctlError(
            f"{name} is not committed yet, so it can't be undone", "run `memctl commit`, then `memctl undo`"
        )
    found = _resolve(memory, waiting, revision) if revision else _latest_change(memory, waiting)
    if isinstance(found, Commit):
        _refuse_irreversible(memory, found)
        _warn_of_known_ids(memory, found)
        touched = versions(memory, found.paths, found.parent, found.commit)
        title = f"{found.commit[:_SHORT]} {found.subject.removeprefix(f'{TYPE}: ')}"
    else:
        touched = _texts(found.change)
        title = f"{found.recorded[:_SHORT]} {found.change.op} {found.change.title}"
    writes, deletes = [], []
    for path, old, new in touched:
        now = files.read_if_there(memory.folder, path)
        text = _without_change(memory, path, now, old, new)
        if text is not None:
            writes.append(Write(path, _with_status(path, text), now))
        elif now is not None:
            deletes.append(Delete(path, now))
    return Change(
        op=UNDO,
        title=title,
        ids=tuple(dict.fromkeys(identifier for path, *_ in touched if (identifier := ids.id_in_path(path)))),
        writes=tuple(writes),
        deletes=tuple(deletes),
    )


def _with_status(path: str, text: str) -> str:
    """A record that still has another successor stays superseded."""
    if ids.id_in_path(path) is None:
        return text
    try:
        record = parse(text, path)[0]
    except InvalidRecord:
        return text
    if not record.superseded_by or "superseded" not in record.kind.statuses:
        return text
    return record_form.replace(text, {"status": "superseded"})


def _texts(change: Change) -> list[tuple[str, str | None, str | None]]:
    """Return the files of a change: path, text before (None: none), and text after (None: deleted)."""
    written = ((write.path, write.old, write.text) for write in change.writes)
    return [*written, *((delete.path, delete.old, None) for delete in change.deletes)]


def versions(memory: Memory, paths: Iterable[str], before: str, after: str) -> list[tuple[str, str | None, str | None]]:
    """Return files of the memory, relative to it, with their texts in the commits `before` ("" for none) and `after`.

    Rendered documents are left out. `paths` are relative to the worktree's top.
    """
    rendered = memory.tracked(_RENDERED)
    paths = [path for path in paths if path.startswith(f"{memory.prefix}/") and not path.startswith(rendered)]
    sides = [trees.blob_ids(memory.repository, name, paths) if name else {} for name in (before, after)]
    places = {blob: path for side in sides for path, blob in side.items()}
    texts = trees.blobs(memory.repository, places, files.MAX_BYTES, places)
    result = []
    for tracked in paths:
        path = tracked.removeprefix(f"{memory.prefix}/")
        contents = (texts.get(side.get(tracked, "")) for side in sides)
        old, new = (None if content is None else files.decode(content, path) for content in contents)
        result.append((path, old, new))
    return result


def _resolve(memory: Memory, waiting: Sequence[PendingEntry], revision: str) -> Commit | PendingEntry:
    """Return the waiting change or the commit that a revision names; raises MemctlError if it is none of the memory."""
    full = memory.repository.resolve(revision)
    for entry in waiting:
        if entry.recorded == full:
            return entry
    commits = history.commits(memory.repository, [memory.prefix], full, limit=1)
    if not commits or commits[0].commit != full:
        raise MemctlError(
            f"the commit {revision} changes nothing in the memory", "`memctl log` lists the commits that do"
        )
    return commits[0]


def _latest_change(memory: Memory, waiting: Sequence[PendingEntry]) -> Commit | PendingEntry:
    """Return the latest change of the memory that is not undone: each undo goes one further back.

    The merge of a sync does not count, because the changes that it brought are commits of their own, and neither does a
    commit of rendered documents alone.
    """
    reverted: set[str] = set()
    for entry in reversed(waiting):
        if entry.change.op == UNDO:
            reverted.add(entry.change.title[:_SHORT])
        elif entry.recorded[:_SHORT] not in reverted:
            return entry
    for most in (_FEW, None):
        undone = set(reverted)
        for commit in history.commits(memory.repository, [memory.prefix], limit=most):
            if commit.commit[:_SHORT] in undone or commit.trailers.ops == (SYNC,):
                continue
            if all(path.startswith(memory.tracked(_RENDERED)) for path in commit.paths):
                continue
            if UNDO not in commit.trailers.ops:
                return commit
            undone.add(commit.subject.partition(f"{UNDO} ")[2][:_SHORT])
    raise MemctlError("there is no change to undo", "`memctl log` lists all changes")


def _refuse_irreversible(memory: Memory, commit: Commit) -> None:
    """Raise MemctlError for a commit that an undo of files would not revert."""
    short = commit.commit[:_SHORT]
    if commit.commit in memory.repository.shallow():  # to Git it added every file
        message = f"this shallow clone begins with the commit {short}, so what that changed is unknown"
        raise MemctlError(message, "`git fetch --deepen 1` fetches the commit before it")
    is_handoff = any(path.startswith(memory.tracked(f"{HANDOFF.folder}/")) for path in commit.paths)
    if is_handoff and not commit.trailers.ops:  # the user's, with what a handoff has written
        raise MemctlError(f"the commit {short} ({commit.subject}) can't be undone: {_HANDS}", _OTHER)
    for op in commit.trailers.ops:
        if op in _ELSEWHERE:
            raise MemctlError(f"the commit {short} ({commit.subject}) can't be undone: {_ELSEWHERE[op]}", _OTHER)
    if commit.changes.get(memory.tracked(CONFIG)) == "A":
        raise MemctlError(
            f"the commit {short} created the memory, so `memctl undo` does not undo it",
            f"`git revert {short}` removes the whole memory",
        )


def _warn_of_known_ids(memory: Memory, commit: Commit) -> None:
    """Add a remark if a commit gave records other ids and a remote has it, so that others may refer to these."""
    listing = ["for-each-ref", "--count=1", f"--contains={commit.commit}", "--format=%(refname:short)", "refs/remotes"]
    if RENUMBER in commit.trailers.ops and git.read(listing, memory.repository.top):
        memory.remarks.append(
            "warning: a remote has this renumbering, so others may refer to ids that it gave and that name nothing "
            "after the undo; records share ids again, and `memctl renumber` gives some of them others"
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
