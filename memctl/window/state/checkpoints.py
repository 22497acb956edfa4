"""Stores the state of a task in the checkpoints of a memory, for the next window (rules.md#window-state)."""

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
    """Stores the state of a task in a memory; each save is a commit.

    `workflow` is the task's name in the memory; "" is the branch's name, or a name of its own while another task uses
    that. A save is refused as stale if it continues another version than the newest, if it is of an earlier window, or
    if its writer never loaded the newest and lacks steps of it.
    """

    name = "the newest checkpoint"

    def __init__(self, memory: Memory, workflow: str = "") -> None:
        super().__init__()
        self._given = events.workflow(memory, workflow) if workflow else ""
        self._memory = memory
        self.workflow = self._given or versions.workflow_for(memory, load.disk(memory))

    def validate(self, state: TaskState) -> Validation:
        """Return the faults of a state: errors make it useless, warnings may mislead."""
        return validate(state)

    def bootstrap_prompt(self) -> str:
        """Return the text for a new window, of at most 9,500 characters; "" if no state is stored.

        It says what the state lacks, and how branch, commits and files have changed since.
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
