"""The live state of work: where each session or agent stands now, kept by its key in the Git directory, on no branch.

The key is the session's id; without a session it is made of the agent's name, the branch and the worktree. So two
agents never overwrite each other. Hooks bring a session's state up to date at each stop, compaction and end, and every
checkpoint that is saved goes into it; whoever starts or resumes work reads it. A checkpoint is a saved version of it
that never changes, and a session's page says what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import open_repository
from memctl.record import session_page
from memctl.record.checkpoint import Checkpoint, version_in
from memctl.record.session_page import LAST_SAID, SessionPage
from memctl.record.task_state import DONE, Environment, Step, TaskState, TouchedFile, key
from memctl.store import files, job_queue, live_session, session_dir
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.task import progress
from memctl.text import timestamps
from memctl.text.actions import READ
from memctl.text.lazy_regex import lazy_regex

FILE = "state.json"  # in a session's folder; hooks keep there, too, how far they have read the transcript
LATEST = 20  # states that are read, those written last
_PATIENCE = 4.0  # seconds to wait for a background process that works for the session
_FEW = 3  # last states among which one of the worktree's branch comes first
_OF_BOTH = ("constraints", "issues", "errors", "blockers")
_STEP = lazy_regex(r"\[(?P<mark>[x ])\] (?P<text>.*?)(?: \((?:done|planned|in progress|claimed)\))?$")
_OPEN, _WORKED = "open: ", "Worked in "  # how lines of pages begin


class _Beginning(msgspec.Struct, frozen=True):
    agent: str = ""


class LiveState(msgspec.Struct, frozen=True):
    """Where the work of a session or an agent stands.

    - `key` is the name of its folder, for a session mostly the session's id; `top` is the worktree, "" if unknown.
    - `task` is the state of the task; `saved_at` in it is the time of the latest part of the work, "" if an older
      memctl wrote it, and `version` the version of the checkpoint, 0 if there was work since.
    - `checkpoint` is the id of the last checkpoint, "" if none was saved.
    - `answer` is the end of the agent's last answer, and `commits` are lines about the session's commits, as on a page.
    - `offers` and `is_worked_on` are those of `progress.shown`; `read` has applied them to the task.
    - `began` says which agent has begun the session, None if no hook has seen it begin.
    - `is_running` says that the session has not ended and its program is there, and `is_over` that the work is
      over, such as where its branch is not there any more.
    """

    key: str = ""
    top: str = ""
    task: TaskState = TaskState()
    checkpoint: str = ""
    answer: str = ""
    commits: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    is_worked_on: bool = False
    began: _Beginning | None = None
    is_running: bool = False
    is_over: bool = False

    @property
    def branch(self) -> str:
        """The branch on which the work was done, "" if unknown."""
        return self.task.environment.branch

    @property
    def is_saved(self) -> bool:
        """Whether the last checkpoint has all of the state, and was not only about to be saved with it."""
        version = version_in(self.checkpoint)
        return version is not None and version.version == self.task.version

    @property
    def workflow(self) -> str:
        """The workflow of the last checkpoint, "" if none was saved."""
        version = version_in(self.checkpoint)
        return version.workflow if version else ""


def folder_of(memory: Memory) -> SessionDir:
    """Return the folder with the live state of the agent at work.

    Programs whose shells do not name their session write into the only session of their agent that is running in the
    worktree.
    """
    if memory.session:
        return SessionDir(memory.hooks, session_dir.key(memory.session))
    own = [state.key for state in _running_here(memory) if state.began and state.began.agent == memory.actor]
    if len(own) == 1:
        return SessionDir(memory.hooks, own[0])
    repository = memory.repository
    branch = repository.branch()[0].removeprefix("refs/heads/")
    worktree = repository.git_dir.name if repository.git_dir != repository.common_dir else ""
    return SessionDir(memory.hooks, session_dir.key("-".join(filter(None, ("agent", memory.actor, branch, worktree)))))


def _running_here(memory: Memory) -> Iterator[LiveState]:
    top = str(memory.repository.top)
    return (state for state in read_latest(memory) if state.is_running and state.top == top)


def read(folder: SessionDir) -> LiveState | None:
    """Return the live state in a folder, as it is shown; None if there is none, or if it can't be read."""
    stored = _read(folder)
    if stored is None:
        return None
    task = progress.shown(stored.task, stored.offers, is_worked_on=stored.is_worked_on)
    return msgspec.structs.replace(stored, task=task)


