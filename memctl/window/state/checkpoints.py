"""Stores the state of a task in the checkpoints of a memory, for the task's next window (rules.md#window-state)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from memctl.record.change import WriteOptions
from memctl.record.task_state import TaskState
from memctl.store import load
from memctl.store.memory import Memory
from memctl.task import checkpoints, events, resume
from memctl.window.state.store import StateStore
from memctl.write import task_state


class CrossWindowStateManager(StateStore):
    """Stores the state of a task in a memory, for the task's next window; each save is a commit.

    `workflow` is the name under which the task's checkpoints are stored in the memory. With "" it is the name of the
    branch, or another name if another task already uses that.

    A save is refused as stale in three cases: somebody else saved a newer version since this object loaded the state,
    a later window has saved the state, or this object never loaded the stored state and is to save one that lacks some
    of the stored steps.
    """

    name = "the newest checkpoint"

    def __init__(self, memory: Memory, workflow: str = "") -> None:
        super().__init__()
        self._given = events.workflow(memory, workflow) if workflow else ""
        self._memory = memory
        self.workflow = self._given or checkpoints.workflow_for(memory, load.disk(memory))

    def bootstrap_prompt(self) -> str:
        """Return the text with which a new window continues the task, of at most 9,500 characters.

        It is "" if no state is stored. The text also says what is missing in the state, and how the branch, commits and
        files have changed since the state was saved.
        """
        if self._read() is None:
            return ""
        return resume.prepare(self._memory, load.disk(self._memory), "", self.workflow).text.text

    @contextmanager
    def _alone(self, goal: str) -> Iterator[None]:
        """Use a workflow of its own if another agent works on another task in the branch's workflow.

        A commit keeps other writers away by itself.
        """
        workflow = self._given or checkpoints.workflow_for(self._memory, load.disk(self._memory), goal)
        if workflow != self.workflow:
            self.workflow, self._seen = workflow, None
        yield

    def _read(self) -> TaskState | None:
        snapshot = load.disk(self._memory)
        history = checkpoints.read(snapshot, self.workflow)
        if not history.checkpoints and not history.faults:
            return None
        saved = checkpoints.resolve(snapshot, "", self.workflow)
        return msgspec.convert(msgspec.structs.asdict(saved), TaskState)

    def _put(self, last: TaskState | None, state: TaskState, base: int | None) -> str:
        name = "" if base is None else str(base)
        how = task_state.SaveOptions(workflow=self.workflow, window=state.window_id, base=name, is_whole=True)
        top = f"{self._memory.repository.top.as_posix()}/"
        inside = (msgspec.structs.replace(file, path=file.path.removeprefix(top)) for file in state.files)
        state = msgspec.structs.replace(state, files=tuple(inside))
        options = WriteOptions(reason="the state of a window", redact=True)
        made, _ = task_state.save(self._memory, state, how, options)
        self._seen = made.version
        return made.checkpoint_id
