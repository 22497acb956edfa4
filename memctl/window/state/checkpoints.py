"""The state of a task from one window to the next: a manager over the memory's checkpoints (rules.md#window-state)."""

from __future__ import annotations

import msgspec

from memctl.record.change import WriteOptions
from memctl.record.checkpoint import Checkpoint
from memctl.record.task_state import TaskState
from memctl.store import load
from memctl.store.memory import Memory
from memctl.task import events, progress, resume, versions
from memctl.task import save as task_save
from memctl.task.save import SaveOptions
from memctl.window.state.task import Validation, refuse_lacking, sound, validate


class CrossWindowStateManager:
    """Keeps the state of a task in a memory, each save in a commit of its own.

    `workflow` is what the task is called there; if it is "", the branch, or a name of its own where somebody else is at
    another task on that. A state that goes on from another
    version than the newest, or from an earlier window, is stale, and refused; so is one of a writer that never loaded
    the newest and lacks steps of it.
    """

    def __init__(self, memory: Memory, workflow: str = "") -> None:
        self._given = events.workflow(memory, workflow) if workflow else ""
        self._memory = memory
        self.workflow = self._given or versions.workflow_for(memory, load.disk(memory))
        self._seen: int | None = None  # the version that was loaded or saved last; 0 if there was none to load

    def save(self, state: TaskState) -> str:
        """Keep a state; the id of its checkpoint. It is whole: steps that it does not name are no steps any more,
        unless they are done.

        What is too long for a checkpoint is cut. Raises MemctlError for a state with errors, and for a stale one.
        """
        state = sound(state)
        self._choose(state.goal)
        return self._save(state, self._newest())

    def _choose(self, goal: str) -> None:
        """Go on in a workflow of our own if somebody else is at another task in the one of the branch."""
        workflow = self._given or versions.workflow_for(self._memory, load.disk(self._memory), goal)
        if workflow != self.workflow:
            self.workflow, self._seen = workflow, None

    def _save(self, state: TaskState, before: Checkpoint | None) -> str:
        base = state.version or self._seen
        if before is not None and base is None:
            refuse_lacking(before, state, before.checkpoint_id, self.workflow)
        how = SaveOptions(
            workflow=self.workflow,
            window=state.window_id,
            base=str(base) if before is not None and base is not None else "",
            is_whole=True,
        )
        top = f"{self._memory.repository.top.as_posix()}/"
        inside = (msgspec.structs.replace(one, path=one.path.removeprefix(top)) for one in state.files)
        state = msgspec.structs.replace(state, files=tuple(inside))
        options = WriteOptions(reason="the state of a window", redact=True)
        made = task_save.keep(self._memory, state, how, options).checkpoint
        self._seen = made.version
        return made.checkpoint_id

    def merge(self, state: TaskState) -> str:
        """Keep a state with what is kept already: every step of either, as far as either has it."""
        state = sound(state)
        self._choose(state.goal)
        before = self._newest()
        if before is None:
            return self._save(state, None)
        made = progress.merged(before, msgspec.structs.replace(state, goal=before.goal))
        return self._save(sound(task_state_of(made, before.version)), before)

    def archive(self) -> None:
        """Put the state that was kept last aside: its task is over, and no later run takes it up."""
        before = self._newest()
        if before is not None:
            self._save(sound(progress.finished(task_state_of(before, before.version))), before)

    def load(self) -> TaskState | None:
        """Return the newest state, None if nothing was kept; raises MemctlError if it can't be read."""
        found = self._newest()
        self._seen = found.version if found is not None else 0
        return None if found is None else task_state_of(found, found.version)

    def validate(self, state: TaskState) -> Validation:
        """Return what makes a state useless, and what may lead astray."""
        return validate(state)

    def bootstrap_prompt(self) -> str:
        """The text with which a new window takes the task up, in at most 9,500 characters; "" if nothing was kept.

        It says what is missing in the state, and how branch, commits and files have drifted since.
        """
        if self._newest() is None:
            return ""
        return resume.look(self._memory, load.disk(self._memory), "", self.workflow).text.text

    def _newest(self) -> Checkpoint | None:
        snapshot = load.disk(self._memory)
        found = versions.read(snapshot, self.workflow)
        return versions.resolve(snapshot, "", self.workflow) if found.checkpoints or found.faults else None


def task_state_of(state: TaskState, version: int) -> TaskState:
    """Return the state that a checkpoint holds, without what makes it one."""
    values = {name: getattr(state, name) for name in TaskState.__struct_fields__}
    return TaskState(**{**values, "version": version})