def _read(folder: SessionDir) -> LiveState | None:
    try:
        found = msgspec.json.decode((folder.path / FILE).read_bytes(), type=LiveState)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    session = live_session.read(folder)
    is_running = session is not None and not session.is_gone
    return msgspec.structs.replace(found, key=folder.key, is_running=is_running)


def open_steps(memory: Memory) -> tuple[str, ...]:
    """Return the open steps of what the agent is at work on."""
    state = read(folder_of(memory))
    return state.task.ahead if state is not None else ()


def read_latest(memory: Memory) -> list[LiveState]:
    """Return the live states of a clone that were written last, in all of its worktrees; those without a task, too.

    A state whose worktree has another branch by now has no `top`: its work goes on where the branch is.
    """
    nobody = SessionDir(memory.hooks, "-")
    found = [state for folder in islice(nobody.others(), LATEST) if (state := read(folder)) is not None]
    branches = {state.branch for state in found} - {"", memory.repository.branch()[0].removeprefix("refs/heads/")}
    gone = {branch for branch in branches if not memory.repository.tip(f"refs/heads/{branch}")}
    left = {state.top for state in found if state.branch} - {"", str(memory.repository.top)}
    at = {top: _branch_at(top) for top in left}
    return [
        msgspec.structs.replace(
            state,
            is_over=state.branch in gone,
            top=state.top if not state.branch or at.get(state.top, state.branch) == state.branch else "",
        )
        for state in found
    ]


def _branch_at(top: str) -> str:
    """Return the branch of a worktree, "" if it has none or is gone."""
    with suppress(MemctlError, OSError, git.GitFailed):
        return open_repository(Path(top)).branch()[0].removeprefix("refs/heads/")
    return ""


def put(memory: Memory, saved: Checkpoint) -> None:
    """Take a checkpoint that the agent at work has saved into its live state.

    What the transcript says of the task stays, as far as the checkpoint does not say otherwise; the goal is the
    checkpoint's. A state that is newer than the checkpoint stays as it is. Raises job_queue.Busy if a background
    process works for the session for long, and OSError.
    """
    folder = folder_of(memory)

    def take() -> None:
        before = _read(folder)
        if before is None or before.began is None:  # there is no transcript
            task = task_of(saved)
        elif before.task.saved_at > saved.saved_at:
            return
        else:
            task = merge(before.task, saved)
        write(folder, top=str(memory.repository.top), task=task, checkpoint=saved.checkpoint_id)

    job_queue.run_locked(folder, take, _PATIENCE)


def is_taken(memory: Memory, workflow: str) -> bool:
    """Return whether another agent is at work on a workflow: in a session that runs, or on this branch elsewhere.

    A person may go on with anything.
    """
    if not (memory.session or memory.by_agent):
        return False
    own, top = folder_of(memory).key, str(memory.repository.top)
    branch = memory.repository.branch()[0].removeprefix("refs/heads/")
    others = [state for state in read_latest(memory) if state.workflow == workflow and state.key != own]
    return any(state.is_running or (state.branch == branch and _is_elsewhere(state, top)) for state in others)


def bring_up_to_date(memory: Memory, saved: Checkpoint) -> Checkpoint:
    """Return a workflow's last checkpoint with the work since by its live state, unless another agent is at it."""
    own = folder_of(memory).key
    for state in read_latest(memory):
        is_free = state.key == own or not state.is_running
        if is_free and state.checkpoint == saved.checkpoint_id and not state.is_saved and state.task.goal:
            kept = {"version": saved.version, "window_id": saved.window_id}
            return msgspec.structs.replace(saved, **{**msgspec.structs.asdict(state.task), **kept})
    return saved


def task_of(saved: Checkpoint) -> TaskState:
    """Return the state of the task that a checkpoint saved."""
    return msgspec.convert(msgspec.structs.asdict(saved), TaskState)


