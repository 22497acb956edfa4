"""What is known of a session from one hook to the next: how far its transcript is read, and where the work stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record.required_text import LONGEST_LINE
from memctl.session.active import Running
from memctl.store import files
from memctl.store.session_dir import SessionDir

if TYPE_CHECKING:
    from memctl.session.tasks import Task
    from memctl.transcript.events import Event

_STATE = "state.json"
# Of a host of whose transcripts only tool calls are read, events tell the session's task and what was decided.
_LONGEST_ANSWER = 4_000  # characters from its end, where decisions and next steps stand
_ANSWER_LOOKED_AT = 8 * _LONGEST_ANSWER  # a credential is known by its beginning, which may stand before these
_LOOKED_AT = 8 * LONGEST_LINE  # characters: somebody waits for a hook, and what is pasted may be long
MOST_FILES, MOST_STEPS, MOST_DECISIONS, MOST_TASKS = 50, 200, 15, 1_000
MOST_ANSWERS = 30
MOST_ISSUES, MOST_LESSONS, MOST_ERRORS = 15, 10, 10


class TaskCall(msgspec.Struct, frozen=True):
    """A call by which an agent told of its tasks: a later one may name a task by its number only."""

    tool: str
    arguments: dict[str, Any]

    @property
    def event(self) -> Event:
        from memctl.transcript.events import CALL, Event

        return Event(CALL, tool=self.tool, arguments=self.arguments)


class SessionState(msgspec.Struct, frozen=True):
    """A session as the hooks have seen it.

    `top` is the worktree that it is in. `offsets` says how far each transcript is read, by path; `seen` is when the
    memory was last given to the session: what came before is not given again, what came since is, its own too. What it
    began with (`intent`), was asked last (`prompt`), what it told of its tasks (`task_calls`), `next_steps`,
    `decisions`, the steps that `succeeded` and the `files` it touched, the latest first, are from the transcript,
    without credentials. So are the `issues` it named, its `lessons`, the `errors` that nothing has put right, by the
    step that failed, and what it said of its state last (`came_to`). `began` is what Git said at the start,
    `checkpoint` the id of the one saved at the last compaction, `compacted` the transcript's line of one of which is
    not known yet how many tokens it left. `saving` is the moment of the event for which a checkpoint was about to be
    saved last, and its id. `answers` are the last words of turns, of a host whose transcripts nobody reads: those that
    say something that is worth keeping, without credentials.
    """

    top: str = ""
    offsets: dict[str, int] = {}
    began: Running | None = None
    seen: str = ""
    intent: str = ""
    prompt: str = ""
    task_calls: tuple[TaskCall, ...] = ()
    next_steps: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    succeeded: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    checkpoint: str = ""
    issues: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    errors: dict[str, str] = {}
    came_to: tuple[str, ...] = ()
    compacted: str = ""
    saving: tuple[str, str] = ("", "")
    answers: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[Task]:
        """The agent's own list of tasks, as it stands."""
        from memctl.session import tasks  # the start of a session knows of none

        return tasks.of_events(call.event for call in self.task_calls)


def read(folder: SessionDir) -> SessionState | None:
    """What is known; None of a session that is new, or whose state can't be read any more."""
    try:
        return msgspec.json.decode((folder.path / _STATE).read_bytes(), type=SessionState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write(folder: SessionDir, known: SessionState) -> None:
    files.replace_private(folder.path / _STATE, msgspec.json.encode(known).decode())


def changed(folder: SessionDir, **values: Any) -> SessionState:
    """What is known, with some of it replaced; it is written down so."""
    known = msgspec.structs.replace(read(folder) or SessionState(), **values)
    write(folder, known)
    return known


def latest(new: Iterable[str], old: Iterable[str], most: int) -> tuple[str, ...]:
    """Two lists as one, each item once, the newest first."""
    return tuple(dict.fromkeys((*new, *old)))[:most]


def note_prompt(folder: SessionDir, prompt: str) -> None:
    """Keep what was asked last, and as the session's task what was asked first. Without credentials."""
    from memctl.record.required_text import is_said

    asked = checkpoint_line(prompt)
    if is_said(asked):
        state = read(folder) or SessionState()
        changed(folder, intent=state.intent or asked, prompt=asked)


def note_answer(folder: SessionDir, answer: str) -> None:
    """Keep the last words of a turn, with their lines. Without credentials."""
    from memctl.text.credentials import redact

    said = redact(answer[-_ANSWER_LOOKED_AT:])[-_LONGEST_ANSWER:]
    state = read(folder) or SessionState()
    if said not in state.answers:
        changed(folder, answers=(*state.answers, said)[-MOST_ANSWERS:])


def checkpoint_line(text: str) -> str:
    """A text as a line of a checkpoint: without credentials, and cut where it is too long for one."""
    from memctl.text.characters import redacted_line

    made = redacted_line(text[:_LOOKED_AT])
    return made if len(made) <= LONGEST_LINE else f"{made[: LONGEST_LINE - 2]} …"
