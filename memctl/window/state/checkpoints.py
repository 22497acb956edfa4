"""The state of a task from one window to the next: a manager over the memory's checkpoints (rules.md#window-state)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from memctl.record.change import WriteOptions
from memctl.record.task_state import TaskState
from memctl.store import load
from memctl.store.memory import Memory
from memctl.task import events, resume, versions
from memctl.window.state.task import StoredState, Validation, validate
from memctl.write import task_state
from memctl.write.task_state import SaveOptions


class CrossWindowStateManager(StoredState):
    """Keeps the state of a task in a memory, each save in a commit of its own.

    `workflow` is what the task is called there; if it is "", the branch, or a name of its own where somebody else is at
    another task on that. A state that goes on from another version than the newest, or from an earlier window, is
    stale, and refused; so is one of a writer that never loaded the newest and lacks steps of it.
    """

    name = "the newest checkpoint"

    def __init__(self, memory: Memory, workflow: str = "") -> None:
        super().__init__()
        self._given = events.workflow(memory, workflow) if workflow else ""
        self._memory = memory
        self.workflow = self._given or versions.workflow_for(memory, load.disk(memory))

    def validate(self, state: TaskState) -> Validation:
        """Return what makes a state useless, and what may lead astray."""
        return validate(state)

    def bootstrap_prompt(self) -> str:
        """Return the text with which a new window takes the task up, in at most 9,500 characters; "" if nothing was
        kept.

        It says what is missing in the state, and how branch, commits and files have drifted since.
        """
        if self._read() is None:
            return ""
        return resume.prepare(self._memory, load.disk(self._memory), "", self.workflow).text.text

    @contextmanager
    def _alone(self, goal: str) -> Iterator[None]:
        """Go on in a workflow of our own if somebody else is at another task in the one of the branch; a commit keeps
        others away by itself."""
        workflow = self._given or versions.workflow_for(self._memory, load.disk(self._memory), goal)
        if workflow != self.workflow:
            self.workflow, self._seen = workflow, None
        yield

    def _read(self) -> TaskState | None:
        snapshot = load.disk(self._memory)
        found = versions.read(snapshot, self.workflow)
        if not found.checkpoints and not found.faults:
            return None
        saved = versions.resolve(snapshot, "", self.workflow)
        return TaskState(**{name: getattr(saved, name) for name in TaskState.__struct_fields__})

    def _put(self, last: TaskState | None, state: TaskState) -> str:
        base = state.version or self._seen
        how = SaveOptions(
            workflow=self.workflow,
            window=state.window_id,
            base=str(base) if last is not None and base is not None else "",
            is_whole=True,
        )
        top = f"{self._memory.repository.top.as_posix()}/"
        inside = (msgspec.structs.replace(one, path=one.path.removeprefix(top)) for one in state.files)
        state = msgspec.structs.replace(state, files=tuple(inside))
        options = WriteOptions(reason="the state of a window", redact=True)
        made, _ = task_state.save(self._memory, state, how, options)
        self._seen = made.version
        return made.checkpoint_id
