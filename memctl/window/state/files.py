"""Stores the state of a task in files of the project (rules.md#window-state).

Without a memory the JSON file is the state: it is loaded, and a save is refused as stale if it continues an older
version or an earlier window. With a memory the state is in its checkpoints, which are committed and show how the
environment has changed, and the JSON file is a copy that is never read. The Markdown file is for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.record import task_state_1
from memctl.record.change import Write
from memctl.record.errors import InvalidRecord
from memctl.record.task_state import TaskState
from memctl.store import files, lock
from memctl.task import forms, progress, resume_text
from memctl.window.compression.notes import CATEGORIES, IMPORTANCES, Note, Notes
from memctl.window.state.task import StoredState, validate

_LINE = re.compile(rf"- \[({'|'.join(IMPORTANCES)})\] ({'|'.join(CATEGORIES)}): (.*\S)\s*", re.IGNORECASE)
_PATIENCE = 10.0  # seconds; a save takes a few milliseconds


class StateFiles(StoredState):
    """Stores a state as JSON in `state_file`, and as Markdown in `progress_file` ("": nowhere), inside `folder`."""

    def __init__(
        self, folder: Path, state_file: str, progress_file: str = "", *, now: Callable[[], str] = lambda: ""
    ) -> None:
        if not state_file:
            raise MemctlError("a state needs a place: a state_file or a memory", "name a state_file")
        super().__init__()
        self._folder, self._state_file, self._progress_file = folder, state_file, progress_file
        self._now, self.name = now, state_file

    def _alone(self, goal: str) -> AbstractContextManager[None]:
        return alone(self._folder, self._state_file)

    def _refuse_stale(self, last: TaskState, state: TaskState, base: int | None) -> None:
        if state.window_id < last.window_id or base not in (None, last.version):
            newest = f"version {last.version} of window {last.window_id}"
            raise MemctlError(
                f"the state is stale: {self._state_file} has {newest}",
                "load it and go on from that, or `merge(state)` keeps both",
            )

    def _put(self, last: TaskState | None, state: TaskState) -> str:
        self._seen = 1 + (last.version if last else 0)
        same = last if last and last.goal == state.goal else None
        made = progress.take_whole(same, state)
        self._write(msgspec.structs.replace(made, version=self._seen, saved_at=self._now()))
        return f"w{state.window_id}-v{self._seen}"

    def bootstrap_prompt(self) -> str:
        """Return the text for a new window, of at most 9,500 characters; "" if no state is stored."""
        found = self._read()
        return resume_text.write(found).text if found is not None else ""

    def _read(self) -> TaskState | None:
        text = text_of(self._folder, self._state_file)
        if text is None:
            return None
        try:
            values = msgspec.json.decode(text)
            if isinstance(values, dict) and "task_goal" in values:  # an older memctl wrote it
                values = task_state_1.convert_window(values)
            found = msgspec.convert(values, TaskState)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"{self._state_file} is not a state: {error}", "repair it, or move it away") from None
        if wrong := validate(found).errors:
            raise MemctlError(f"{self._state_file} is not a state: {'; '.join(wrong)}", "repair it, or move it away")
        return found

    def _write(self, state: TaskState) -> None:
        """Both files, or neither of them if one can't be written."""
        encoded = msgspec.json.format(msgspec.json.encode(state), indent=2).decode()
        writes = [Write(self._state_file, encoded + "\n")]
        if self._progress_file:
            writes.append(Write(self._progress_file, forms.markdown(state)))
        files.replace_all(self._folder, files.prepare(self._folder, writes), ())


@contextmanager
def alone(folder: Path, path: str) -> Iterator[None]:
    """Hold a lock on a file of the project, so that no other process writes it.

    Raises MemctlError if another process holds the lock for ten seconds, and if the lock can't be made.
    """
    file = files.locate(folder, path)
    try:
        with lock.hold_temporary(file.with_name(f".memctl.{file.name}.lock"), _PATIENCE):
            yield
    except OSError as error:
        raise MemctlError(f"{path} can't be written: {error.strerror}") from None


def text_of(folder: Path, path: str) -> str | None:
    """Return the text of a file of the project, None if it is missing; raises MemctlError if it can't be read."""
    try:
        return files.read(folder, path)
    except FileNotFoundError:
        return None
    except InvalidRecord as error:
        raise MemctlError(str(error)) from None
    except OSError as error:
        raise MemctlError(f"{path} can't be read: {error.strerror}") from None


def notes_in(folder: Path, path: str) -> Notes:
    """Return the notes in a file of the project; new notes are appended to it.

    A note is a line such as `- [HIGH] bugs: the text`; other lines are ignored, and stay. Raises MemctlError if the
    file can't be read or written.
    """
    files.locate(folder, path)  # before anything is read

    def keep(note: Note) -> None:
        line = f"- [{note.importance.upper()}] {note.category}: {note.content}\n"
        with alone(folder, path):
            files.append_line(files.locate(folder, path), line.encode(errors="replace"))

    lines = (text_of(folder, path) or "").split("\n")
    found = [match for line in lines if (match := _LINE.fullmatch(line))]
    return Notes([Note(match[2].lower(), match[3], match[1].lower()) for match in found], keep)
