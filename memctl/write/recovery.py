"""Finishing interrupted writes, and finding out what became of pending changes, before anything else is written."""

from __future__ import annotations

from memctl.git import git
from memctl.git.repository import INDEX_NOTE
from memctl.store import files, journal, memory_root, pending_state
from memctl.store.journal import WRITING, PendingEntry
from memctl.store.memory import Memory


def recover(memory: Memory, *, remark: bool = True) -> list[PendingEntry]:
    """Finish interrupted moves, writes and commits, and return the changes that are still pending, oldest first.

    A move of the worktree to another commit is completed. The files of an interrupted write get their new text, unless
    somebody has edited them. If a pending change is committed by now, its entry in the journal is deleted. Changes that
    were undone outside of memctl are marked, and with `remark` reported to the user once. Raises MemctlError if a move
    can't be finished.
    """
    if (memory.repository.private / INDEX_NOTE).exists() and not git.committing_process():
        from memctl.git import index_lock  # seldom needed

        index_lock.recover(memory.repository)
        memory.asked = None  # Git's answer is from before
    if (memory.repository.private / memory_root.MOVE).exists():
        from memctl.write import checkout_log  # seldom needed

        checkout_log.finish(memory)
    if (memory.private / memory_root.BATCH).exists():
        from memctl.write import batch_migration  # once after an upgrade

        batch_migration.reopen(memory)
    files.remove_leftovers(memory.pending)
    entries = journal.entries(memory.pending)
    if not entries:  # a killed process leaves an entry, since it writes that first
        return []
    files.remove_leftovers(memory.folder)
    if any(entry.stage == WRITING for entry in entries):
        memory.asked = None  # Git's answer is from before these files are written
        finished = (_finish(memory, entry) for entry in entries)
        entries = drop_replaced([entry for entry in finished if entry])
        memory.asked = None  # Git was asked before the files were written
    waiting = []
    for entry, state in pending_state.states(memory, entries):
        if state == pending_state.DONE:
            journal.drop(entry)
            continue
        is_undone = state == pending_state.UNDONE
        announced = is_undone and (entry.announced or memory.by_hand)
        if remark and announced and not entry.announced:
            memory.remarks.append(f"{pending_state.describe(entry)} was {pending_state.WHY}; {pending_state.AGAIN}")
        if (entry.undone, entry.announced) != (is_undone, announced):
            entry = journal.update(entry, undone=is_undone, announced=announced)
        waiting.append(entry)
    return waiting


def drop_replaced(entries: list[PendingEntry]) -> list[PendingEntry]:
    """Delete the journal's entries of undone changes that are needed no more, and return all other entries.

    An undone change is needed no more if a later change contains all that it changed, or deletes its files.
    """
    rest = []
    for number, entry in enumerate(entries):
        later = (entry.change for entry in entries[number + 1 :] if not entry.undone)
        if entry.undone and any(pending_state.is_replaced(entry, change) for change in later):
            journal.drop(entry)
        else:
            rest.append(entry)
    return rest


def _finish(memory: Memory, entry: PendingEntry) -> PendingEntry | None:
    """Write the files of a change whose process was killed, and return its entry; None if no file is left to commit."""
    if entry.stage != WRITING:
        return entry
    rest = journal.remaining_change(memory.folder, entry)
    prepared = files.prepare(memory.folder, rest.writes)
    files.replace_all(memory.folder, prepared, [delete.path for delete in rest.deletes])
    change = journal.as_on_disk(memory.folder, entry.change)
    if change != entry.change:
        entry = journal.update(entry, change=change)
    if change.paths:
        return journal.advance(entry, entry.written)
    journal.drop(entry)
    return None
