"""The state of a task from one window to the next: a manager over the memory's checkpoints.

There is one implementation of checkpoints, `memctl.task`: JSON and Markdown in one commit, stale ones refused, what
is planned, in progress and done kept apart, the environment looked at before a resume. This gives it the names of
rules.md#window-state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from memctl.errors import MemctlError
from memctl.record.change import WriteOptions
from memctl.record.checkpoint import Checkpoint, key
from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_said
from memctl.store import load
from memctl.store.memory import Memory
from memctl.task import events, resume, versions
from memctl.task import save as task_save
from memctl.task.save import StatedProgress
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.window.state.task import TaskCheckpoint, Validation, sound, validate


class CrossWindowStateManager:
    """Keeps the state of a task in a memory, each save in a commit of its own.

    `workflow` is what the task is called there: the name of the branch if it is "". A state that goes on from another
    version than the newest, or from an earlier window, is stale, and refused.
    """

    def __init__(self, memory: Memory, workflow: str = "") -> None:
        self.workflow = events.workflow(memory, workflow)
        self._memory = memory
        self._seen: int | None = None  # the version that was loaded or saved last

    def save(self, checkpoint: TaskCheckpoint) -> str:
        """Keep a state; the id of its checkpoint. It is whole: steps that it does not name are no steps any more.

        What is too long for a checkpoint is cut. Raises MemctlError for a state with errors, and for a stale one.
        """
        checkpoint = sound(checkpoint)
        wrong = self.validate(checkpoint).errors
        if wrong:
            raise MemctlError(f"the state can't be kept: {'; '.join(wrong)}")
        version = self._seen if checkpoint.state_version is None else checkpoint.state_version
        before = self._newest()
        said = _said(self.workflow, checkpoint, before)
        if before is not None and version is not None:
            said = msgspec.structs.replace(said, base=str(version))
        made = task_save.keep(self._memory, said, WriteOptions(reason="the state of a window", redact=True)).checkpoint
        self._seen = made.version
        return made.checkpoint_id

    def load(self) -> TaskCheckpoint | None:
        """The newest state, None if nothing was kept; raises MemctlError if it can't be read."""
        found = self._newest()
        if found is None:
            return None
        self._seen = found.version
        ahead = (*found.in_progress, *found.planned)
        return TaskCheckpoint(
            window_id=found.window_id,
            state_version=found.version,
            task_goal=found.mission,
            success_criteria=found.expected_outputs,
            constraints=found.constraints,
            completed_subtasks=found.done,
            current_subtask=ahead[0] if found.in_progress else "",
            remaining_subtasks=ahead[1:] if found.in_progress else ahead,
            decisions=found.decisions,
            open_issues=found.issues,
            learnings=found.lessons,
            compaction_summary="\n".join(found.summary),
            saved_at=found.saved_at,
        )

    def validate(self, checkpoint: TaskCheckpoint) -> Validation:
        """What makes a state useless, and what may lead astray."""
        return validate(checkpoint)

    def bootstrap_prompt(self) -> str:
        """The text with which a new window takes the task up, in at most 9,500 characters; "" if nothing was kept.

        It says what is missing in the state, and how branch, commits and files have drifted since.
        """
        if self._newest() is None:
            return ""
        return resume.look(self._memory, load.disk(self._memory), "", self.workflow).bootstrap.text

    def _newest(self) -> Checkpoint | None:
        snapshot = load.disk(self._memory)
        found = versions.read(snapshot, self.workflow)
        return versions.resolve(snapshot, "", self.workflow) if found.checkpoints or found.faults else None


def _said(workflow: str, state: TaskCheckpoint, before: Checkpoint | None) -> StatedProgress:
    """A state as a checkpoint takes it: no item in two lists, none too long, none empty."""
    done = _lines(state.completed_subtasks)
    doing = _lines([state.current_subtask], done)
    planned = _lines(state.remaining_subtasks, (*done, *doing))
    mission = cut(one_line(state.task_goal), LONGEST_MISSION)
    named = {key(item) for item in (*done, *doing, *planned)}
    same = before if before is not None and before.mission == mission else None
    old = (*same.planned, *same.in_progress) if same else ()
    return StatedProgress(
        workflow=workflow,
        window=state.window_id,
        mission=mission,
        expected_outputs=_lines(state.success_criteria),
        constraints=_lines(state.constraints),
        done=done,
        in_progress=doing,
        planned=planned,
        dropped=tuple(item for item in old if key(item) not in named),
        decisions=_lines(state.decisions),
        next_actions=(doing or planned)[:1] or (("none",) if done else ()),
        issues=_lines(state.open_issues),
        lessons=_lines(state.learnings),
        summary=_lines(state.compaction_summary.split("\n")),
    )


def _lines(texts: Iterable[str], taken: Collection[str] = ()) -> tuple[str, ...]:
    """Texts as lines of a checkpoint, each once and none that is taken; of too many the last."""
    known = set(map(key, taken))
    shown = (cut(one_line(text), LONGEST_LINE) for text in texts)
    lines = {key(line): line for line in shown if is_said(line) and key(line) not in known}
    return tuple(lines.values())[-MOST_LINES:]
