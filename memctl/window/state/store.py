"""Stores for the state of a task, which passes from one window to the next (rules.md#window-state).

The store in this module keeps a state in files of a project: a JSON file with the state, and a Markdown file beside it
for people. A save is refused as stale if it is based on an older version, or comes from an earlier window, than the
state in the file. The store in `checkpoints.py` keeps states in a memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.record.change import Write
from memctl.record.errors import InvalidRecord, describe
from memctl.record.required_text import is_meaningful
from memctl.record.task_state import DONE, Step, TaskState, TouchedFile
from memctl.store import files, lock
from memctl.task import formats, progress, resume
from memctl.task.parts import LISTS
from memctl.text.phrases import some
from memctl.window.compression.notes import CATEGORIES, IMPORTANCES, Note, Notes

_NAMED = 5  # steps that a refusal names
_LINE = re.compile(rf"- \[({'|'.join(IMPORTANCES)})\] ({'|'.join(CATEGORIES)}): (.*\S)\s*", re.IGNORECASE)
_PATIENCE = 10.0  # seconds; a save takes a few milliseconds


class StateKeeper(Protocol):
    """A store for the state of a task, which passes from one window to the next.

    A host may write its own. It may also have a method `archive()`, which is called when the task is done.
    """

    def save(self, state: TaskState) -> str:
        """Store the state of a task and return the id under which it is stored.

        Raises MemctlError if the state is stale: somebody else stored a newer one.
        """

    def load(self) -> TaskState | None:
        """Return the state that was stored last, or None if no state is stored."""

    def bootstrap_prompt(self) -> str:
        """Return the text with which a new window continues the task, "" if no state is stored."""


class StateStore:
    """The base class of stores for the state of a task, which passes from one window to the next.

    It validates a state and compares it with the stored one; subclasses read and write states.
    """

    name = "the stored state"  # in messages

    def __init__(self) -> None:
        self._seen: int | None = None  # the version that was loaded or saved last; 0 if there was none to load

    def save(self, state: TaskState) -> str:
        """Store the state of a task in the place of the stored one, and return the id under which it is stored.

        Steps of the stored state that the new state does not name are dropped, unless they are done. Texts that are too
        long are cut. Raises MemctlError for a faulty state, and for one that is stale: somebody else stored a newer
        one.
        """
        state = sound(state)
        with self._alone(state.goal):
            last = self._read()
            base = (state.version or self._seen) if last is not None else None
            if last is not None and base is None and (lacks := progress.missing_steps(last, state)):
                steps = some([f"{step.text!r}{' (done)' if step.status == DONE else ''}" for step in lacks], _NAMED)
                raise MemctlError(
                    f"the state is stale: {self.name} was never loaded, and has steps that the new state lacks: "
                    f"{steps}",
                    "call `merge(state)` instead of `save(state)`: it keeps the steps of both",
                )
            return self._put(last, state, base)

    def merge(self, state: TaskState) -> str:
        """Store the state of a task merged with the stored one, and return the id under which it is stored.

        The merged state has the steps of both states. A step that is in both has its more advanced status, such as done
        rather than planned.
        """
        state = sound(state)
        with self._alone(state.goal):
            last = self._read()
            if last is None:
                return self._put(None, state, None)
            merged = progress.merge(last, msgspec.structs.replace(state, goal=last.goal))
            return self._put(last, sound(merged), last.version)

    def archive(self) -> None:
        """Mark the task of the stored state as finished, so that no later run continues it."""
        if (last := self.load()) is not None:
            with self._alone(last.goal):
                self._put(last, sound(progress.finish(last)), last.version)

    def load(self) -> TaskState | None:
        """Return the state that was stored last, or None if no state is stored.

        Raises MemctlError if the state can't be read.
        """
        state = self._read()
        self._seen = state.version if state is not None else 0
        return state

    def validate(self, state: TaskState) -> Validation:
        """Return the faults of a task's state: errors, with which the task can't be continued, and warnings.

        A warning is about something that may mislead the agent.
        """
        return validate(state)

    def _alone(self, goal: str) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _read(self) -> TaskState | None:
        raise NotImplementedError

    def _put(self, last: TaskState | None, state: TaskState, base: int | None) -> str:
        """Write a state behind the stored state `last`, and return its id.

        Raises MemctlError if the state continues another version (`base`) than the last; None stands for any.
        """
        raise NotImplementedError


class StateFiles(StateStore):
    """Stores the state of a task in files inside `folder`: as JSON in `state_file`, as Markdown in `progress_file`.

    With "" for `progress_file` no Markdown is written. `now` returns the present time as text, which is saved with the
    state.
    """

    def __init__(
        self, folder: Path, state_file: str, progress_file: str = "", *, now: Callable[[], str] = lambda: ""
    ) -> None:
        if not state_file:
            raise MemctlError("there is no place for the task's state", "name a state_file, or give a memory")
        super().__init__()
        self._folder, self.name, self._progress_file, self._now = folder, state_file, progress_file, now

    def bootstrap_prompt(self) -> str:
        """Return the text with which a new window continues the task, of at most 9,500 characters.

        It is "" if no state is stored.
        """
        state = self._read()
        return resume.write(state).text if state is not None else ""

    def _alone(self, goal: str) -> AbstractContextManager[None]:
        return alone(self._folder, self.name)

    def _read(self) -> TaskState | None:
        text = text_of(self._folder, self.name)
        if text is None:
            return None
        try:
            state = msgspec.json.decode(text, type=TaskState)
            wrong = "; ".join(validate(state).errors)
        except (msgspec.MsgspecError, RecursionError) as error:
            wrong = str(error)
        if wrong:
            raise MemctlError(
                f"{self.name} is not the state of a task: {wrong}", f"correct {self.name}, or move it away"
            )
        return state

    def _put(self, last: TaskState | None, state: TaskState, base: int | None) -> str:
        if last is not None and (state.window_id < last.window_id or base not in (None, last.version)):
            raise MemctlError(
                f"the state is stale: {self.name} is newer, with version {last.version} of window {last.window_id}",
                "load the newer state and continue from it, or call `merge(state)`, which keeps the steps of both",
            )
        self._seen = 1 + (last.version if last else 0)
        state = progress.take_whole(last if last and last.goal == state.goal else None, state)
        state = msgspec.structs.replace(state, version=self._seen, saved_at=self._now())
        encoded = msgspec.json.format(msgspec.json.encode(state), indent=2).decode()
        writes = [Write(self.name, encoded + "\n")]
        if self._progress_file:
            writes.append(Write(self._progress_file, formats.markdown(state)))
        files.replace_all(self._folder, files.prepare(self._folder, writes), ())  # both files or neither
        return f"w{state.window_id}-v{self._seen}"


class Validation(msgspec.Struct, frozen=True):
    """The faults of a task's state.

    With `errors` the task can't be continued from this state. With `warnings` alone it can, but the agent may be
    misled.
    """

    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether the state has no errors."""
        return not self.errors


