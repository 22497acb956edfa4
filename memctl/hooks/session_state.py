"""Store what hooks know of a session from event to event: how far its transcript is read, and its live state.

Other modules read the live state by `task.live_state`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record.required_text import LONGEST_LINE
from memctl.record.task_state import TaskState, TouchedFile
from memctl.session.active import Running
from memctl.store import files
from memctl.store.session_dir import SessionDir
from memctl.task import live_state

if TYPE_CHECKING:
    from memctl.session.progress import Progress
    from memctl.store.memory import Memory

# For a host whose transcripts are read for tool calls only, prompts and answers come from its events.
_LONGEST_ANSWER = 4_000  # last characters of an answer, which have the decisions and next steps
_ANSWER_LOOKED_AT = 8 * _LONGEST_ANSWER  # characters that are searched for credentials, which may begin earlier
_LOOKED_AT = 8  # times as many characters as are kept are searched for credentials; a pasted text may be very long
MOST_STEPS, MOST_ANSWERS = 200, 30
_OF_PROGRESS = ("created", "is_over", "is_compacted", "is_worked_on", "offers")
# Lists of a task's state, and their names in the session state of an older memctl.
_RENAMED = {
    "next_actions": "next_steps",
    "decisions": "decisions",
    "issues": "issues",
    "lessons": "lessons",
    "summary": "came_to",
}


class SessionState(msgspec.Struct, frozen=True):
    """What hooks have stored about a session, from its events and its transcript so far.

    - `top`: the worktree of the session
    - `offsets`: how many bytes of each transcript have been read, by the transcript's path
    - `began`: the branch, commit and changed files when the session began
    - `seen`: the time when the session last got the memory; a resumed session gets only records newer than that
    - `task`: the state of the session's task: its goal, steps, files and so on
    - `created`: the texts of the tasks on the agent's own task list, in the order of their numbers
    - `is_over`: whether all tasks on the agent's task list are finished
    - `is_compacted`: whether the context was compacted after the task was begun
    - `is_worked_on`: whether files were changed since the agent wrote its task list
    - `offers`: what the agent's last message offers to do, until the user's next prompt
    - `succeeded`: the commands and other tool calls that have succeeded; their earlier errors count as resolved
    - `checkpoint`: the id of the last checkpoint of the session
    - `answer`, `commits`: the end of the agent's last answer, and lines about the commits, as on the session's page
    - `compacted`: the id of the transcript's line about a compaction of which memctl does not know yet how many tokens
      it left, "" for none
    - `saving`: the last compaction for which a checkpoint was to be saved (its time), and the checkpoint's id
    - `answers`: the ends of the agent's latest answers; only for hosts in whose transcripts memctl can't read them

    No field contains credentials.
    """

    top: str = ""
    offsets: dict[str, int] = {}
    began: Running | None = None
    seen: str = ""
    task: TaskState = TaskState()
    created: tuple[str, ...] = ()
    is_over: bool = False
    is_compacted: bool = False
    is_worked_on: bool = False
    offers: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    checkpoint: str = ""
    answer: str = ""
    commits: tuple[str, ...] = ()
    compacted: str = ""
    saving: tuple[str, str] = ("", "")
    answers: tuple[str, ...] = ()


def all_running(memory: Memory) -> list[Running]:
    """Return the sessions in this worktree that are running and have hooks of memctl, the oldest first."""
    from memctl.hooks import live_sessions

    folders = live_sessions.running_sessions(memory.hooks, memory.folder.parent, memory.config.session_pause)
    states = (state.began for folder in folders if (state := read(folder)))
    return sorted((state for state in states if state is not None), key=lambda state: (state.started, state.id))


def read(folder: SessionDir) -> SessionState | None:
    """Return the stored state of a session, None if there is none or it can't be read."""
    try:
        data = (folder.path / live_state.FILE).read_bytes()
        if b'"task":' not in data:  # written by an older memctl
            return _from_older_version(msgspec.json.decode(data))
        return msgspec.json.decode(data, type=SessionState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, AttributeError, TypeError):
        return None


def _from_older_version(values: dict[str, Any]) -> SessionState:
    """Return the session state of an older memctl, which had no `task`, in the current form."""
    from memctl.session import progress, task_list
    from memctl.transcript.events import CALL, Event

    calls = [Event(CALL, tool=call["tool"], arguments=call["arguments"]) for call in values.get("task_calls", ())]
    prompts = dict.fromkeys(text for text in (values.get("intent"), values.get("prompt")) if text)
    task = TaskState(
        goal=values.get("intent", ""),
        said=tuple(prompts),
        steps=tuple(progress.tasks_of(calls)),
        files=tuple(TouchedFile(path) for path in values.get("files", ())),
        errors=tuple(values.get("errors", {}).values()),
    )
    lists = {name: tuple(values.get(old, ())) for name, old in _RENAMED.items()}
    task = msgspec.structs.replace(task, **lists)
    created = [text for call in calls if (text := task_list.new_task(call)) is not None]
    return msgspec.convert({**values, "task": msgspec.to_builtins(task), "created": created}, SessionState)


def write(folder: SessionDir, state: SessionState) -> None:
    """Store the state of a session."""
    files.replace_private(folder.path / live_state.FILE, msgspec.json.encode(state).decode())


def update(folder: SessionDir, **values: Any) -> SessionState:
    """Replace some fields of a session's stored state, given as keyword arguments; returns the new state."""
    state = msgspec.structs.replace(read(folder) or SessionState(), **values)
    write(folder, state)
    return state


def latest(new: Iterable[str], old: Iterable[str], most: int) -> tuple[str, ...]:
    """Return the first `most` items of `new` followed by `old`, each item once."""
    return tuple(dict.fromkeys((*new, *old)))[:most]


def progress_of(state: SessionState) -> Progress:
    """Return the stored progress of a session's task, to which the next part of the transcript can be added."""
    from memctl.session.progress import Progress

    return Progress(state.task, **{name: getattr(state, name) for name in _OF_PROGRESS})


def note_prompt(folder: SessionDir, prompt: str) -> None:
    """Add a user's prompt to the stored state of a session's task, without credentials.

    The first prompt that says what is to be done becomes the task's goal.
    """
    from memctl.session import progress
    from memctl.transcript.events import PROMPT, Event

    state = read(folder) or SessionState()
    after = progress.advance(progress_of(state), progress.Part([Event(PROMPT, prompt)]), line=checkpoint_line)
    if after.state != state.task:
        write(folder, with_progress(state, after))


def with_progress(state: SessionState, after: Progress) -> SessionState:
    """Return the state of a session with the progress of its task after a further part."""
    flags: dict[str, Any] = {name: getattr(after, name) for name in _OF_PROGRESS}
    return msgspec.structs.replace(state, task=after.state, **flags)


def note_answer(folder: SessionDir, answer: str) -> None:
    """Add the end of an agent's answer to the stored state of a session, without credentials.

    It is needed for hosts whose transcripts memctl can't read as a whole.
    """
    from memctl.text.credentials import redact

    text = redact(answer[-_ANSWER_LOOKED_AT:])[-_LONGEST_ANSWER:]
    state = read(folder) or SessionState()
    if text not in state.answers:
        update(folder, answers=(*state.answers, text)[-MOST_ANSWERS:])


def checkpoint_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text as one line of at most `longest` characters, without credentials."""
    from memctl.text.characters import redacted_line

    line = redacted_line(text[: _LOOKED_AT * longest])
    return line if len(line) <= longest else f"{line[: longest - 2]} …"
