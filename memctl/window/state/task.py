"""What a store for the state of a task has to do, and which states it accepts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.record.checkpoint import is_outside, leaves_repository
from memctl.record.errors import describe
from memctl.record.required_text import is_meaningful
from memctl.record.task_state import DONE, LISTS, Step, TaskState, TouchedFile
from memctl.task import progress

_NAMED = 5  # steps that a refusal names


class StateKeeper(Protocol):
    """A store for the state of a task, from one window to the next.

    It may also have a method `archive()`, which is called when the task is done.
    """

    def save(self, state: TaskState) -> str:
        """Store a state and return its id. Raises MemctlError if it is stale."""

    def load(self) -> TaskState | None:
        """Return the state that was stored last, None if there is none."""

    def bootstrap_prompt(self) -> str:
        """Return the text for a new window, "" if no state is stored."""


class StoredState:
    """A store for states: it validates a state, compares it with the stored one, and writes it."""

    name = "what is kept"  # in messages

    def __init__(self) -> None:
        self._seen: int | None = None  # the version that was loaded or saved last; 0 if there was none to load

    def save(self, state: TaskState) -> str:
        """Store a state and return its id; steps that it does not name are dropped, unless they are done.

        Texts that are too long are cut. Raises MemctlError for a faulty or stale state.
        """
        state = sound(state)
        with self._alone(state.goal):
            last = self._read()
            base = state.version or self._seen
            if last is not None and base is None:
                self._refuse_lacking(last, state)
            if last is not None:
                self._refuse_stale(last, state, base)
            return self._put(last, state)

    def merge(self, state: TaskState) -> str:
        """Store a state merged with the stored one, and return its id: it has the steps of both, each as far as either
        has it.
        """
        state = sound(state)
        with self._alone(state.goal):
            last = self._read()
            same = state if last is None else msgspec.structs.replace(state, goal=last.goal)
            return self._put(last, same if last is None else sound(progress.merge(last, same)))

    def archive(self) -> None:
        """Mark the stored state as finished, so that no later run continues its task."""
        last = self.load()
        if last is not None:
            with self._alone(last.goal):
                self._put(last, sound(progress.finish(last)))

    def load(self) -> TaskState | None:
        """Return the newest state, None if there is none; raises MemctlError if it can't be read."""
        found = self._read()
        self._seen = found.version if found is not None else 0
        return found

    def _alone(self, goal: str) -> AbstractContextManager[None]:
        """Keep others away from where the state of a goal is."""
        raise NotImplementedError

    def _read(self) -> TaskState | None:
        raise NotImplementedError

    def _refuse_lacking(self, stored: TaskState, given: TaskState) -> None:
        """Raise MemctlError if a writer that never loaded what is stored lacks steps of it."""
        if lacks := progress.missing_steps(stored, given):
            named = ", ".join(f"{step.text!r}{' (done)' if step.status == DONE else ''}" for step in lacks[:_NAMED])
            more = f" and {len(lacks) - _NAMED} more" if len(lacks) > _NAMED else ""
            raise MemctlError(
                f"the state is stale: {self.name} was never loaded, and has steps that it lacks: {named}{more}",
                "`merge(state)` instead of `save(state)` keeps both",
            )

    def _refuse_stale(self, last: TaskState, state: TaskState, base: int | None) -> None:
        """Raise MemctlError for a state that goes on from another version than the last (None: from none)."""

    def _put(self, last: TaskState | None, state: TaskState) -> str:
        raise NotImplementedError


class Validation(msgspec.Struct, frozen=True):
    """The faults of a state: with errors the state can't be continued, with warnings it can."""

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the state has no errors."""
        return not self.errors


def sound(state: TaskState) -> TaskState:
    """Return a state with each text on one line and cut to its length; of too many texts the last stay.

    Raises MemctlError for a field of a wrong type, and for a state with errors: it could not be read again.
    """
    argument_checks.instance(state, TaskState, "state", "a TaskState")
    given = msgspec.structs.asdict(state)
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    state = msgspec.structs.replace(state, **lists)
    kinds = {**dict.fromkeys(LISTS, str), "steps": Step, "files": TouchedFile}
    has_texts = all(isinstance(text, str) for text in (state.goal, state.task_id, state.section))
    try:
        if has_texts and all(_holds(getattr(state, name), kind) for name, kind in kinds.items()):
            files = tuple(one for one in state.files if is_outside(one.path) or not leaves_repository(one.path))
            state = progress.normalise(msgspec.structs.replace(state, files=files), shorten=True)
        made = msgspec.convert(msgspec.structs.asdict(state), TaskState)
    except msgspec.ValidationError as error:
        raise MemctlError(f"the state can't be kept: {describe(error)}", exit_code=USAGE) from None
    if wrong := validate(made).errors:
        raise MemctlError(f"the state can't be kept: {'; '.join(wrong)}")
    return made


def _holds(given: object, kind: type) -> bool:
    return isinstance(given, tuple) and all(isinstance(one, kind) for one in given)


def validate(state: TaskState) -> Validation:
    """Return the faults of a state: errors make it useless, warnings may mislead (rules.md#checkpoints)."""
    errors, warnings = [], []
    if not is_meaningful(state.goal):
        errors.append("Missing goal: the agent will have no objective")
    if state.window_id < 1:
        errors.append(f"Invalid window_id: {state.window_id}")
    if state.version < 0:
        errors.append(f"Invalid version: {state.version}")
    if state.planned and not (state.in_progress or state.next_actions):
        warnings.append("Has planned steps, and none in progress or next: the agent may begin with the wrong one")
    return Validation(tuple(errors), tuple(warnings))
