"""Save a checkpoint of a session's task before the host compacts the context, in one commit with the session's page."""

from __future__ import annotations

import msgspec

from memctl.hooks import draft_page, session_end, session_state
from memctl.hooks.session_state import SessionState
from memctl.record import checkpoint
from memctl.record.change import Change
from memctl.record.checkpoint import Checkpoint
from memctl.record.required_text import is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.store import event_stream, load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.store.session_dir import SessionDir
from memctl.task import checkpoints, live_state, progress
from memctl.write import task_state, transaction
from memctl.write.task_state import SaveOptions


def save(memory: Memory, folder: SessionDir, event: str) -> None:
    """Save a checkpoint of a session's task, and the session's page, in one commit.

    During a merge or a rebase the files are written but not committed. `folder` is memctl's folder for the session.
    `event` identifies the compaction (its time): if this is called a second time for a compaction, because the first
    process was killed, no second checkpoint is saved.
    """
    state = session_state.read(folder) or SessionState()
    new_checkpoints: list[Checkpoint] = []

    def plan(sequence: Sequence) -> Change:
        summary = session_end.change(memory, folder)
        snapshot = load.disk(memory)
        workflow = checkpoints.workflow_for(memory, snapshot, state.task.goal)
        last = checkpoints.newest_of(snapshot, workflow)
        task = session_state.progress_of(state).shown
        if last is not None and _is_own(memory, state, last) and last.checkpoint_id != state.checkpoint:
            task = live_state.merge(task, last)  # the command that saved it was killed before it said so
        task = progress.normalise(task, shorten=True)
        saved = _saved_for(snapshot, workflow, state, event)
        new_checkpoints.extend([saved] if saved else [])
        if saved or not is_meaningful(task.goal):
            draft = draft_page.read(folder)
            is_worth = draft is not None and session_end.is_worth_keeping(memory, draft, state)
            return summary if summary and is_worth else Change(op="checkpoint", title="nothing to save")
        how = SaveOptions(workflow=workflow, window=_window(memory, state, last), is_whole=True, knows_files=True)
        change = task_state.change(memory, snapshot, task, how)
        write = change.writes[0]
        made = checkpoint.parse(write.text, write.path)
        new_checkpoints.append(made)
        session_state.update(folder, saving=(event, made.checkpoint_id), task=live_state.task_of(made))
        if summary is None:
            return change
        return msgspec.structs.replace(change, writes=(*change.writes, *summary.writes), deletes=summary.deletes)

    outcome = transaction.carry_out(memory, plan, session_end.write_options(memory))
    if not outcome.change.is_empty:
        draft_page.drop(folder)
    for saved in new_checkpoints:
        session_state.update(folder, checkpoint=saved.checkpoint_id)
        if not any(event.checkpoint_id == saved.checkpoint_id for event in event_stream.read(memory).events):
            task_state.note(memory, saved)


def _saved_for(snapshot: Snapshot, workflow: str, state: SessionState, event: str) -> Checkpoint | None:
    """Return the checkpoint that a killed process has saved for this event, None if there is none."""
    if state.saving[0] != event:
        return None
    known = checkpoints.read(snapshot, workflow).checkpoints
    return next((saved for saved in known if saved.checkpoint_id == state.saving[1]), None)


def _is_own(memory: Memory, state: SessionState, last: Checkpoint) -> bool:
    """Return whether the branch's last checkpoint is this session's, which may have saved it without its name."""
    return last.session == memory.session or last.checkpoint_id == state.checkpoint


def _window(memory: Memory, state: SessionState, last: Checkpoint | None) -> int:
    """Return the number of the context window that ends, from 1; each compaction and each session starts a new one."""
    if last is None:
        return 1
    is_of_window = _is_own(memory, state, last) and last.checkpoint_id != state.saving[1]
    return last.window_id if is_of_window else last.window_id + 1