def sound(state: TaskState) -> TaskState:
    """Return the state of a task in a form that can be stored: each text is on one line and not too long.

    If a list has too many texts, its last texts stay. Raises MemctlError for a field of a wrong type, and for a state
    with errors, because it could not be read again.
    """
    argument_checks.instance(state, TaskState, "state", "a TaskState")
    values = msgspec.structs.asdict(state)
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    state = msgspec.structs.replace(state, **lists)
    kinds = {**dict.fromkeys(LISTS, str), "steps": Step, "files": TouchedFile}
    has_texts = all(isinstance(text, str) for text in (state.goal, state.task_id, state.section))
    try:
        if has_texts and all(_holds(getattr(state, name), kind) for name, kind in kinds.items()):
            state = progress.normalise(state, shorten=True)
        made = msgspec.convert(msgspec.structs.asdict(state), TaskState)
    except msgspec.ValidationError as error:
        raise MemctlError(f"the state can't be saved: {describe(error)}", exit_code=USAGE) from None
    if wrong := validate(made).errors:
        raise MemctlError(f"the state can't be saved: {'; '.join(wrong)}")
    return made


def _holds(values: object, kind: type) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, kind) for value in values)


def validate(state: TaskState) -> Validation:
    """Return the faults of a task's state: errors, with which the task can't be continued, and warnings.

    A warning is about something that may mislead the agent. The rules are in rules.md#checkpoints.
    """
    errors = {
        "Missing goal: the agent will have no objective": not is_meaningful(state.goal),
        f"Invalid window_id: {state.window_id}": state.window_id < 1,
        f"Invalid version: {state.version}": state.version < 0,
    }
    begin = "Has planned steps, but no step in progress and no next action: the agent may begin with the wrong step"
    has_no_begin = state.planned and not (state.in_progress or state.next_actions)
    return Validation(tuple(text for text, is_so in errors.items() if is_so), (begin,) if has_no_begin else ())


@contextmanager
def alone(folder: Path, path: str) -> Iterator[None]:
    """Hold a lock on a file of the project, so that no other process of memctl writes the file meanwhile.

    `path` is the file's path inside of `folder`. Raises MemctlError if another process holds the lock for ten seconds,
    and if the lock can't be made.
    """
    file = files.locate(folder, path)
    try:
        with lock.hold_temporary(file.with_name(f".memctl.{file.name}.lock"), _PATIENCE):
            yield
    except OSError as error:
        raise MemctlError(f"{path} can't be written: {error.strerror}") from None


def text_of(folder: Path, path: str) -> str | None:
    """Return the text of a file of the project, None if there is no such file.

    `path` is the file's path inside of `folder`. Raises MemctlError if the file can't be read.
    """
    try:
        return files.read(folder, path)
    except FileNotFoundError:
        return None
    except (InvalidRecord, OSError) as error:
        why = f"{path} can't be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise MemctlError(why) from None


def notes_in(folder: Path, path: str) -> Notes:
    """Return the notes of an agent that are in a file of the project; new notes are appended to the file.

    `path` is the file's path inside of `folder`. A note is a line such as `- [HIGH] bugs: the text`; other lines are
    ignored, and stay in the file. Raises MemctlError if the file can't be read or written.
    """
    files.locate(folder, path)  # before anything is read

    def keep(note: Note) -> None:
        line = f"- [{note.importance.upper()}] {note.category}: {note.content}\n"
        with alone(folder, path):
            files.append_line(files.locate(folder, path), line.encode(errors="replace"))

    lines = (text_of(folder, path) or "").split("\n")
    matches = [match for line in lines if (match := _LINE.fullmatch(line))]
    return Notes([Note(match[2].lower(), match[3], match[1].lower()) for match in matches], keep)