def write(folder: SessionDir, **values: Any) -> None:
    """Replace some values in the file of a live state; the caller holds the session's lock. Raises OSError."""
    try:
        stored = msgspec.json.decode((folder.path / FILE).read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        stored = {}
    stored |= {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in values.items()}
    files.replace_private(folder.path / FILE, msgspec.json.encode(stored).decode())


def merge(task: TaskState, saved: Checkpoint) -> TaskState:
    """Return the state of a session's task with a checkpoint that the session has saved by a command.

    The goal is the checkpoint's.
    """
    if key(task.goal) != key(saved.goal):  # steps that commands named are those of another task
        own = tuple(step for step in task.steps if step.evidence not in ("", progress.COMMAND))
        task = msgspec.structs.replace(task, steps=own, next_actions=())
    made = progress.merge(msgspec.structs.replace(task, goal=saved.goal), saved)
    lists = {name: progress.newest(getattr(task, name), getattr(saved, name)) for name in _OF_BOTH}
    stamps = {name: getattr(saved, name) for name in ("saved_at", "saved_by", "session", "version", "environment")}
    return msgspec.structs.replace(made, **lists, **stamps, records=saved.records)


def of_checkpoint(saved: Checkpoint) -> LiveState:
    """Return the state that a checkpoint saved, as that of its session, or of its workflow if it names none."""
    return LiveState(saved.session or saved.workflow_id, "", saved, saved.checkpoint_id)


def of_page(page: SessionPage) -> LiveState:
    """Return where the work of a session stood by its page, for a session whose live state is not in this clone."""
    lines = {name: tuple(texts) for name, texts in page.lines.items()}
    state = lines.get(session_page.STATE, ())
    steps = [match for line in state if (match := _STEP.match(line))]
    answers = [line.removeprefix(LAST_SAID) for line in state if line.startswith(LAST_SAID)]
    errors = [line[len(_OPEN) :] for line in lines.get(session_page.ERRORS, ()) if line.startswith(_OPEN)]
    task = TaskState(
        saved_at=ended(page),
        saved_by=str(page.values.get("agent_id") or ""),
        session=page.id,
        goal=next(iter(lines.get(session_page.INTENT, ())), ""),
        said=lines.get(session_page.SAID, ()),
        steps=tuple(Step(step["text"], DONE if step["mark"] == "x" else "planned") for step in steps),
        next_actions=lines.get(session_page.NEXT, ()),
        errors=tuple(errors),
        decisions=lines.get(session_page.DECISIONS, ()),
        lessons=lines.get(session_page.LEARNINGS, ()),
        files=tuple(TouchedFile(path, action) for path, action in rows(page)),
        environment=Environment(str(page.values.get("branch") or "")),
    )
    return LiveState(page.id, "", task, "", next(iter(answers), ""), lines.get(session_page.COMMITS, ()))


def rows(page: SessionPage) -> Sequence[tuple[str, str]]:
    """Return path and action of the files on a session's page, the latest first, and those that were only read last.

    The result is empty for a session that worked in another folder, to which its paths are relative.
    """
    if any(line.startswith(_WORKED) for line in page.lines.get(session_page.STATE, ())):
        return ()
    changed, seen = (page.files.get(heading, ()) for heading in (session_page.CHANGED, session_page.READ))
    return [(row.path, row.action or READ) for some in (changed, seen) for row in reversed(some)]


def ended(page: SessionPage) -> str:
    """Return when a session ended, or if that is unknown, when its page was made; "" if neither is known."""
    moment = page.values.get("ended") or page.values.get("summarized")
    return timestamps.parse(moment) if isinstance(moment, str) else ""


def choose(states: Sequence[LiveState], older: Sequence[LiveState], branch: str, top: str) -> LiveState | None:
    """Return the state from which work goes on in a worktree: the latest, or of the last few the latest of its branch.

    `branch` and `top` are those of the worktree, and `states` the live states of the clone. `older` are states that
    pages and checkpoints tell; they count where no live state is as new. The states of sessions that are at work are
    left out, and so are those of other worktrees of this machine, whose agents go on with them there.
    """
    known = [state for state in states if state.is_running or state.task.saved_at]
    told = [state for state in older if not any(_covers(one, state) for one in known) and _is_of(state, branch)]
    here = [state for state in known if not state.is_running and state.task.goal and not _is_elsewhere(state, top)]
    latest = sorted([*told, *here], key=lambda state: (state.task.saved_at, state.key), reverse=True)
    own = [state for state in latest[:_FEW] if branch and state.branch == branch]
    return next(iter(own or latest), None)


def _covers(state: LiveState, other: LiveState) -> bool:
    """Return whether a live state makes a page or checkpoint of the same session or workflow superfluous."""
    last, own = version_in(other.checkpoint), version_in(state.checkpoint)
    if last and own and last.workflow == own.workflow:
        return not own.is_behind(last)
    return state.key == other.key and (state.is_running or state.task.saved_at >= other.task.saved_at)


def _is_of(state: LiveState, branch: str) -> bool:
    """Return whether a state may be gone on from on a branch; the checkpoints of other branches may not."""
    return not (state.checkpoint and branch and state.branch not in ("", branch))


def _is_elsewhere(state: LiveState, top: str) -> bool:
    return bool(top and state.top) and state.top != top and Path(state.top).is_dir()
