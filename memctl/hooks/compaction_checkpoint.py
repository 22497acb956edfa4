"""Before a compaction: a checkpoint of the task as its transcript has it, in one commit with the session's page."""

from __future__ import annotations

import msgspec

from memctl.hooks import draft_page, session_end, session_state
from memctl.hooks.session_state import SessionState
from memctl.record import checkpoint
from memctl.record.change import Change
from memctl.record.checkpoint import Checkpoint
from memctl.record.required_text import LONGEST_LINE, MOST_LINES, is_said
from memctl.record.snapshot import Snapshot
from memctl.session import tasks
from memctl.store import event_stream, load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.store.session_dir import SessionDir
from memctl.task import events, versions
from memctl.task import save as task_save
from memctl.task.save import StatedProgress
from memctl.write import transaction

_LAST_PROMPT = "Asked last: "
_ERROR = "Not solved: "


def save(memory: Memory, folder: SessionDir, event: str) -> None:
    """The checkpoint and the session's page, in one commit; a merge or rebase under way leaves it pending.

    `event` is the moment of the event that it is for. What a killed process has saved for that is not saved again.
    """
    state = session_state.read(folder) or SessionState()
    made: list[Checkpoint] = []

    def plan(sequence: Sequence) -> Change:
        summary = session_end.change(memory, folder)
        snapshot = load.disk(memory)
        saved = _saved_for(memory, snapshot, state, event)
        said = None if saved else _said(memory, snapshot, state)
        made.extend([saved] if saved else [])
        if said is None:
            draft = draft_page.read(folder)
            is_worth = draft is not None and session_end.is_worth_keeping(memory, draft, state)
            return summary if summary and is_worth else Change(op="checkpoint", title="nothing to save")
        change = task_save.save(memory, snapshot, said)
        write = change.writes[0]
        made.append(checkpoint.parse(write.text, write.path))
        session_state.changed(folder, saving=(event, made[-1].checkpoint_id))
        if summary is None:
            return change
        return msgspec.structs.replace(change, writes=(*change.writes, *summary.writes), deletes=summary.deletes)

    outcome = transaction.carry_out(memory, plan, session_end.write_options(memory))
    if not outcome.change.is_empty:
        draft_page.drop(folder)
    for one in made:
        session_state.changed(folder, checkpoint=one.checkpoint_id)
        if not any(event.checkpoint_id == one.checkpoint_id for event in event_stream.read(memory).events):
            task_save.note(memory, one)


def _saved_for(memory: Memory, snapshot: Snapshot, state: SessionState, event: str) -> Checkpoint | None:
    """The checkpoint that was saved for an event already, by a process that was killed before it could say so."""
    if state.saving[0] != event:
        return None
    found = versions.read(snapshot, events.workflow(memory, "")).checkpoints
    return next((one for one in found if one.checkpoint_id == state.saving[1]), None)


def _said(memory: Memory, snapshot: Snapshot, state: SessionState) -> StatedProgress | None:
    """What the session's transcript says of the state of its task; None if nobody knows what the task is."""
    workflow = events.workflow(memory, "")
    found = versions.read(snapshot, workflow).checkpoints
    last = found[0] if found else None
    is_own = last is not None and _is_own(memory, state, last)
    mission = last.mission if last is not None and is_own else state.intent
    if not is_said(mission):
        return None
    open_tasks = [one for one in state.tasks if one.status != tasks.DONE]
    return StatedProgress(
        workflow=workflow,
        window=_window(state, last, is_own),
        mission=mission,
        planned=_texts(state, tasks.PENDING),
        in_progress=_texts(state, tasks.UNDER_WAY)
        or (() if open_tasks or not state.prompt else (f"{_LAST_PROMPT}{state.prompt}"[:LONGEST_LINE],)),
        done=_texts(state, tasks.DONE),
        dropped=_outdated(last) if last is not None and is_own else (),
        decisions=tuple(filter(is_said, state.decisions)),
        next_actions=tuple(filter(is_said, state.next_steps)),
        issues=_issues(state, last.issues if last is not None and is_own else ()),
        lessons=tuple(filter(is_said, state.lessons)),
        summary=tuple(filter(is_said, state.came_to)),
        files=state.files,
    )


def _issues(state: SessionState, before: tuple[str, ...]) -> tuple[str, ...]:
    """What is open: what the checkpoint before says, what was said since, and errors that nothing has put right."""
    errors = [f"{_ERROR}{line}"[:LONGEST_LINE] for line in state.errors.values()]
    named = [one for one in (*before, *state.issues) if is_said(one) and not one.startswith(_ERROR)]
    return tuple(dict.fromkeys((*named, *errors)))[-MOST_LINES:]


def _is_own(memory: Memory, state: SessionState, last: Checkpoint) -> bool:
    """Whether the branch's last checkpoint is this session's: said to be, or made since it began by nobody else's."""
    if last.session:
        return last.session == memory.session
    return state.began is not None and last.saved_at >= state.began.started


def _window(state: SessionState, last: Checkpoint | None, is_own: bool) -> int:
    """The number of the context window that ends: a compaction ends one, and another session has one of its own."""
    if last is None:
        return 1
    return last.window_id if is_own and last.checkpoint_id != state.checkpoint else last.window_id + 1


def _texts(state: SessionState, status: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.text for one in state.tasks if one.status == status and is_said(one.text)))


def _outdated(last: Checkpoint) -> tuple[str, ...]:
    """What a checkpoint of ours had in progress for want of tasks: the prompt of that time."""
    return tuple(step for step in last.in_progress if step.startswith(_LAST_PROMPT))
